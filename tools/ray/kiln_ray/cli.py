"""The command `kiln-ray`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from kiln_ray import __version__
from kiln_ray.project import ProjectError
from kiln_ray.storage import ERRORS, Storage, is_url

#: Exit codes, as far as there are equals in `kiln`.
INTERNAL, USAGE, DAMAGED, NO_DEVICE, UNABLE = 1, 2, 4, 5, 9
#: Processors of a task, where its node has that many.
CPUS = 4.0


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="kiln-ray", description="Train the blocks of a Kiln project on a Ray cluster")
    top.add_argument("--version", action="version", version=f"kiln-ray {__version__}")
    commands = top.add_subparsers(dest="command", required=True)

    run = commands.add_parser("run", help="train all blocks and merge them", description=RUN)
    run.add_argument("project", metavar="PROJECT", help="folder that all nodes see, or a URL: s3, gs, az, file")
    run.add_argument(
        "--address",
        default=os.environ.get("RAY_ADDRESS", "local"),
        help="of a Ray cluster, or `auto`; `local` starts Ray on this machine [RAY_ADDRESS, else local]",
    )
    run.add_argument("--kiln", default="kiln", metavar="PATH", help="the program on all nodes [kiln]")
    run.add_argument(
        "--gpus-per-task", type=_share, default=1.0, metavar="N", help="0 without any, 0.5: two blocks a GPU [1]"
    )
    run.add_argument(
        "--cpus-per-task", type=_positive, metavar="N", help=f"processors a block [{CPUS:.0f}, or what nodes have]"
    )
    run.add_argument("--sync-s", type=_positive, default=300.0, metavar="S", help="between uploads [300]")
    run.add_argument(
        "--lease-s", type=_positive, default=60.0, metavar="S", help="between renewals of a block's lease [60]"
    )
    run.add_argument("--work", metavar="FOLDER", help="where nodes keep projects from storage [TEMP/kiln-ray-UID]")
    run.add_argument(
        "--merge-memory-mib", type=int, default=512, metavar="N", help="host memory of the merge, MiB [512]"
    )

    run.add_argument(
        "--eval", action="store_true", help="evaluate the merged model, in merged/evaluation.json; in a folder"
    )

    push = commands.add_parser("push", help="bring a project folder and its scene into object storage")
    push.add_argument("project", metavar="PROJECT", help="folder that `kiln split` made")
    push.add_argument("url", metavar="URL", help="s3://, gs://, az:// or file://")
    return top


RUN = (
    "Train all blocks of a project, one `kiln` command a task, and merge them. The same command goes on where an "
    "earlier one ended."
)


def _positive(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number


def _share(text: str) -> float:
    number = float(text)
    # A run of kiln uses one GPU.
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1: a block trains on one GPU")
    return number


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; its exit code."""
    asked = parser().parse_args(arguments)
    try:
        return _push(asked) if asked.command == "push" else _run(asked)
    except ProjectError as error:
        _say(f"error: {error}")
        return DAMAGED
    except ERRORS as error:
        # Lines after the first are obstore's own state.
        _say(f"error: {(str(error).splitlines() or [type(error).__name__])[0]}; URLs are s3, gs, az and file")
        return UNABLE


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _print(text: str) -> None:
    """A line of standard output: a path comes out in the bytes it has, whatever encoding the terminal is said to have."""
    sys.stdout.flush()
    sys.stdout.buffer.write(os.fsencode(f"{text}\n"))
    sys.stdout.buffer.flush()


def _push(asked: argparse.Namespace) -> int:
    from kiln_ray.push import push

    if not is_url(asked.url):
        _say(f"error: {asked.url} is no URL; a folder is `file://` and its absolute path")
        return USAGE
    sent = push(Path(asked.project), Storage.at(asked.url), _say)
    _say(f"{sent} files sent")
    _print(asked.url)
    return 0


def _run(asked: argparse.Namespace) -> int:
    # Ray takes seconds to import, and a wrong project is said before.
    from kiln_ray.drive import Place

    if asked.eval and is_url(asked.project):
        _say("error: --eval wants a folder that all nodes see: from storage, photos are brought block by block")
        return USAGE
    at = asked.project if is_url(asked.project) else str(Path(asked.project).absolute())
    place = Place(at)
    place.project()

    import ray
    from ray.exceptions import RayError

    from kiln_ray import task
    from kiln_ray.cluster import LOCAL, Cluster, Needs, connect, is_open
    from kiln_ray.drive import Drive
    from kiln_ray.metrics import Meter
    from kiln_ray.progress import Screen

    job = task.Job(
        project=at,
        kiln=os.path.abspath(asked.kiln) if os.sep in asked.kiln else asked.kiln,
        work=os.path.abspath(asked.work) if asked.work else task.default_work(),
        sync_s=asked.sync_s,
        lease_s=asked.lease_s,
        merge_memory_mib=asked.merge_memory_mib,
    )
    try:
        connect(asked.address)
    except (ConnectionError, RuntimeError) as error:
        _say(f"error: cannot join the Ray cluster at {asked.address}: {error}")
        return UNABLE
    if asked.address != LOCAL and is_open(ray.__version__, os.environ.get("RAY_AUTH_MODE")):
        _say("note: token authentication is off here: whoever reaches this cluster runs what they like on it")
    try:
        most = max((node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"]), default=0)
        needs = Needs(asked.gpus_per_task, asked.cpus_per_task or min(CPUS, max(most, 1.0)))
        cluster = Cluster(job, needs)
        if not cluster.can_start():
            what = f"no node has {needs.gpus:g} GPUs and {needs.cpus:g} processors"
            if asked.address == LOCAL:
                _say(f"error: {what}; `--gpus-per-task 0` trains without a GPU of Ray's")
                return NO_DEVICE
            _say(f"{what} yet: blocks wait for one")
        drive = Drive(place, cluster, Screen(), Meter(at), asked.eval)

        def end(_signal: int, _frame: object) -> None:
            if drive.interrupted:
                sys.exit(INTERNAL)
            drive.interrupted = True

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, end)
        code = drive.run()
        if drive.merged():
            _print(str(drive.merged()))
        return code
    except RayError as error:
        _say(f"error: the Ray cluster is lost: {error}; the same command goes on")
        return UNABLE
    finally:
        ray.shutdown()
