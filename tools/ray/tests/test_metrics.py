"""What Prometheus reads."""

from __future__ import annotations

from typing import Any

import pytest

from kiln_ray import metrics
from kiln_ray.metrics import Meter
from kiln_ray.progress import Row

Key = tuple[str, tuple[tuple[str, str], ...]]
TOLD: dict[Key, float] = {}


class Metric:
    """Stands in for a metric of Ray, and refuses what Ray refuses."""

    def __init__(self, name: str, description: str = "", tag_keys: tuple[str, ...] | None = None) -> None:
        assert name.replace("_", "").isalnum() and description
        self._name, self._keys = name, tag_keys or ()
        self._tags: dict[str, str] = {}

    def set_default_tags(self, tags: dict[str, str]) -> None:
        self._tags = tags

    def _key(self, tags: dict[str, str] | None) -> Key:
        found = {**self._tags, **(tags or {})}
        assert sorted(found) == sorted(self._keys), "a tag is missing, or one too many"
        return self._name, tuple(sorted(found.items()))

    def set(self, value: float, tags: dict[str, str] | None = None) -> None:
        assert isinstance(value, (int, float))
        TOLD[self._key(tags)] = value

    def inc(self, value: float = 1.0, tags: dict[str, str] | None = None) -> None:
        key = self._key(tags)
        TOLD[key] = TOLD.get(key, 0.0) + value


@pytest.fixture
def meter(monkeypatch: pytest.MonkeyPatch) -> Meter:
    TOLD.clear()
    monkeypatch.setattr(metrics, "Gauge", Metric)
    monkeypatch.setattr(metrics, "Counter", Metric)
    return Meter("city")


def told(name: str, **tags: str) -> Any:
    return TOLD.get((name, tuple(sorted({"project": "city", **tags}.items()))))


def test_blocks_are_counted_by_state_and_told_one_by_one(meter: Meter) -> None:
    running = Row("b0001", "running", iteration=40, iterations=60, its=2.5, gaussians=900)
    meter.show([Row("b0000", "done", iteration=60, gaussians=700), running, Row("b0002")])
    states = {state: told("kiln_blocks", state=state) for state in ("waiting", "running", "done", "failed")}
    assert states == {"waiting": 1, "running": 1, "done": 1, "failed": 0}
    figures = ("kiln_block_iteration", "kiln_block_iterations_per_second", "kiln_block_gaussians")
    assert [told(name, block="b0001") for name in figures] == [40, 2.5, 900]
    assert [told(name, block="b0000") for name in figures] == [60, 0, 700]
    # A block that was cut does not count on.
    meter.show([Row("b0000", "done"), Row("b0001a"), Row("b0001b"), Row("b0002")])
    assert [told(name, block="b0001") for name in figures] == [0, 0, 0]
    assert told("kiln_blocks", state="waiting") == 3


def test_retries_and_cuts_are_counted(meter: Meter) -> None:
    meter.retry()
    meter.retry()
    meter.cut()
    assert (told("kiln_retries"), told("kiln_cuts")) == (2, 1)
