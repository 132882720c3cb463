"""What a task makes of storage that fails, and of folders that are in use."""

from __future__ import annotations

import errno
import fcntl
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, cast

import pytest
from obstore.exceptions import GenericError, PermissionDeniedError

from kiln_ray.cluster import Needs, is_open
from kiln_ray.task import Reporter, Saver, find_program, is_written_to, storage_failed, wait_until_left
from kiln_ray.verdict import Cause, Ended, Next, judge


class Silent:
    """A reporter without a driver."""

    def ended(self, cause: Cause, code: int | None = None, message: str = "") -> Ended:
        return Ended(cause, code, None, "n0", message)


@pytest.mark.parametrize(
    ("error", "then"),
    [
        (GenericError("no answer"), Next.AGAIN),
        (ConnectionResetError(errno.ECONNRESET, "reset"), Next.AGAIN),
        (OSError(errno.ENOSPC, "full"), Next.ELSEWHERE),
        (PermissionDeniedError("not yours"), Next.STOP),
    ],
)
def test_a_full_disk_and_a_missing_right_are_no_outage(error: Exception, then: Next) -> None:
    ended = storage_failed(cast(Reporter, Silent()), "cannot save b0000", error)
    assert judge([ended]).next is then and "cannot save b0000: " in ended.message


def test_the_program_of_the_wheel_goes_before_the_path_and_a_path_is_taken_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ["venv", "path"]:
        (tmp_path / folder).mkdir()
        program = tmp_path / folder / "kiln"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    assert find_program("kiln") == str(tmp_path / "path/kiln")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "venv/python"))
    assert find_program("kiln") == str(tmp_path / "venv/kiln")
    assert find_program(str(tmp_path / "path/kiln")) == str(tmp_path / "path/kiln")
    assert find_program("no-such-program") is None


def test_a_folder_in_use_is_waited_for(tmp_path: Path) -> None:
    assert not is_written_to(tmp_path / "none") and not is_written_to(tmp_path)
    folder = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    assert is_written_to(tmp_path)
    threading.Timer(0.3, lambda: os.close(folder)).start()
    began = time.monotonic()
    assert not wait_until_left(tmp_path, lambda: True)
    assert wait_until_left(tmp_path, lambda: False)
    assert 0.2 < time.monotonic() - began < 20 and not is_written_to(tmp_path)


def test_checkpoints_are_saved_when_it_is_time_and_again_after_a_failure() -> None:
    tried = threading.Event()

    class Copy:
        tries: ClassVar[list[str | None]] = []

        def save_checkpoint(self, _name: str, last: str | None, _confirm: Callable[[], None]) -> str:
            self.tries.append(last)
            if len(self.tries) == 1:
                raise GenericError("no answer")
            if len(self.tries) == 3:
                tried.set()
            return f"c{len(self.tries)}"

    saver = Saver(Copy(), "b0000", 0.02, tried.is_set)
    with saver:
        assert tried.wait(20.0)
    # After a lost lease there are no more.
    assert Copy.tries == [None, None, "c2"] and saver.last == "c3"


def test_nodes_and_what_they_let_in() -> None:
    node = {"Alive": True, "Resources": {"CPU": 4.0, "GPU": 1.0}}
    assert Needs(1, 4).fit(node) and Needs(0, 1).fit(node)
    assert not Needs(1, 8).fit(node) and not Needs(2, 1).fit(node) and not Needs(1, 1).fit({**node, "Alive": False})
    assert is_open("2.59.1", None) and not is_open("2.60.0", None) and not is_open("2.52.0", "token")
    assert is_open("2.60.0", "disabled")
