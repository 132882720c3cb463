"""A place at which one process stops, for whoever waits for that to kill it there, or to have it go on later.

`KILN_RAY_FAULT` names a file whose text is a pattern of places. The first process that comes to one that matches takes the file away,
writes its id and the place into `FILE.reached`, and stops.
"""

from __future__ import annotations

import fnmatch
import os
import signal

VARIABLE = "KILN_RAY_FAULT"


def place(name: str) -> None:
    """Stops here, if this is the place."""
    file = os.environ.get(VARIABLE)
    if not file:
        return
    try:
        with open(file, encoding="utf-8") as text:
            pattern = text.read()
        if not fnmatch.fnmatchcase(name, pattern):
            return
        os.rename(file, f"{file}.{os.getpid()}")
    except OSError:
        # There is none, or another process was faster.
        return
    part = f"{file}.{os.getpid()}.part"
    with open(part, "w", encoding="utf-8") as text:
        text.write(f"{os.getpid()} {name}")
    os.rename(part, f"{file}.reached")
    os.kill(os.getpid(), signal.SIGSTOP)
