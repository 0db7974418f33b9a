"""What the machine offers for computing."""

from __future__ import annotations

import os

import psutil


def physical_cores() -> int:
    """Physical cores this process may use.

    Hyper-threads share the units that decoding waits for, so they are not counted.
    """
    physical = psutil.cpu_count(logical=False) or os.cpu_count() or 1
    try:
        allowed = len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        allowed = physical
    return max(1, min(physical, allowed))
