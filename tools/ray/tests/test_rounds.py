"""Whatever is killed, and whenever, a project ends in the same bytes; `rounds.py` says what is done. Forty rounds where all slow tests run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from stand_in import Half, digest, whole

ROUNDS = Path(__file__).with_name("rounds.py")


def test_rounds_of_kills_end_in_the_same_bytes() -> None:
    rounds = 40 if os.environ.get("KILN_FULL") == "1" else 2
    command = [sys.executable, str(ROUNDS), "--rounds", str(rounds), "--seed", "1"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120 * rounds)
    print(ended.stdout)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    rows = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [row["round"] for row in rows] == list(range(rounds)) and all(row["kills"] for row in rows)


def test_half_a_file_is_told_from_a_whole_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    text = b"state\n" + digest(b"state").encode()
    path.write_bytes(text)
    assert whole(path) == b"state"
    for kept in range(len(text)):
        path.write_bytes(text[:kept])
        try:
            whole(path)
        except Half:
            continue
        raise AssertionError(f"{kept} bytes pass for all")
