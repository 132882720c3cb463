"""The commands of docs/clusters.md that need no cluster make the same model."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs/clusters.md"


def block(heading: str, language: str) -> str:
    """The first block in a language under a heading."""
    text = PAGE.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return text.split(f"```{language}\n")[1].split("```")[0]


@pytest.fixture
def place(
    kiln: str, project: Path, tmp_path: Path, program: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A folder with the project under the page's name, and programs of the page: `kiln` without the name of a card."""
    project.rename(tmp_path / "city-blocks")
    program(
        f'''echo "$@" >> {tmp_path}/started
    for word; do shift; case $word in --device) skip=1 ;; *) [ "$skip" ] && skip= || set -- "$@" "$word" ;; esac; done
    exec {kiln} "$@"''',
        "kiln",
    )
    program("[ \"$1 $2\" = '-i 3' ] && echo GPU-three", "nvidia-smi")
    program(f'echo "$@" >> {tmp_path}/requeued', "scontrol")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_xargs(place: Path, serial: bytes) -> None:
    subprocess.run(["bash", "-euo", "pipefail", "-c", block("xargs", "sh")], check=True, stderr=subprocess.DEVNULL)
    assert (place / "city-blocks/merged/point_cloud.ply").read_bytes() == serial
    started = (place / "started").read_text()
    assert "--device 0" in started and "--device 1" in started


def test_slurm(place: Path, kiln: str, serial: bytes) -> None:
    script = place / "array.sh"
    script.write_text(block("Slurm", "slurm"))

    def start(task: int) -> subprocess.Popen[bytes]:
        of = {"SLURM_ARRAY_TASK_ID": str(task), "SLURM_ARRAY_JOB_ID": "77", "CUDA_VISIBLE_DEVICES": "3"}
        return subprocess.Popen(["sh", str(script)], env={**os.environ, **of}, stderr=subprocess.DEVNULL)

    # Slurm takes the first away, after its first checkpoint.
    first = start(0)
    until = time.monotonic() + 60
    while not list((place / "city-blocks/blocks/b0000/run/checkpoints").glob("*20.kiln")):
        assert time.monotonic() < until and first.poll() is None
        time.sleep(0.005)
    first.send_signal(signal.SIGTERM)
    assert first.wait(60) == 0
    assert (place / "requeued").read_text() == "requeue 77_0\n"
    assert not (place / "city-blocks/blocks/b0000/done.json").exists()
    assert [start(task).wait(60) for task in (0, 1)] == [0, 0]
    subprocess.run([kiln, "merge", "city-blocks", "-q"], check=True, stdout=subprocess.DEVNULL)
    assert (place / "city-blocks/merged/point_cloud.ply").read_bytes() == serial
    assert "--device GPU-three" in (place / "started").read_text()
