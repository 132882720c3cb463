"""A `kiln` command as a child process: its events, its last words, its end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kiln_ray import hold

#: Lines of standard error that are kept.
LAST_LINES = 60
#: Exit code of a program that could not be started.
NOT_STARTED = 127


class Child:
    """A running command.

    It gets SIGTERM when the thread that started it dies, so that a run saves what it has; Ray runs tasks in the main
    thread of their worker. `on_event` is called with every JSON object on its standard output, from another thread.
    """

    def __init__(
        self,
        command: Sequence[str],
        on_event: Callable[[Mapping[str, Any]], None],
        folder: Path | None = None,
    ) -> None:
        holder = [sys.executable, "-I", str(Path(hold.__file__)), str(os.getpid())]
        self._on_event = on_event
        self._last: deque[str] = deque(maxlen=LAST_LINES)
        self._asked = False
        self._process = subprocess.Popen(
            [*holder, *command],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # What kiln writes is UTF-8, whatever the locale of the node says.
            encoding="utf-8",
            errors="replace",
            # Ctrl-C in a terminal is for the driver, which ends its children itself.
            start_new_session=True,
        )
        streams = [(self._read_events, self._process.stdout), (self._read_words, self._process.stderr)]
        self._readers = [threading.Thread(target=read, args=[stream], daemon=True) for read, stream in streams]
        for reader in self._readers:
            reader.start()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def _read_events(self, stream: Iterable[str]) -> None:
        for line in stream:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict):
                self._on_event(event)

    def _read_words(self, stream: Iterable[str]) -> None:
        for line in stream:
            self._last.append(line.rstrip())

    def wait(self, seconds: float) -> int | None:
        """Its exit code, negative for a signal, when it ends within so many seconds."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        for reader in self._readers:
            reader.join(5.0)
        return code

    def terminate(self) -> None:
        """Asks it to save and to end, once: a second signal would end it without saving."""
        if not self._asked and self._process.poll() is None:
            self._asked = True
            self._process.send_signal(signal.SIGTERM)

    def message(self) -> str:
        """What it said of its end: from its last `error:` on, or else its last line."""
        lines = list(self._last)
        for at in range(len(lines) - 1, -1, -1):
            if lines[at].startswith("error:"):
                return "\n".join(lines[at:])
        return lines[-1] if lines else ""
