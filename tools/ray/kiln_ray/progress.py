"""How far the blocks are: what tasks report, `progress.json`, lines for the terminal."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from typing import Any, TextIO

STATES = ("waiting", "running", "done", "failed")


@dataclass
class Row:
    """A block and how far it is."""

    name: str
    #: One of `STATES`.
    state: str = "waiting"
    #: Iterations done.
    iteration: int | None = None
    #: Iterations of its run; none before it began.
    iterations: int | None = None
    #: Iterations per second, while it runs.
    its: float | None = None
    #: Gaussians of its model, as far as it is.
    gaussians: int | None = None
    #: How often it was started.
    attempts: int = 0
    #: The node it runs on.
    node: str | None = None
    #: Why it was started again, or failed.
    message: str | None = None

    @property
    def eta_s(self) -> float | None:
        """Seconds that are left at its rate."""
        if self.state != "running" or not self.its or self.iteration is None or self.iterations is None:
            return None
        return (self.iterations - self.iteration) / self.its

    def hear(self, event: Mapping[str, Any]) -> None:
        """Takes what an event of `kiln train --json` says."""
        kind = event.get("type")
        if kind == "start":
            self.iteration, self.iterations = event.get("from"), event.get("iterations")
        elif kind == "train":
            self.iteration = event.get("it")
            self.its, self.gaussians = event.get("its"), event.get("gaussians")
        elif kind == "end":
            self.iteration = event.get("iterations")

    def text(self) -> str:
        """A line for people."""
        parts = []
        if self.iterations:
            parts.append(f"{self.iteration} of {self.iterations}")
        if self.state == "running" and self.its:
            parts.append(f"{self.its:.3g} it/s")
        if self.eta_s is not None:
            parts.append(f"{self.eta_s / 60:.0f} min left")
        if self.attempts > 1:
            parts.append(f"attempt {self.attempts}")
        if self.message:
            parts.append(self.message.splitlines()[0])
        return f"{self.name}  {self.state:<8} {', '.join(parts)}".rstrip()


class Board:
    """Reports of running tasks and orders to them. It lives in one Ray actor."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, Any]] = {}
        self._stop = False

    def tell(self, name: str, row: dict[str, Any]) -> bool:
        """Takes a task's row; true when the task is to save and end."""
        self._rows[name] = row
        return self._stop

    def stop(self) -> None:
        """Every task is to save and end."""
        self._stop = True

    def rows(self) -> dict[str, dict[str, Any]]:
        """The newest row of each task that has one."""
        return self._rows


def record(rows: Iterable[Row], merged: str | None) -> dict[str, Any]:
    """The content of `progress.json`."""
    blocks = [{**asdict(row), "eta_s": row.eta_s} for row in rows]
    count = {state: sum(1 for row in blocks if row["state"] == state) for state in STATES}
    updated = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return {"version": 1, "updated": updated, **count, "merged": merged, "blocks": blocks}


class Screen:
    """Lines on a terminal, where running blocks are redrawn in place; in a log a line for each change of a state."""

    def __init__(self, out: TextIO = sys.stderr) -> None:
        self._out = out
        self._drawn = 0
        self._said: dict[str, tuple[str, str | None]] = {}

    def show(self, rows: list[Row]) -> None:
        """Shows how far the blocks are."""
        changed = [row for row in rows if self._said.get(row.name, ("waiting", None)) != (row.state, row.message)]
        self._said.update({row.name: (row.state, row.message) for row in rows})
        if not self._out.isatty():
            for row in changed:
                self._out.write(row.text() + "\n")
            self._out.flush()
            return
        done = sum(1 for row in rows if row.state == "done")
        lines = [row.text() for row in changed if row.state in ("done", "failed")]
        live = [row.text() for row in rows if row.state == "running"]
        live.append(f"{done} of {len(rows)} blocks done")
        width = shutil.get_terminal_size().columns - 1
        up = f"\x1b[{self._drawn}A" if self._drawn else ""
        self._out.write(up + "".join(f"\x1b[2K{line[:width]}\n" for line in [*lines, *live]) + "\x1b[J")
        self._out.flush()
        self._drawn = len(live)

    def say(self, text: str) -> None:
        """A line that stays."""
        self._out.write(f"{text}\n")
        self._out.flush()
        self._drawn = 0
