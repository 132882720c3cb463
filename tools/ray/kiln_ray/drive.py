"""The driver: every block until it is done, then the merge and what is asked for of it; attempts judged by how they ended."""

from __future__ import annotations

import json
import time
import uuid
from collections import defaultdict
from pathlib import Path
from typing import Any

from kiln_ray import project as records
from kiln_ray.cluster import Cluster
from kiln_ray.metrics import Meter
from kiln_ray.progress import Row, Screen, record
from kiln_ray.project import Project, ProjectError, cuts_of
from kiln_ray.storage import ERRORS, Storage, is_url
from kiln_ray.task import CUT
from kiln_ray.verdict import Cause, Ended, Next, judge

#: Seconds between two looks at the cluster, and between two writes of `progress.json`.
LOOK_S = 0.5
TELL_S = 5.0
#: Seconds before a second attempt; twice as many before each further one, up to the most.
PAUSE_S = 1.0
MOST_PAUSE_S = 60.0
#: Exit codes: of a block that failed without one of its own, and of the driver when it is interrupted.
FAILED = 1
INTERRUPTED = 130
MERGE = "merge"
EVALUATION = "evaluation"


class Place:
    """Where a project lies: a folder or a prefix in storage."""

    def __init__(self, at: str) -> None:
        self.at = at
        self._storage = Storage.at(at) if is_url(at) else None

    def read(self, key: str) -> bytes | None:
        """A record, none when there is none."""
        if self._storage:
            return self._storage.read(key)
        try:
            return records.read_file(Path(self.at) / key)
        except FileNotFoundError:
            return None

    def write(self, key: str, text: bytes) -> None:
        """Writes a record, which appears whole."""
        if self._storage:
            self._storage.write(key, text)
            return
        path = Path(self.at) / key
        part = path.with_name(f".{path.name}.{uuid.uuid4().hex[:16]}.part")
        try:
            with open(part, "xb") as file:
                file.write(text)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)

    def project(self) -> Project:
        """The index of the project.

        Raises:
            ProjectError: when there is none.
        """
        text = self.read(records.INDEX)
        if text is None:
            hint = "`kiln-ray push PROJECT URL` brings one there" if self._storage else "`kiln split` makes one"
            raise ProjectError(f"{self.at} holds no project; {hint}")
        return Project.read(text, f"{self.at}/{records.INDEX}")

    def in_order(self, project: Project) -> list[str]:
        """Names of the blocks as they are begun.

        In a folder those of the most views come first, for they take longest, and a long block that begins last keeps the other
        cards waiting. In storage the order is that of the project, in which neighbours follow each other: they share photos,
        which nodes keep.
        """
        if self._storage:
            return project.blocks
        views = {name: self._views(project, name) for name in project.blocks}
        return sorted(project.blocks, key=lambda name: -views[name])

    def _views(self, project: Project, name: str) -> int:
        try:
            return project.views(self.read(f"blocks/{name}/{records.BLOCK}"))
        except (ProjectError, OSError):
            # `kiln` says what is wrong with it when the block begins.
            return 0

    def is_done(self, project: Project, name: str) -> bool:
        """True when a block is trained. A folder's `done.json` is looked at by `kiln`, which checks more."""
        return bool(self._storage) and project.is_done(name, self.read(f"blocks/{name}/{records.DONE}"))


class Drive:
    """A project on its way through a cluster."""

    def __init__(
        self, place: Place, cluster: Cluster, screen: Screen, meter: Meter, evaluates: bool = False
    ) -> None:
        self._place = place
        #: The merged model is evaluated.
        self._evaluates = evaluates
        self._cluster = cluster
        self._screen = screen
        self._meter = meter
        self._project = place.project()
        self._rows = {name: Row(name) for name in self._project.blocks}
        #: Ends of attempts at blocks, at cutting them, at the merge and the evaluation.
        self._history: defaultdict[str, list[Ended]] = defaultdict(list)
        self._running: dict[Any, str] = {}
        #: Attempts that wait: when, and on which node.
        self._paused: dict[str, tuple[float, str | None]] = {}
        self._merged: str | None = None
        self._told = 0.0
        #: Set from a signal handler: everything saves and ends.
        self.interrupted = False
        self._stopping = False
        self._code = 0

    def run(self) -> int:
        """Trains and merges; the exit code of the command."""
        for name in self._place.in_order(self._project):
            self._begin(name)
        self._work()
        if self._code == 0 and not self.interrupted:
            self._start(MERGE, None)
            self._work()
        if self._merged and self._evaluates and self._code == 0 and not self.interrupted:
            self._start(EVALUATION, None)
            self._work()
        self._tell(now=True)
        if self._code == 0 and self.interrupted:
            self._screen.say("interrupted; the same command goes on")
            return INTERRUPTED
        return self._code

    def merged(self) -> str | None:
        """Where the merged model is."""
        return self._merged

    def _begin(self, name: str) -> None:
        """Starts a block that is not trained already."""
        try:
            is_done = self._place.is_done(self._project, name)
        except (ProjectError, *ERRORS):
            # The task looks again.
            is_done = False
        if is_done:
            self._rows[name].state = "done"
        else:
            self._start(name, None)

    def _start(self, name: str, node: str | None) -> None:
        attempt = len(self._history[name]) + 1
        if name == MERGE:
            handle = self._cluster.merge(attempt, node)
        elif name == EVALUATION:
            handle = self._cluster.evaluate(attempt, node)
        elif name.startswith(CUT):
            handle = self._cluster.cut(name.removeprefix(CUT), attempt, node)
        else:
            self._rows[name].attempts = attempt
            handle = self._cluster.train(name, attempt, node)
        self._running[handle] = name

    def _work(self) -> None:
        """Until nothing runs and nothing waits."""
        while self._running or self._paused:
            if self.interrupted and not self._stopping:
                self._stop()
            for name, (when, node) in list(self._paused.items()):
                # One cut at a time: each writes the index, and not every shared file system has locks between nodes.
                is_held = name.startswith(CUT) and any(other.startswith(CUT) for other in self._running.values())
                if time.monotonic() >= when and not is_held:
                    del self._paused[name]
                    self._start(name, node)
            ready = self._cluster.wait(self._running, LOOK_S)
            if not self._running:
                time.sleep(LOOK_S)
            told = self._cluster.rows() if ready else {}
            for handle in ready:
                name = self._running.pop(handle)
                heard = self._heard(name, told)
                self._take(name, self._cluster.result(handle, heard))
            self._tell(now=False)

    def _heard(self, name: str, told: dict[str, dict[str, Any]]) -> dict[str, Any] | None:
        """The last report of the attempt that runs, which becomes the block's row."""
        found, row = told.get(name), self._rows.get(name)
        if found is None or found["attempts"] != len(self._history[name]) + 1:
            return None
        if row:
            self._rows[name] = Row(**{**found, "message": row.message})
        return found

    def _take(self, name: str, ended: Ended) -> None:
        """Judges the end of an attempt."""
        history = self._history[name]
        history.append(ended)
        block = name.removeprefix(CUT)
        if block not in (MERGE, EVALUATION) and block not in self._rows:
            # It was cut in two meanwhile.
            return
        row = self._rows.get(block, Row(block))
        if ended.iteration is not None:
            row.iteration = ended.iteration
        verdict = judge(history, cuts_of(name) if name in self._rows else None)
        if name.startswith(CUT) and verdict.next is Next.DONE:
            self._adopt()
            if block not in self._rows:
                self._meter.cut()
            elif not self._stopping:
                # Another driver was faster, and trained it; or the index could not be read.
                self._paused[block] = (time.monotonic() + PAUSE_S, None)
            return
        if verdict.next is Next.DONE:
            row.state, row.message, row.its = "done", None, None
            if name == MERGE:
                self._merged = ended.message
            return
        row.state, row.message = "waiting", verdict.reason
        if self._stopping and verdict.next is not Next.STOP:
            return
        if block in self._rows and not self._stopping:
            # Another driver may have cut it in two.
            self._adopt()
            if block not in self._rows:
                if name.startswith(CUT):
                    # It was lost after the index listed the halves: once more, for what follows from that.
                    self._meter.cut()
                    self._start(name, None)
                return
        if verdict.next is Next.CUT:
            self._screen.say(f"{name} is cut in two, {verdict.reason}")
            self._paused[f"{CUT}{name}"] = (time.monotonic(), None)
            return
        node = None
        if verdict.next is Next.ELSEWHERE:
            node = self._cluster.another_node({end.node for end in history if end.code == ended.code})
        if verdict.next is Next.STOP or (verdict.next is Next.ELSEWHERE and node is None):
            row.state = "failed"
            self._code = self._code or _exit_code(ended)
            self._screen.say(f"{name} ends the project, {verdict.reason}")
            self._stop()
            return
        self._meter.retry()
        pause = min(MOST_PAUSE_S, PAUSE_S * 2 ** min(len(history) - 1, 10))
        self._paused[name] = (time.monotonic() + pause, node)

    def _adopt(self) -> None:
        """Takes the parts of blocks that were cut in two in the place of the blocks, whoever cut them."""
        try:
            self._project = self._place.project()
        except (ProjectError, *ERRORS) as error:
            self._screen.say(f"warning: {records.INDEX} cannot be read: {error}")
            return
        before = self._rows
        self._rows = {name: before.get(name) or Row(name) for name in self._project.blocks}
        for name in [name for name in self._paused if name.removeprefix(CUT) in before.keys() - self._rows.keys()]:
            del self._paused[name]
        if not self._stopping:
            for name in sorted(self._rows.keys() - before.keys()):
                self._begin(name)

    def _stop(self) -> None:
        """Has everything that runs save and end."""
        if self._stopping:
            return
        self._stopping = True
        self._paused.clear()
        if self._running:
            self._screen.say("running blocks save and end")
        self._cluster.stop()
        heard = self._cluster.rows()
        for handle, name in self._running.items():
            # Those that wait for a place would wait for it before they end.
            if heard.get(name, {}).get("attempts") != len(self._history[name]) + 1:
                self._cluster.take_back(handle)

    def _tell(self, now: bool) -> None:
        if not now and time.monotonic() < self._told + TELL_S:
            return
        self._told = time.monotonic()
        heard = self._cluster.rows()
        for name in self._running.values():
            self._heard(name, heard)
        rows = list(self._rows.values())
        self._screen.show(rows)
        self._meter.show(rows)
        try:
            self._place.write(records.PROGRESS, json.dumps(record(rows, self._merged), indent=1).encode())
        except ERRORS as error:
            # Losing a line of information is no reason to stop.
            self._screen.say(f"warning: cannot write {records.PROGRESS}: {error}")


def _exit_code(ended: Ended) -> int:
    if ended.cause is Cause.EXIT and ended.code and ended.code > 0:
        return ended.code
    return FAILED
