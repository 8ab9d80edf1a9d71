"""How much of the machine a program may use."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from math import ceil
from typing import Final

__all__ = ["LIMITS", "MEGABYTE", "ProcessLimits", "restrict"]

MEGABYTE: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLimits:
    """Bounds of one program; beyond them it is ended, and nothing that it wrote is cut.

    `tail_bytes` of standard error are kept of the `error_bytes` that may be written. `patience`
    are the seconds between asking a program to end and ending it; `linger` the seconds that
    are waited for output of what it left behind. Unless it is `long_lived`, its processor time is
    bounded too: a last resort against a program that got away.
    """

    seconds: float = 30.0
    output_bytes: int = MEGABYTE
    error_bytes: int = 16 * MEGABYTE
    tail_bytes: int = 64 << 10
    input_bytes: int = 16 * MEGABYTE
    patience: float = 2.0
    linger: float = 1.0
    memory_bytes: int | None = None
    long_lived: bool = False
    file_bytes: int = 1024 * MEGABYTE
    open_files: int = 1024

    @property
    def flood(self) -> str:
        """What to say of a program that wrote too much."""
        return (
            f"wrote more than {self.output_bytes:,} bytes to standard output "
            f"or {self.error_bytes:,} to standard error"
        )

    @property
    def processor_seconds(self) -> int | None:
        """The processor time that one process can have used within the limits."""
        if self.long_lived:
            return None
        return ceil(self.seconds + self.patience) * (os.cpu_count() or 1) + 1


LIMITS: Final = ProcessLimits()


def restrict(pid: int, limits: ProcessLimits) -> None:
    """Let the system enforce what it can for a program that has just begun; its children inherit.

    Setting limits from outside needs Linux. In the child itself it would need code between fork
    and exec, which is not safe where there are threads.
    """
    if sys.platform != "linux":
        return
    import resource

    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: limits.processor_seconds,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_NOFILE: limits.open_files,
        resource.RLIMIT_DATA: limits.memory_bytes,
    }
    for kind, most in wanted.items():
        if most is None:
            continue
        try:
            _, hard = resource.prlimit(pid, kind)
            bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.prlimit(pid, kind, (bound, bound))
        except (ProcessLookupError, PermissionError):
            # It has ended already, or has changed its user: there is nothing left to limit.
            return
