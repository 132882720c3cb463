"""The program, a project of two blocks, and the model that one machine makes of it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SCENE = ROOT / "tests/scenes/stilllife"

os.environ.setdefault("LP_NUM_THREADS", "1")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")


@pytest.fixture(scope="session")
def kiln() -> str:
    """The program."""
    path = Path(os.environ.get("KILN", ROOT / "target/debug/kiln"))
    assert path.is_file(), f"{path} is not there: `cargo build -p kiln`"
    return str(path)


@pytest.fixture(scope="session")
def split(kiln: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A split project of two blocks, not trained: 60 deterministic steps with checkpoints every 20."""
    project = tmp_path_factory.mktemp("split") / "project"
    settings = ["train.deterministic=true", "schedule.checkpoint=[20,40]", "schedule.checkpoint_minutes=0"]
    settings += ["init.background=0", "eval.lpips=false", "schedule.live_seconds=0"]
    command = [kiln, "split", str(SCENE), "-o", str(project), "--profile", "cpu", "-r", "40", "--blocks", "2"]
    command += ["--min-views", "5", "--max-gaussians", "6000", "--iterations", "60"]
    for setting in settings:
        command += ["--set", setting]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return project


@pytest.fixture(scope="session")
def serial(kiln: str, split: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The model of the project by one command after the other."""
    project = tmp_path_factory.mktemp("serial") / "project"
    shutil.copytree(split, project)
    for name in ("b0000", "b0001"):
        subprocess.run([kiln, "train", str(project / "blocks" / name), "-q"], check=True, stderr=subprocess.DEVNULL)
    subprocess.run([kiln, "merge", str(project), "-q"], check=True, stdout=subprocess.DEVNULL)
    return (project / "merged/point_cloud.ply").read_bytes()


@pytest.fixture
def project(split: Path, tmp_path: Path) -> Path:
    """A copy of the split project."""
    return Path(shutil.copytree(split, tmp_path / "project"))


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], str]:
    """Makes a shell script that stands in for a program: what it is given is its text."""

    def make(text: str, name: str = "stand-in") -> str:
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return str(path)

    return make
