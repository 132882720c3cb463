"""Two nodes on loopback with the real program; whatever is killed, the merged model is the same bytes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest
import ray
from ray.cluster_utils import Cluster as RayCluster

from kiln_ray.cluster import Cluster, Needs
from kiln_ray.drive import Drive, Place
from kiln_ray.metrics import Meter
from kiln_ray.progress import Row, Screen
from kiln_ray.push import push
from kiln_ray.storage import Storage
from kiln_ray.task import Job

WAIT_S = 90.0
T = TypeVar("T")


@pytest.fixture(scope="module")
def nodes() -> Iterator[RayCluster]:
    """Two nodes with a processor each, and this process as their driver."""
    quick = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 4}
    head = {"num_cpus": 1, "num_gpus": 0, "include_dashboard": False, "_system_config": quick}
    cluster = RayCluster(initialize_head=True, head_node_args=head)
    # Before there is a second node that the driver could belong to.
    ray.init(address=cluster.address, log_to_driver=False)
    cluster.add_node(num_cpus=1, num_gpus=0)
    cluster.wait_for_nodes()
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@dataclass
class Driven:
    """A driver in a thread."""

    drive: Drive
    thread: threading.Thread
    code: list[int]

    def end(self) -> int:
        self.thread.join(WAIT_S)
        assert not self.thread.is_alive(), "the driver does not end"
        return self.code[0]


def drive(project: str, kiln: str, work: Path, cpus: float = 1) -> Driven:
    job = Job(project, kiln, str(work), sync_s=0.1, lease_s=0.5, merge_memory_mib=64)
    driver = Drive(Place(project), Cluster(job, Needs(0, cpus)), Screen(), Meter(project))
    code: list[int] = []
    thread = threading.Thread(target=lambda: code.append(driver.run()))
    thread.start()
    return Driven(driver, thread, code)


def rows(project: Path) -> dict[str, Row]:
    blocks = json.loads((project / "progress.json").read_text())["blocks"]
    return {block["name"]: Row(**{key: value for key, value in block.items() if key != "eta_s"}) for block in blocks}


def until(look: Callable[[], T | None], what: str) -> T:
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        found = look()
        if found:
            return found
        time.sleep(0.005)
    raise AssertionError(f"waited in vain for {what}")


def stat(pid: int) -> list[str]:
    """State, parent and more of a process."""
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()


def parent(pid: int) -> int:
    return int(stat(pid)[1])


def runs_in(kiln: str, folder: Path) -> list[tuple[int, Path]]:
    """Process ids of the program with a run below a folder, and the run folders, which hold a checkpoint each."""
    found = []
    for run in folder.glob("**/blocks/*/run"):
        if not any(run.glob("checkpoints/checkpoint_*20.kiln")):
            continue
        for process in Path("/proc").iterdir():
            try:
                words = (process / "cmdline").read_bytes().decode().split("\0") if process.name.isdigit() else []
                cwd = os.readlink(process / "cwd") if words[1:2] == ["train"] else "/"
                at = os.path.realpath(os.path.join(cwd, *words[2:3]))
            except OSError:
                continue
            if words[:1] == [kiln] and at == str(run.parent.resolve()) and stat(int(process.name))[0] != "Z":
                found.append((int(process.name), run))
    return found


def stopped(kiln: str, folder: Path) -> tuple[int, Path]:
    """A run of the program that has written its first checkpoint, held there."""
    pid, run = until(lambda: next(iter(runs_in(kiln, folder)), None), "a run with a checkpoint")
    os.kill(pid, signal.SIGSTOP)
    return pid, run


def resumed_at(run: Path) -> list[int]:
    events = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [event["it"] for event in events if event.get("kind") == "resume"]


def test_two_nodes_make_the_model_of_one_machine(nodes: RayCluster, kiln: str, project: Path, serial: bytes) -> None:
    command = [sys.executable, "-m", "kiln_ray", "run", str(project), "--address", nodes.address, "--kiln", kiln]
    command += ["--gpus-per-task", "0", "--eval"]
    output = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S)
    assert output.returncode == 0, output.stderr
    assert output.stdout == f"{project}/merged/point_cloud.ply\n"
    assert (project / "merged/point_cloud.ply").read_bytes() == serial
    assert {row.state for row in rows(project).values()} == {"done"}
    assert {(row.iteration, row.iterations, row.attempts) for row in rows(project).values()} == {(60, 60, 1)}
    assert "b0000  done     60 of 60" in output.stderr
    evaluation = json.loads((project / "merged/evaluation.json").read_text())
    held_out = json.loads((project / "project.json").read_text())["test_views"]
    assert len(evaluation["test"]["views"]) == len(held_out)
    assert len({row.node for row in rows(project).values()}) == 2


@pytest.mark.usefixtures("nodes")
def test_a_killed_program_goes_on(kiln: str, project: Path, serial: bytes, tmp_path: Path) -> None:
    driven = drive(str(project), kiln, tmp_path / "work")
    pid, run = stopped(kiln, project)
    os.kill(pid, signal.SIGKILL)
    assert driven.end() == 0
    assert (project / "merged/point_cloud.ply").read_bytes() == serial
    assert rows(project)[run.parent.name].attempts == 2
    assert resumed_at(run) == [20]


@pytest.mark.usefixtures("nodes")
def test_the_program_of_a_killed_worker_saves_and_goes_on(
    kiln: str, project: Path, serial: bytes, tmp_path: Path
) -> None:
    driven = drive(str(project), kiln, tmp_path / "work")
    pid, run = stopped(kiln, project)
    os.kill(parent(pid), signal.SIGKILL)
    time.sleep(0.5)
    os.kill(pid, signal.SIGCONT)
    assert driven.end() == 0
    assert (project / "merged/point_cloud.ply").read_bytes() == serial
    assert rows(project)[run.parent.name].attempts == 2
    # It was asked to save where it stood, at or after its checkpoint.
    [at] = resumed_at(run)
    assert 20 <= at < 60


@pytest.mark.usefixtures("nodes")
def test_what_cannot_be_mended_ends_the_project(project: Path, tmp_path: Path, program: Callable[..., str]) -> None:
    # One block is damaged; the other is asked to save.
    script = """case $2 in
    *b0001) sleep 2; echo 'error: its model is cut off' >&2; exit 4 ;;
    esac
    trap 'exit 143' TERM; while :; do sleep 0.1; done"""
    driven = drive(str(project), program(script), tmp_path / "work")
    assert driven.end() == 4
    found = rows(project)
    assert found["b0001"].state == "failed" and "its model is cut off" in (found["b0001"].message or "")
    assert found["b0000"].state == "waiting" and "exit code 143" in (found["b0000"].message or "")
    assert driven.drive.merged() is None


def small_card(kiln: str, folder: Path, fits: str) -> str:
    """A program that trains what `fits` says, a pattern of names, and cuts and merges as ever."""
    return f"""case $1 in train)
    name=$(basename "$(realpath "$2")"); echo "$name" >> {folder}/trained
    case $name in {fits}) ;; *) echo 'error: the plan needs 9 GiB' >&2; exit 6 ;; esac ;;
    split) echo "$2" >> {folder}/cut ;;
    esac
    exec {kiln} "$@" """


@pytest.mark.usefixtures("nodes")
def test_a_block_that_does_not_fit_is_trained_in_quarters(
    kiln: str, project: Path, tmp_path: Path, program: Callable[..., str]
) -> None:
    stand_in = program(small_card(kiln, tmp_path, "b0000|b0001a|b0001b?"))
    driven = drive(str(project), stand_in, tmp_path / "work")
    assert driven.end() == 0
    names = ["b0000", "b0001a", "b0001ba", "b0001bb"]
    assert (project / "blocks.txt").read_text().split() == names
    assert {name: row.state for name, row in rows(project).items()} == dict.fromkeys(names, "done")
    assert sorted((tmp_path / "trained").read_text().split()) == sorted([*names, "b0001", "b0001b"])
    index = json.loads((project / "merged/point_cloud.index.json").read_text())
    assert [block["name"] for block in index["blocks"]] == names
    # The same by hand, on one machine.
    again = tmp_path / "again"
    subprocess.run([kiln, "merge", str(project), "-q", "-o", str(again / "model.ply")], check=True)
    assert (again / "model.ply").read_bytes() == (project / "merged/point_cloud.ply").read_bytes()


@pytest.mark.usefixtures("nodes")
def test_quarters_that_do_not_fit_end_the_project(
    kiln: str, project: Path, tmp_path: Path, program: Callable[..., str]
) -> None:
    driven = drive(str(project), program(small_card(kiln, tmp_path, "b0001*")), tmp_path / "work")
    assert driven.end() == 6
    failed = [row for row in rows(project).values() if row.state == "failed"]
    # As many as had ended before the first of them ended the project.
    assert failed and all("cut in two 2 times already" in (row.message or "") for row in failed)
    assert driven.drive.merged() is None


@pytest.mark.usefixtures("nodes")
def test_blocks_in_storage_are_cut_by_whichever_driver(
    kiln: str, project: Path, tmp_path: Path, program: Callable[..., str]
) -> None:
    storage = Storage.at(f"file://{tmp_path}/bucket")
    push(project, storage, print)
    subprocess.run([kiln, "split", str(project / "blocks/b0001")], check=True, stdout=subprocess.DEVNULL)
    stand_in = program(small_card(kiln, tmp_path, "b0000|b0001?"))
    both = [drive(storage.url, stand_in, tmp_path / "work", cpus=0.5) for _ in range(2)]
    assert [driven.end() for driven in both] == [0, 0]
    bucket = tmp_path / "bucket"
    names = ["b0000", "b0001a", "b0001b"]
    assert (bucket / "blocks.txt").read_text().split() == names
    found = json.loads((bucket / "project.json").read_text())
    assert found == json.loads((project / "project.json").read_text())
    assert {row.state for row in rows(bucket).values()} == {"done"} and sorted(rows(bucket)) == names
    for name in names[1:]:
        for file in ("block.json", "sparse/0/images.bin"):
            assert (bucket / "blocks" / name / file).read_bytes() == (project / "blocks" / name / file).read_bytes()
    # No half was trained twice, and what was cut is gone but for who held it last.
    trained = (tmp_path / "trained").read_text().split()
    assert [trained.count(name) for name in names] == [1, 1, 1]
    left = [path.name for path in (bucket / "blocks/b0001").rglob("*") if path.is_file()]
    assert all(name.startswith("lease.json") for name in left), left
    merged = json.loads(storage.read("merged/point_cloud.index.json") or b"")
    assert [block["name"] for block in merged["blocks"]] == names


def test_a_full_disk_is_left_for_another_node(
    nodes: RayCluster, project: Path, tmp_path: Path, program: Callable[..., str]
) -> None:
    # The first to come finds a full disk, and its node with it.
    script = f"""[ "$1" = merge ] && exit 0
    case $2 in *b0001) exit 0 ;; esac
    if mkdir {tmp_path}/full 2>/dev/null; then echo 'error: no space' >&2; exit 7; fi"""
    driven = drive(str(project), program(script), tmp_path / "work")
    assert driven.end() == 0
    assert rows(project)["b0000"].attempts == 2
    everywhere = program("echo 'error: no space' >&2; exit 7", "everywhere")
    assert drive(str(project), everywhere, tmp_path / "work").end() == 7
    [failed] = [row for row in rows(project).values() if row.state == "failed"]
    assert failed.attempts == len(nodes.list_all_nodes()) == 2


@pytest.mark.usefixtures("nodes")
def test_an_interrupted_driver_has_its_blocks_save(kiln: str, project: Path, serial: bytes, tmp_path: Path) -> None:
    driven = drive(str(project), kiln, tmp_path / "work")
    pid, run = stopped(kiln, project)
    driven.drive.interrupted = True
    time.sleep(1.5)
    os.kill(pid, signal.SIGCONT)
    assert driven.end() == 130
    assert not (run.parent / "done.json").exists() and not (project / "merged").exists()
    assert drive(str(project), kiln, tmp_path / "work").end() == 0
    assert (project / "merged/point_cloud.ply").read_bytes() == serial


@pytest.mark.usefixtures("nodes")
def test_two_drivers_of_one_project_train_each_block_once(
    kiln: str, project: Path, serial: bytes, tmp_path: Path, program: Callable[..., str]
) -> None:
    storage = Storage.at(f"file://{tmp_path}/bucket")
    push(project, storage, print)
    counted = program(f'echo "$1" >> {tmp_path}/started; exec {kiln} "$@"')
    both = [drive(storage.url, counted, tmp_path / "work", cpus=0.5) for _ in range(2)]
    assert [driven.end() for driven in both] == [0, 0]
    assert storage.read("merged/point_cloud.ply") == serial
    assert (tmp_path / "started").read_text().split().count("train") == 2


def test_a_lost_node_costs_the_steps_since_its_upload(
    nodes: RayCluster, kiln: str, project: Path, serial: bytes, tmp_path: Path
) -> None:
    bucket = tmp_path / "bucket"
    storage = Storage.at(f"file://{bucket}")
    assert push(project, storage, print) > 40
    driven = drive(storage.url, kiln, tmp_path / "work")
    head = nodes.head_node.all_processes["raylet"][0].process.pid
    other = next(node for node in nodes.list_all_nodes() if node is not nodes.head_node)

    def there() -> tuple[int, Path] | None:
        found = runs_in(kiln, tmp_path / "work")
        return next(((pid, run) for pid, run in found if parent(parent(pid)) != head), None)

    pid, run = until(there, "a run with a checkpoint on the second node")
    os.kill(pid, signal.SIGSTOP)
    name = run.parent.name
    until((bucket / "blocks" / name / "checkpoint.json").exists, "a checkpoint in storage")
    nodes.remove_node(other, allow_graceful=False)
    os.kill(pid, signal.SIGKILL)
    assert driven.end() == 0
    assert driven.drive.merged() == f"{storage.url}/merged/point_cloud.ply"
    assert (bucket / "merged/point_cloud.ply").read_bytes() == serial
    assert resumed_at(bucket / "blocks" / name / "run") == [20]
    assert (
        not any(bucket.glob("blocks/*/run/checkpoints/*"))
        and not (bucket / "blocks" / name / "checkpoint.json").exists()
    )
    # All is done, and nothing is started again.
    assert drive(storage.url, "/nowhere/kiln", tmp_path / "work").end() == 0
    (bucket / "merged/point_cloud.index.json").unlink()
    assert drive(storage.url, "/nowhere/kiln", tmp_path / "work").end() == 9
