"""A child's events, its last words, and its end with its worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kiln_ray.child import NOT_STARTED, Child


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_events_are_heard_and_the_message_is_the_error(program: Callable[..., str]) -> None:
    script = program(
        'echo \'{"type":"train","it":3}\'; echo noise; echo "note: x\nerror: no room\nhint: less" >&2; exit 6'
    )
    heard: list[Any] = []
    child = Child([script], heard.append)
    assert child.wait(20.0) == 6
    assert heard == [{"type": "train", "it": 3}]
    assert child.message() == "error: no room\nhint: less"


def test_output_is_utf_8_whatever_the_locale(program: Callable[..., str]) -> None:
    script = program('echo \'{"path":"ünï 場"}\'; printf "error: b\\377d 場\n" >&2; exit 1')
    code = (
        "from kiln_ray.child import Child; heard = []; "
        f"child = Child([{ascii(script)}], heard.append); child.wait(20.0); "
        "print(ascii([heard, child.message()]))"
    )
    # Without Python's own way out of the C locale, as under a locale of another encoding.
    odd = {**os.environ, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    ended = subprocess.run([sys.executable, "-c", code], env=odd, capture_output=True, check=True)
    assert ended.stdout.decode("ascii").strip() == ascii([[{"path": "ünï 場"}], "error: b\ufffdd 場"])


def test_signals_and_missing_programs(program: Callable[..., str]) -> None:
    child = Child([program("exec sleep 60")], print)
    assert child.wait(0.5) is None
    os.kill(child.pid, signal.SIGKILL)
    assert child.wait(20.0) == -signal.SIGKILL
    child.terminate()
    missing = Child(["/nowhere/kiln"], print)
    assert missing.wait(20.0) == NOT_STARTED and "error: cannot start /nowhere/kiln" in missing.message()


def test_a_child_is_asked_to_end_when_its_worker_dies(program: Callable[..., str], tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    script = program(f"trap 'echo yes > {saved}; exit 143' TERM; echo $$ > {tmp_path}/pid; while :; do sleep 0.1; done")
    code = f"from kiln_ray.child import Child; Child(['{script}'], print).wait(60)"
    worker = subprocess.Popen([sys.executable, "-c", code])
    until = time.monotonic() + 20
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert time.monotonic() < until
        time.sleep(0.05)
    pid = int((tmp_path / "pid").read_text())
    worker.kill()
    worker.wait()
    while is_alive(pid):
        assert time.monotonic() < until
        time.sleep(0.05)
    assert saved.read_text() == "yes\n"
