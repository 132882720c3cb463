"""Starts a program that is asked to end when the process that started it dies.

Run by its path: `python hold.py PARENT PROGRAM [ARGUMENT...]`. The program takes this process's place, so its id, its
streams and its exit code are those of the child that was started. Linux only; elsewhere the program just starts.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Asks the kernel for SIGTERM at the parent's death, then becomes the program."""
    parent, program = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM))
        # The parent may have died before the kernel was asked.
        if os.getppid() != parent:
            sys.exit(128 + signal.SIGTERM)
    try:
        os.execvp(program[0], program)
    except OSError as error:
        sys.stderr.write(f"error: cannot start {program[0]}: {error.strerror}\n")
        sys.exit(127)


if __name__ == "__main__":
    main()
