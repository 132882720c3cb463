"""The GPU that Ray hands to a task, in the spelling that `kiln --device` takes.

Ray hands out GPUs by `CUDA_VISIBLE_DEVICES`, which drivers of Vulkan do not read; the uuid is the same for both.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence


class NoDevice(Exception):
    """The card of a task cannot be named."""


def uuid_of(gpu: str | int) -> str:
    """The uuid of a GPU that Ray names by its index, or by its uuid already.

    Raises:
        NoDevice: when `nvidia-smi` is not there, fails, or does not list the index.
    """
    name = str(gpu)
    if name.startswith(("GPU-", "MIG-")):
        return name
    command = ["nvidia-smi", "--query-gpu=index,uuid", "--format=csv,noheader"]
    try:
        asked = subprocess.run(command, check=True, capture_output=True, timeout=60)
        listed = asked.stdout.decode("utf-8", "replace")
    except (OSError, subprocess.SubprocessError) as error:
        raise NoDevice(
            f"cannot find which card GPU {name} of Ray is: `{' '.join(command)}` failed ({error}); "
            "`--gpus-per-task 0` leaves the choice to kiln"
        ) from error
    lines = listed.splitlines()
    for line in lines:
        index, _, uuid = (part.strip() for part in line.partition(","))
        if index == name:
            return uuid
    raise NoDevice(f"nvidia-smi lists no GPU {name}, but {'; '.join(lines) or 'none at all'}")


def device_flags(gpus: Sequence[str | int]) -> list[str]:
    """Arguments for `kiln` that choose the first of the GPUs a task got; none without one."""
    return ["--device", uuid_of(gpus[0])] if gpus else []
