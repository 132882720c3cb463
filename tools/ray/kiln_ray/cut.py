"""A block of a project cut in two, where it does not fit the card that was to train it: `kiln split BLOCK` as a task.

In a folder `kiln` does all of it. In storage the halves go up first, then the index lists them in the place of the block, by a
conditional put while the block's lease is held; then the block goes. Whatever is killed in between, the same task ends it.
"""

from __future__ import annotations

import errno
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kiln_ray import project as records
from kiln_ray.project import Project
from kiln_ray.storage import Storage
from kiln_ray.verdict import Cause, Ended

if TYPE_CHECKING:
    from kiln_ray.lease import Lease
    from kiln_ray.task import Job, Reporter

#: The list of names, for shells.
LIST = "blocks.txt"
#: How often a record is read and replaced, and seconds before the second time; longer before each further one.
TRIES = 8
PAUSE_S = 0.1


def tries(storage: Storage, key: str) -> Iterator[None]:
    """Times to read a record and to replace what was read.

    Raises:
        OSError: after the last: others write it all the time, or storage answers with what it was.
    """
    for at in range(TRIES):
        yield
        time.sleep(PAUSE_S * (at + 1))
    raise OSError(errno.EAGAIN, f"{storage.url}/{key} was another than it was read as, {TRIES} times")


def cut(job: Job, name: str, reporter: Reporter) -> Ended:
    """Cuts a block; the end of that."""
    from kiln_ray import task
    from kiln_ray.storage import is_url

    if is_url(job.project):
        return _cut_in_storage(job, name, reporter)
    folder = Path(job.project) / "blocks" / name
    if (folder / records.DONE).exists():
        # Another driver trained it, on a larger card.
        return reporter.ended(Cause.EXIT, 0)
    if not task.wait_until_left(folder / "run", reporter.is_stopped) or task.is_written_to(folder, alone=True):
        return reporter.ended(Cause.LEASE, message=f"another process trains {name}")
    return task.run_unsaved([job.kiln, "split", str(folder)], reporter)


def _cut_in_storage(job: Job, name: str, reporter: Reporter) -> Ended:
    import ray

    from kiln_ray import task, travel
    from kiln_ray.storage import ERRORS

    def work(storage: Storage, lease: Lease) -> Ended:
        # A copy of its own: tasks beside this one bring their blocks with the index as it was when they read it.
        project, node = travel.read_project(storage), ray.get_runtime_context().get_node_id()
        copy = travel.NodeCopy(storage, project, Path(job.work), node, f"cut-{name}")
        if name in copy.project.blocks and not copy.is_done(name):
            copy.forget()
            folder = copy.bring_block(name)
            # As JSON, which is the index alone: other blocks, whose plans it would print, are not on this node.
            ended = task.run_unsaved([job.kiln, "split", ".", "--json"], reporter, folder)
            if ended.code != 0:
                return ended
            index = folder.parent.parent / records.INDEX
            here = Project.read(records.read_file(index), str(index))
            for part in here.parts_of(name):
                copy.save_inputs(part)
            lease.renew()
            replace(storage, name, here, copy.project)
            copy.forget()
        return reporter.ended(Cause.EXIT, 0)

    ended = task.under_lease(job, name, reporter, work)
    if ended.code != 0:
        return ended
    try:
        settle(Storage.at(job.project), name)
    except ERRORS as error:
        return task.storage_failed(reporter, f"cannot clear away {name}", error)
    return ended


def replace(storage: Storage, name: str, after: Project, before: Project) -> None:
    """Lists the parts of a block in its place, in the index as it is by now; other blocks may be cut at the same time."""
    entries = [after.entry(part) for part in after.parts_of(name)]
    if not entries:
        raise records.ProjectError(f"{records.INDEX} lists no parts of {name}, which was cut in two")
    used, was_used = (_views_used(project.record) for project in (after, before))
    for _ in tries(storage, records.INDEX):
        tag = storage.read_tagged(records.INDEX)
        if not tag:
            return
        record: dict[str, Any] = Project.read(tag.text, records.INDEX).record
        names = [block["name"] for block in record["blocks"]]
        if name not in names:
            return
        at = names.index(name)
        record["blocks"][at : at + 1] = entries
        # Nothing is lost to rounding where no other block was cut.
        now = _views_used(record)
        record["views_used"] = used if now == was_used else now + used - was_used
        if storage.replace(records.INDEX, json.dumps(record, indent=2).encode(), tag):
            return


def _views_used(record: dict[str, Any]) -> float:
    used = record.get("views_used")
    if not isinstance(used, int | float):
        raise records.ProjectError(f"{records.INDEX} has no number `views_used`")
    return used


def settle(storage: Storage, name: str) -> None:
    """What follows once the index lists the parts of a block: the list of names, and the block is gone.

    Other blocks may be cut at the same time. The list is replaced as it was before the index was read: whoever comes too late
    reads both again, and the last one has read the index with all parts.
    """
    for _ in tries(storage, LIST):
        tag = storage.read_tagged(LIST)
        text = storage.read(records.INDEX)
        project = text and Project.read(text, records.INDEX)
        if not project or not project.parts_of(name):
            return
        names = "".join(f"{block}\n" for block in project.blocks).encode()
        if storage.replace(LIST, names, tag) if tag else storage.create(LIST, names):
            break
    for key, _ in list(storage.names(f"blocks/{name}")):
        storage.delete(key)
