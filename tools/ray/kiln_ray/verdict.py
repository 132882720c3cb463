"""What follows from the end of a command: the exit codes of ``kiln``, and what a cluster does to tasks."""

from __future__ import annotations

import enum
import signal
from collections.abc import Sequence
from dataclasses import dataclass

#: How often a block is started again after interruptions and crashes.
MOST_TRIES = 20
#: How often a block is started on another node after its output could not be written.
MOST_NODES = 2
OUTPUT = 7
DOES_NOT_FIT = 6
#: How often a block of the split is cut in two: quarters, and no smaller.
MOST_CUTS = 2
#: Saved and ended, because somebody asked; 71 is before there was anything to save.
INTERRUPTED = (71, 130, 143)
DEVICE_LOST = 70


class Cause(enum.Enum):
    """Why an attempt ended."""

    #: The command ended; its exit code says how.
    EXIT = "exit"
    #: The worker or its node went away.
    LOST = "lost"
    #: The object storage did not answer, or answered with an error.
    STORAGE = "storage"
    #: Another task holds the block, or took it over.
    LEASE = "lease"


@dataclass(frozen=True)
class Ended:
    """The end of one attempt at a block, or at the merge."""

    cause: Cause
    #: Exit code of the command; negative for a signal.
    code: int | None = None
    #: The last iteration it reported; none before it began.
    iteration: int | None = None
    #: The node it ran on.
    node: str | None = None
    #: What it said.
    message: str = ""

    def is_crash(self) -> bool:
        """True when the command failed in a way that may not come again: its device was lost, or a signal ended it."""
        return self.cause is Cause.EXIT and self.code is not None and (self.code == DEVICE_LOST or self.code < 0)

    def text(self) -> str:
        """In few words, for people."""
        if self.cause is Cause.EXIT and self.code is not None:
            how = f"exit code {self.code}" if self.code >= 0 else f"killed by {signal_name(-self.code)}"
            return f"{how}: {self.message}" if self.message else how
        return self.message or self.cause.value


class Next(enum.Enum):
    """What is done next."""

    DONE = "done"
    #: Again, going on from the newest checkpoint.
    AGAIN = "again"
    #: Again, on a node on which it has not failed.
    ELSEWHERE = "elsewhere"
    #: The block is cut in two, and both halves are trained in its place.
    CUT = "cut"
    #: The project ends.
    STOP = "stop"


@dataclass(frozen=True)
class Verdict:
    """What is done next, and why."""

    next: Next
    reason: str = ""


def signal_name(number: int) -> str:
    """The name of a signal."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def judge(history: Sequence[Ended], cuts: int | None = None) -> Verdict:
    """What follows from all attempts at a block so far, the newest last; there is at least one.

    `cuts` is how often it was cut already; none for what is no block to be cut.
    """
    last = history[-1]
    if last.cause is Cause.EXIT and last.code == 0:
        return Verdict(Next.DONE)
    if last.cause is Cause.EXIT and last.code == DOES_NOT_FIT and cuts is not None:
        fitted = any(end.iteration is not None for end in history)
        if fitted and sum(1 for end in history if end.code == DOES_NOT_FIT) == 1:
            # It trained already: somebody else's memory may be gone by now, and a cut loses what was trained.
            return Verdict(Next.AGAIN, last.text())
        if cuts < MOST_CUTS:
            return Verdict(Next.CUT, last.text())
        return Verdict(Next.STOP, f"was cut in two {cuts} times already, {last.text()}")
    if last.cause is Cause.EXIT and last.code == OUTPUT:
        return _elsewhere(history, last)
    if last.cause is Cause.EXIT and not last.is_crash() and last.code not in INTERRUPTED:
        return Verdict(Next.STOP, last.text())
    if last.is_crash() and any(end.is_crash() and end.iteration == last.iteration for end in history[:-1]):
        where = "before its first step" if last.iteration is None else f"at iteration {last.iteration}"
        return Verdict(Next.STOP, f"failed twice {where}, {last.text()}")
    # Whoever holds the block trains it: that may take as long as it takes.
    tries = sum(1 for end in history if end.code != OUTPUT and end.cause is not Cause.LEASE)
    if tries > MOST_TRIES:
        return Verdict(Next.STOP, f"given up after {MOST_TRIES} more attempts, {last.text()}")
    return Verdict(Next.AGAIN, last.text())


def _elsewhere(history: Sequence[Ended], last: Ended) -> Verdict:
    failed = sum(1 for end in history if end.code == OUTPUT)
    if failed > MOST_NODES:
        return Verdict(Next.STOP, last.text())
    return Verdict(Next.ELSEWHERE, last.text())
