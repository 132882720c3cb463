"""What runs on a node: one `kiln` command, its events passed to the driver, its block brought and saved."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ray
from ray.exceptions import GetTimeoutError, RayError

from kiln_ray.child import Child
from kiln_ray.device import NoDevice, device_flags
from kiln_ray.progress import Row
from kiln_ray.project import MERGED_MODEL, ProjectError
from kiln_ray.verdict import OUTPUT, Cause, Ended

if TYPE_CHECKING:
    from kiln_ray.lease import Lease
    from kiln_ray.storage import Storage

#: Before the name of a block that is cut in two: that has attempts of its own.
CUT = "cut "
#: Seconds between two looks at a child.
LOOK_S = 0.5
#: Seconds that a task waits for the driver's actor to answer.
ANSWER_S = 20.0
#: Seconds that an earlier process gets to save and leave a run folder.
LEAVE_S = 120.0
#: Exit codes of `kiln` for what a task finds out before it: a damaged project, no device, something missing.
DAMAGED = 4
NO_DEVICE = 5
UNABLE = 9
#: A node's disk that is full, or that nobody may write to.
DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES)


@dataclass(frozen=True)
class Job:
    """A project, and how its commands run."""

    #: Folder or URL.
    project: str
    #: The program.
    kiln: str
    #: The folder on nodes that projects from storage are brought to.
    work: str
    #: Seconds between two uploads of checkpoints.
    sync_s: float
    #: Seconds between two renewals of a lease.
    lease_s: float
    #: Host memory of a merge, MiB.
    merge_memory_mib: int


class Reporter:
    """Tells the driver's actor how far a task is, and hears whether it is to end."""

    def __init__(self, board: Any, name: str, attempt: int) -> None:
        self._board = board
        self._node = ray.get_runtime_context().get_node_id()
        self.row = Row(name, state="running", attempts=attempt, node=self._node)
        self._stop = False

    def is_stopped(self) -> bool:
        """True once the task is to save and end: the driver said so, or is gone."""
        try:
            answer = self._board.tell.remote(self.row.name, asdict(self.row))
            self._stop |= ray.get(answer, timeout=ANSWER_S)
        except GetTimeoutError:
            pass
        except RayError:
            self._stop = True
        return self._stop

    def ended(self, cause: Cause, code: int | None = None, message: str = "") -> Ended:
        """The end of this attempt, reported with all that is known of it."""
        self.is_stopped()
        return Ended(cause, code, self.row.iteration, self._node, message)


def train(job: Job, name: str, attempt: int, board: Any) -> Ended:
    """Trains a block; the answer says how that ended, whatever happened."""
    reporter = Reporter(board, name, attempt)
    return _guarded(reporter, lambda: _train(job, name, reporter))


def merge(job: Job, attempt: int, board: Any) -> Ended:
    """Merges the trained blocks; the answer's message is the model's place."""
    reporter = Reporter(board, "merge", attempt)
    return _guarded(reporter, lambda: _merge(job, reporter))


def cut(job: Job, name: str, attempt: int, board: Any) -> Ended:
    """Cuts a block in two."""
    from kiln_ray.cut import cut as cut_block

    reporter = Reporter(board, f"{CUT}{name}", attempt)
    return _guarded(reporter, lambda: cut_block(job, name, reporter))


def evaluate(job: Job, attempt: int, board: Any) -> Ended:
    """Evaluates the merged model of a project in a folder, which the figures are written to."""
    reporter = Reporter(board, "evaluation", attempt)
    command = [job.kiln, "eval", job.project, "-q", "--write"]
    return _guarded(reporter, lambda: run_unsaved([*command, *device_flags(ray.get_gpu_ids())], reporter))


def run_unsaved(command: list[str], reporter: Reporter, folder: Path | None = None) -> Ended:
    """Runs a command that has nothing to save: asked to end, it ends by the signal itself."""
    ended = _run(command, reporter, folder)
    if ended.code == -signal.SIGTERM and reporter.is_stopped():
        return reporter.ended(Cause.EXIT, 143, "ended before it was done")
    return ended


def _guarded(reporter: Reporter, work: Callable[[], Ended]) -> Ended:
    if reporter.is_stopped():
        return reporter.ended(Cause.EXIT, 143, "ended before it began")
    try:
        return work()
    except NoDevice as error:
        return reporter.ended(Cause.EXIT, NO_DEVICE, f"error: {error}")
    except ProjectError as error:
        return reporter.ended(Cause.EXIT, DAMAGED, f"error: {error}")


def _train(job: Job, name: str, reporter: Reporter) -> Ended:
    from kiln_ray.storage import is_url

    if is_url(job.project):
        return _train_in_storage(job, name, reporter)
    folder = Path(job.project) / "blocks" / name
    if not wait_until_left(folder / "run", reporter.is_stopped):
        return reporter.ended(Cause.LEASE, message=f"another process trains {name}")
    return _run(train_command(job, folder), reporter)


def under_lease(
    job: Job,
    name: str,
    reporter: Reporter,
    work: Callable[[Storage, Lease], Ended],
    on_lost: Callable[[], None] = lambda: None,
) -> Ended:
    """Does `work` while this task holds the block's lease in storage; how that ended, or why it did not begin."""
    from kiln_ray import lease as leases
    from kiln_ray.storage import ERRORS, Storage

    storage = Storage.at(job.project)
    owner = str(ray.get_runtime_context().get_task_id())
    lease = leases.Lease(storage, f"blocks/{name}/lease.json", owner, job.lease_s)
    try:
        lease.take(lambda: not reporter.is_stopped())
    except leases.Held as error:
        return reporter.ended(Cause.LEASE, message=str(error))
    except ERRORS as error:
        return storage_failed(reporter, f"cannot take the lease of {name}", error)
    lease.keep(on_lost)
    try:
        return work(storage, lease)
    except leases.Lost as error:
        return reporter.ended(Cause.LEASE, message=str(error))
    except ERRORS as error:
        return storage_failed(reporter, f"cannot bring or save {name}", error)
    finally:
        # Otherwise whoever comes next waits until it expires.
        with contextlib.suppress(*ERRORS):
            lease.release()


def _train_in_storage(job: Job, name: str, reporter: Reporter) -> Ended:
    from kiln_ray import travel
    from kiln_ray.storage import ERRORS

    # Until there is a child, and after it, there is nothing to end.
    children: list[Child] = []

    def end() -> None:
        for child in children:
            child.terminate()

    def work(storage: Storage, lease: Lease) -> Ended:
        def is_over() -> bool:
            return reporter.is_stopped() or lease.lost.is_set()

        node = ray.get_runtime_context().get_node_id()
        copy = travel.NodeCopy(storage, travel.read_project(storage), Path(job.work), node)
        if name not in copy.project.blocks:
            return reporter.ended(Cause.LEASE, message=f"{name} was cut in two")
        if copy.is_done(name):
            return reporter.ended(Cause.EXIT, 0)
        folder = copy.bring_block(name)
        if not wait_until_left(folder / "run", is_over):
            return reporter.ended(Cause.LEASE, message=f"another process trains {name} on this node")
        copy.bring_checkpoint(name)
        saver = Saver(copy, name, job.sync_s, lease.lost.is_set, lease.renew)
        with saver:
            ended = _run(train_command(job, Path(".")), reporter, folder, is_over, children)
        if ended.code == 0:
            copy.save_run(name, lease.renew)
        else:
            # How it ended counts, whether that can be saved or not.
            with contextlib.suppress(*ERRORS):
                lease.renew()
                copy.save_checkpoint(name, saver.last, lease.renew)
        return ended

    return under_lease(job, name, reporter, work, end)


def storage_failed(reporter: Reporter, what: str, error: Exception) -> Ended:
    """The end of an attempt that could not read or write. Waiting does not help a full disk, nor a missing right."""
    from obstore.exceptions import PermissionDeniedError, UnauthenticatedError

    message = f"error: {what}: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
    if isinstance(error, (PermissionDeniedError, UnauthenticatedError)):
        return reporter.ended(Cause.EXIT, UNABLE, message)
    if isinstance(error, OSError) and error.errno in DISK:
        return reporter.ended(Cause.EXIT, OUTPUT, message)
    return reporter.ended(Cause.STORAGE, message=message)


class Saver:
    """Uploads a run's newest checkpoint every so often while it is entered.

    It does so from a thread of its own: an upload may take long, and a run that is to end must hear of it at once.
    """

    def __init__(
        self,
        copy: Any,
        name: str,
        every_s: float,
        is_lost: Callable[[], bool],
        confirm: Callable[[], None] = lambda: None,
    ) -> None:
        self._confirm = confirm
        self._copy = copy
        self._name = name
        self._every_s = every_s
        self._is_lost = is_lost
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        #: The newest checkpoint in storage.
        self.last: str | None = None

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        """Waits for an upload that is under way."""
        self._end.set()
        self._thread.join()

    def _work(self) -> None:
        from kiln_ray.lease import Lost
        from kiln_ray.storage import ERRORS

        while not self._end.wait(self._every_s) and not self._is_lost():
            # What fails is tried again the next time, unless the block is lost: then there is none.
            with contextlib.suppress(Lost, *ERRORS):
                self.last = self._copy.save_checkpoint(self._name, self.last, self._confirm)


def _merge(job: Job, reporter: Reporter) -> Ended:
    from kiln_ray.storage import is_url

    flags = ["-q", "--memory-mib", str(job.merge_memory_mib)]
    if not is_url(job.project):
        ended = _run([job.kiln, "merge", job.project, *flags], reporter)
        return _placed(ended, str(Path(job.project) / MERGED_MODEL))
    from kiln_ray import travel
    from kiln_ray.storage import ERRORS, Storage

    try:
        storage = Storage.at(job.project)
        node = ray.get_runtime_context().get_node_id()
        copy = travel.NodeCopy(storage, travel.read_project(storage), Path(job.work), node)
        place = f"{storage.url}/{MERGED_MODEL}"
        if copy.is_merged():
            return reporter.ended(Cause.EXIT, 0, place)
        with copy.models() as root:
            ended = _run([job.kiln, "merge", str(root), *flags], reporter)
            if ended.code == 0:
                copy.save_merged(root)
        return _placed(ended, place)
    except ERRORS as error:
        return storage_failed(reporter, "cannot bring or save what is merged", error)


def _placed(ended: Ended, place: str) -> Ended:
    if ended.code != 0:
        return ended
    return Ended(ended.cause, ended.code, ended.iteration, ended.node, place)


def train_command(job: Job, folder: Path) -> list[str]:
    """The command that trains the block in a folder, on the GPU that Ray handed to this task."""
    return [job.kiln, "train", str(folder), "--json", "-q", *device_flags(ray.get_gpu_ids())]


def find_program(name: str) -> str | None:
    """The program of that name or path on this node: that of the wheel, which lies beside the interpreter, before others on the path."""
    return shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)


def _run(
    command: list[str],
    reporter: Reporter,
    folder: Path | None = None,
    is_over: Callable[[], bool] | None = None,
    children: list[Child] | None = None,
) -> Ended:
    """Runs a command to its end, which it is asked for as soon as `is_over` says so: the driver by itself."""
    program = find_program(command[0])
    if program is None:
        message = f"error: this node has no program `{command[0]}`; `--kiln PATH` names it"
        return reporter.ended(Cause.EXIT, UNABLE, message)
    child = Child([program, *command[1:]], reporter.row.hear, folder)
    if children is not None:
        children.append(child)
    try:
        while (code := child.wait(LOOK_S)) is None:
            if (is_over or reporter.is_stopped)():
                child.terminate()
    except BaseException:
        # Nobody is left behind when the task itself is ended.
        child.terminate()
        child.wait(LEAVE_S)
        raise
    return reporter.ended(Cause.EXIT, code, child.message())


def wait_until_left(run: Path, is_over: Callable[[], bool]) -> bool:
    """Waits until no process writes to a run folder; one whose worker died is saving still. False when it stays."""
    until = time.monotonic() + LEAVE_S
    while is_written_to(run):
        if time.monotonic() > until or is_over():
            return False
        time.sleep(LOOK_S)
    return True


def is_written_to(run: Path, *, alone: bool = False) -> bool:
    """True while a process of `kiln` holds a folder: that of a run to write, or with `alone` that of a block at all."""
    try:
        # A pipe in its place is not waited for.
        folder = os.open(run, os.O_RDONLY | os.O_DIRECTORY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(folder, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        # A file system without locks shows nothing.
        return False
    finally:
        os.close(folder)
    return False


def default_work() -> str:
    """Where projects from storage are brought to, unless a folder is named."""
    return str(Path(tempfile.gettempdir()) / f"kiln-ray-{os.getuid()}")
