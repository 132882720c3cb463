"""Stands in for `kiln` where many runs are killed: the same files, locks, signals and exit codes, and no device.

A model is a chain of digests over the block's index, so that a run that went on from anything but its own state ends in other bytes.
Every file ends with a digest of what is before it: half of one is told from a whole one.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "faults"))
from fault import place  # noqa: E402

ITERATIONS = 30
#: Iterations between two checkpoints, and seconds of one.
EVERY = 6
SECONDS = 0.04
DAMAGED, BUSY, INTERRUPTED = 4, 71, 143


class Half(Exception):
    """A file that is not whole."""


def digest(data: bytes) -> str:
    """SHA-256, hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def whole(path: Path) -> bytes:
    """The content of a file that was written here.

    Raises:
        Half: when it is not all there.
    """
    content, _, end = path.read_bytes().rpartition(b"\n")
    if end.decode(errors="replace") != digest(content):
        raise Half(str(path))
    return content


def write(path: Path, content: bytes, *, signed: bool = True) -> None:
    """Writes a file, which appears whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    text = content + b"\n" + digest(content).encode() if signed else content
    part.write_bytes(text)
    place(f"before write {path.name}")
    part.replace(path)
    place(f"after write {path.name}")


def say(**event: object) -> None:
    """An event on standard output."""
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def fail(code: int, text: str) -> int:
    """The end of a command that failed."""
    sys.stderr.write(f"error: {text}\n")
    return code


def newest(run: Path) -> Path | None:
    """The newest checkpoint of a run."""
    return max((run / "checkpoints").glob("checkpoint_*.kiln"), default=None)


def train(folder: Path) -> int:
    """Trains a block, from its newest checkpoint on."""
    run, done = folder / "run", folder / "done.json"
    index = (folder / "block.json").read_bytes()
    if done.exists() and json.loads(done.read_bytes())["block"] == digest(index):
        return 0
    run.mkdir(exist_ok=True)
    lock = os.open(run, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return fail(BUSY, f"another process writes to {run}")
    ended: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: ended.append(number))
    state, iteration = digest(index), 0
    if last := newest(run):
        state = whole(last).decode()
        iteration = int(last.stem.rpartition("_")[2])
    say(type="start", **{"from": iteration, "iterations": ITERATIONS})

    def save() -> None:
        # What belongs to a checkpoint comes first, and the newest two stay.
        write(run / "run.json", json.dumps({"iteration": iteration}).encode())
        write(run / f"checkpoints/checkpoint_{iteration:08}.kiln", state.encode())
        for old in sorted((run / "checkpoints").glob("checkpoint_*.kiln"))[:-2]:
            old.unlink()

    while iteration < ITERATIONS:
        time.sleep(SECONDS)
        state, iteration = digest(f"{state} {iteration}".encode()), iteration + 1
        say(type="train", it=iteration, its=1 / SECONDS, gaussians=7)
        if ended:
            save()
            return fail(INTERRUPTED, "saved, and ended")
        if iteration % EVERY == 0 and iteration < ITERATIONS:
            save()
    write(run / "point_cloud.ply", state.encode())
    model = {"name": "run/point_cloud.ply", "sha256": digest((run / "point_cloud.ply").read_bytes())}
    record = {"version": 1, "block": digest(index), "model": model, "iterations": ITERATIONS}
    write(done, json.dumps(record).encode(), signed=False)
    say(type="end", iterations=ITERATIONS)
    return 0


def merge(root: Path) -> int:
    """Merges the models of all blocks, which must be those that their records name."""
    index = (root / "project.json").read_bytes()
    blocks, models = [], []
    for entry in json.loads(index)["blocks"]:
        folder = root / "blocks" / entry["name"]
        done = json.loads((folder / "done.json").read_bytes())
        model = folder / done["model"]["name"]
        if done["block"] != entry["digest"] or digest(model.read_bytes()) != done["model"]["sha256"]:
            return fail(DAMAGED, f"{model} is not what was trained")
        models.append(whole(model))
        blocks.append({"name": entry["name"], "sha256": done["model"]["sha256"]})
    write(root / "merged/point_cloud.ply", b" ".join(models))
    record = {"version": 1, "project": digest(index), "blocks": blocks}
    write(root / "merged/point_cloud.index.json", json.dumps(record).encode(), signed=False)
    return 0


def main() -> int:
    """The command; its exit code."""
    command, folder = sys.argv[1], Path(sys.argv[2])
    try:
        return train(folder) if command == "train" else merge(folder)
    except Half as error:
        return fail(DAMAGED, f"{error} is half a file")


if __name__ == "__main__":
    sys.exit(main())
