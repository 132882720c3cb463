"""Projects whose driver, workers, nodes and programs are killed, at random moments and in constructed states.

`python tools/ray/tests/rounds.py --rounds 40 --seed 1 --log FILE` prints a line for each round. Its project has three blocks and is trained on
two nodes of loopback by a program that stands in for `kiln` (`stand_in.py`), in a folder that both nodes see or through storage. Half of the
kills come after a random time; the others hit a process that stopped before or after one of its writes (`faults`), and some of those are not
killed: they go on when another driver has trained the block meanwhile. Whatever was killed, the same command, started again as often as it
takes, ends in the same bytes, and no file under its final name is half of one.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

sys.path.insert(0, str(Path(__file__).parent / "faults"))
import stand_in  # noqa: E402
from fault import VARIABLE  # noqa: E402

FAULTS = Path(__file__).parent / "faults"
BLOCKS = ("b0000", "b0001", "b0002")
#: Seconds that anything may take on a busy machine.
WAIT_S = 120.0
#: Drivers of one round, at most.
MOST_STARTS = 8
#: Exit codes of a driver that says that the same command goes on, or that a block was killed twice at one iteration.
GOES_ON = (0, 1, 9, 130, -signal.SIGKILL)
#: Writes of the program, in a folder and on a node,
WRITES = ["checkpoint_*", "run.json", "point_cloud.ply", "done.json", "point_cloud.index.json"]
#: and of the package, in storage.
PUTS = ["*/lease.json", "*/checkpoint_*", "*/run/run.json", "*/checkpoint.json", "*/run/point_cloud.ply", "*/done.json", "merged/*"]
T = TypeVar("T")


def until(look: Callable[[], T | None], what: str, seconds: float = WAIT_S) -> T:
    """What `look` finds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(0.01)
    raise AssertionError(f"waited in vain for {what}")


def make(root: Path) -> None:
    """A project of three blocks, which share photos."""
    scene = root.parent / "scene"
    for file in ("images/a.jpg", "images/b.jpg", "images/c.jpg", "sparse/points3D.bin"):
        (scene / file).parent.mkdir(parents=True, exist_ok=True)
        (scene / file).write_text(file)
    entries = []
    for at, name in enumerate(BLOCKS):
        folder = root / "blocks" / name
        (folder / "sparse").mkdir(parents=True)
        (folder / "sparse/images.bin").write_text(name)
        views = [f"{'abc'[at]}.jpg", f"{'abc'[at - 1]}.jpg"]
        record = {"version": 1, "name": name, "files": ["sparse/images.bin"], "train_views": views, "test_views": []}
        text = json.dumps(record).encode()
        (folder / "block.json").write_bytes(text)
        entries.append({"name": name, "digest": stand_in.digest(text)})
    photos = [{"name": f"{letter}.jpg", "bytes": (scene / f"images/{letter}.jpg").stat().st_size} for letter in "abc"]
    paths = {key: str(scene / key) for key in ("images", "sparse")}
    index = {
        "version": 1,
        "scene": {"path": str(scene), **paths, "model": [{"name": "points3D.bin"}], "photos": photos},
        "blocks": entries,
        "views_used": 2.0,
    }
    (root / "project.json").write_text(json.dumps(index))


def run_driver(arguments: list[str], log: str) -> None:
    """A driver, in a process of its own that has its modules already."""
    with open(log, "ab", buffering=0) as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    from kiln_ray import cli

    os._exit(cli.main(arguments))


def processes() -> Iterator[tuple[int, list[str], int]]:
    """Process ids with their words and parents."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if fields[0] != "Z":
            yield int(entry.name), words, int(fields[1])


class Nodes:
    """A head, on which drivers are, and another node; each has a processor."""

    def __init__(self, folder: Path) -> None:
        from ray.cluster_utils import Cluster

        self.fault = folder / "fault"
        os.environ[VARIABLE] = str(self.fault)
        path = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = f"{FAULTS}:{path}" if path else str(FAULTS)
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # Drivers start in a moment: Ray takes seconds to import.
        self.spawn: Any = multiprocessing.get_context("forkserver")
        self.spawn.set_forkserver_preload(["ray", "kiln_ray.cli", "kiln_ray.cluster", "kiln_ray.drive", "kiln_ray.metrics"])
        quick = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 4}
        head = {"num_cpus": 1, "num_gpus": 0, "include_dashboard": False, "_system_config": quick}
        self.cluster: Any = Cluster(initialize_head=True, head_node_args=head)
        self.add()

    def add(self) -> None:
        """Adds the other node, unless it is there."""
        if not self.cluster.worker_nodes:
            self.cluster.add_node(num_cpus=1, num_gpus=0)

    def remove(self) -> None:
        """Kills the other node."""
        for node in list(self.cluster.worker_nodes):
            self.cluster.remove_node(node, allow_graceful=False)

    def close(self) -> None:
        """Ends all of it."""
        self.cluster.shutdown()

    def tasks(self) -> list[int]:
        """Process ids of workers that have a task."""
        raylets = {node.all_processes["raylet"][0].process.pid for node in self.cluster.list_all_nodes()}
        names = ("ray::train", "ray::merge")
        return [pid for pid, words, parent in processes() if words[0].startswith(names) and parent in raylets]


@dataclass
class Round:
    """One project, from its split to its model."""

    nodes: Nodes
    folder: Path
    program: str
    dice: random.Random
    in_storage: bool
    #: The one place that a process is late at, for nothing to be killed.
    late: str | None = None
    kills: list[dict[str, Any]] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    drivers: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.split = self.folder / "project"
        make(self.split)
        self.root = self.folder / "bucket" if self.in_storage else self.split
        self.at = f"file://{self.root}" if self.in_storage else str(self.root)
        if self.in_storage:
            from kiln_ray.push import push
            from kiln_ray.storage import Storage

            push(self.split, Storage.at(self.at), lambda _text: None)

    def start(self) -> Any:
        """Starts a driver."""
        arguments = ["run", self.at, "--address", self.nodes.cluster.address, "--kiln", self.program]
        arguments += ["--gpus-per-task", "0", "--cpus-per-task", "1", "--sync-s", "0.1", "--lease-s", "0.5"]
        arguments += ["--work", str(self.folder / "work")]
        driver = self.nodes.spawn.Process(target=run_driver, args=(arguments, str(self.folder / "log")))
        driver.start()
        self.drivers.append(driver)
        return driver

    def programs(self) -> list[int]:
        """Process ids of programs of this round."""
        return [pid for pid, words, _ in processes() if f"{self.program}.py" in words[:2]]

    def kill(self, victim: str, stopped: int | None = None) -> None:
        """Kills the driver, the other node, or some worker or program: that which is stopped, if one is."""
        pids = {"driver": lambda: [self.drivers[-1].pid], "worker": self.nodes.tasks, "program": self.programs}
        if victim == "node":
            self.nodes.remove()
        elif victim in pids:
            found = sorted(pids[victim]())
            pid = stopped if stopped in found else self.dice.choice(found or [0])
            if pid:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            else:
                self.kills[-1]["came too late"] = True
        if stopped:
            # What was not killed itself goes on, in whatever its death left.
            with contextlib.suppress(ProcessLookupError):
                os.kill(stopped, signal.SIGCONT)

    def disturb(self) -> None:
        """Kills something, at a random moment or in a constructed state."""
        victims = ["driver", "worker", "node", "program"]
        driver = self.start()
        if self.late is None and self.dice.random() < 0.5:
            after = self.dice.uniform(0.0, 2.0)
            self.kills.append({"victim": self.dice.choice(victims), "after_s": round(after, 3)})
            until(lambda: self.programs() or not driver.is_alive(), "a program")
            time.sleep(after)
            self.kill(self.kills[-1]["victim"])
            return
        places = WRITES if not self.in_storage else PUTS + WRITES[:3]
        name = self.dice.choice(places)
        what = "put" if name in PUTS else "write"
        place = f"{self.dice.choice(['before', 'after'])} {what} {name}"
        late = ["late"] if what == "put" else []
        self.kills.append({"victim": self.dice.choice([*victims, *late]), "at": place})
        if self.late:
            place = self.late
            self.kills[-1] = {"victim": "late", "at": place}
        reached = Path(f"{self.nodes.fault}.reached")
        reached.unlink(missing_ok=True)
        self.nodes.fault.write_text(place)
        until(lambda: reached.exists() or not driver.is_alive(), f"a process that comes to {place}")
        self.nodes.fault.unlink(missing_ok=True)
        if not reached.exists():
            self.kills[-1]["not reached"] = True
            return
        pid = int(reached.read_text().split()[0])
        if self.kills[-1]["victim"] != "late":
            self.kill(self.kills[-1]["victim"], pid)
            return
        # The process is away for longer than its lease; another driver does its work, until it comes back.
        self.kills[-1]["task"] = reached.read_text().partition(" ")[2]
        self.start()
        with contextlib.suppress(AssertionError):
            until(lambda: (self.root / "merged/point_cloud.index.json").exists(), "the model", self.dice.uniform(2.0, 12.0))
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)

    def finish(self) -> bytes:
        """Starts drivers until one ends well; the model."""
        while True:
            self.nodes.add()
            while self.drivers:
                driver = self.drivers.pop(0)
                driver.join(WAIT_S)
                assert not driver.is_alive(), f"a driver does not end: {self.log()}"
                self.ends.append(driver.exitcode)
                assert driver.exitcode in GOES_ON, self.log()
            if self.ends[-1] == 0:
                return (self.root / "merged/point_cloud.ply").read_bytes()
            assert self.ends[-1] != 1 or "killed by SIGKILL" in self.log(), self.log()
            assert len(self.ends) < MOST_STARTS, self.log()
            self.start()

    def play(self) -> bytes:
        """All of it; the model."""
        for _ in range(1 if self.late else self.dice.choice([1, 1, 2, 3])):
            self.disturb()
        return self.finish()

    def log(self) -> str:
        """What the drivers printed."""
        return (self.folder / "log").read_text(errors="replace")

    def halves(self) -> list[str]:
        """Files under their final name that are not whole."""
        wrong = []
        for path in self.root.rglob("*"):
            own = path.suffix in (".ply", ".kiln") or path.name == "run.json"
            try:
                if path.name.startswith(".") or not path.is_file():
                    continue
                if own:
                    stand_in.whole(path)
                elif path.suffix == ".json":
                    json.loads(path.read_bytes())
            except (ValueError, stand_in.Half):
                wrong.append(str(path.relative_to(self.root)))
        return wrong

    def end(self) -> None:
        """Ends what a failed round left."""
        for driver in self.drivers:
            driver.kill()
        for pid in self.programs():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


#: All places at which a task may be late, a round each.
LATE = [f"{when} put {name}" for name in PUTS for when in ("before", "after")]


def play(nodes: Nodes, folder: Path, number: int, seed: int, late: bool = False) -> dict[str, Any]:
    """A round, which is the same for the same seed but for what the system's clock does; what happened in it."""
    place = LATE[number % len(LATE)] if late else None
    dice = random.Random(f"{seed} {number}")
    folder.mkdir()
    program = folder / "kiln"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {program}.py "$@"\n')
    program.chmod(0o755)
    # Programs of this round are known by this name.
    (folder / "kiln.py").symlink_to(stand_in.__file__)
    one = Round(nodes, folder, str(program), dice, late or number % 2 == 1, place)
    began = time.monotonic()
    try:
        same = one.play() == undisturbed(folder)
        halves = one.halves()
    finally:
        one.end()
    return {
        "of": "kiln-ray",
        "seed": seed,
        "round": number,
        "in": "storage" if one.in_storage else "folder",
        "kills": one.kills,
        "ends": one.ends,
        "same_bytes": same,
        "half_files": halves,
        "seconds": round(time.monotonic() - began, 1),
    }


def undisturbed(folder: Path) -> bytes:
    """The model by one command after the other."""
    import subprocess

    root = folder / "serial/project"
    make(root)
    command = [sys.executable, stand_in.__file__]
    for name in BLOCKS:
        subprocess.run([*command, "train", str(root / "blocks" / name)], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([*command, "merge", str(root)], check=True)
    return (root / "merged/point_cloud.ply").read_bytes()


def main() -> int:
    """The command; its exit code is 1 when a round ended in other bytes or left half a file."""
    asked = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    asked.add_argument("--rounds", type=int, default=40)
    asked.add_argument("--first", type=int, default=0, help="number of the first round [0]")
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--late", action="store_true", help="nothing is killed: tasks are late, each round at another write")
    asked.add_argument("--log", type=Path, help="a file that rows of JSON are appended to")
    options = asked.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="kiln-ray-rounds-") as above:
        nodes = Nodes(Path(above))
        try:
            for number in range(options.first, options.first + options.rounds):
                row = play(nodes, Path(above) / str(number), number, options.seed, options.late)
                wrong += not row["same_bytes"] or bool(row["half_files"])
                line = json.dumps(row, sort_keys=True)
                sys.stdout.write(line + "\n")
                sys.stdout.flush()
                if options.log:
                    with open(options.log, "a", encoding="utf-8") as log:
                        log.write(line + "\n")
        finally:
            nodes.close()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
