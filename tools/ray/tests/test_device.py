"""Ray's number of a GPU becomes the uuid that `kiln --device` takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kiln_ray.device import NoDevice, device_flags, uuid_of


@pytest.fixture
def cards(program: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    """An `nvidia-smi` that lists two cards, not in order."""
    path = Path(program("[ \"$1\" = --query-gpu=index,uuid ] && echo '10, GPU-ten' && echo '1, GPU-one'", "nvidia-smi"))
    monkeypatch.setenv("PATH", str(path.parent), prepend=":")


@pytest.mark.usefixtures("cards")
def test_an_index_is_looked_up() -> None:
    assert uuid_of(1) == "GPU-one"
    assert device_flags(["10"]) == ["--device", "GPU-ten"]
    with pytest.raises(NoDevice, match="no GPU 0, but 10, GPU-ten; 1, GPU-one"):
        uuid_of(0)


def test_a_uuid_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert uuid_of("GPU-5a") == "GPU-5a" and uuid_of("MIG-5b") == "MIG-5b"
    assert device_flags([]) == []
    with pytest.raises(NoDevice, match="nvidia-smi"):
        uuid_of(0)
