"""A program in a session of its own, which ends together with everything that it started."""

from __future__ import annotations

import os
import select
import signal as signals
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self, cast

from fieldmark.judges.escapees import MARK, kill_kin, kill_marked, kin_of
from fieldmark.judges.limits import ProcessLimits, restrict

__all__ = ["Contained"]


class Contained:
    """A running program: a context that always ends with all its processes gone.

    Its first process is not reaped before its group has been killed, so that the number of the
    group cannot have come to belong to others.
    """

    __slots__ = ("_ended", "_limits", "_mark", "_process", "_watch")

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path | None,
        env: Mapping[str, str],
        limits: ProcessLimits,
        mark: str,
    ) -> None:
        outer = os.environ.get(MARK, "")
        self._ended = False
        self._limits = limits
        self._mark = mark
        self._watch: int | None = None
        self._process = subprocess.Popen(  # noqa: S603 - what a trusted file names, and no shell
            list(argv),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env={**env, MARK: outer + mark},
            bufsize=0,
            start_new_session=True,
        )
        try:
            restrict(self.pid, limits)
            if sys.platform == "linux":
                self._watch = os.pidfd_open(self.pid)
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """The number of its first process, and of its group."""
        return self._process.pid

    @property
    def watch(self) -> int | None:
        """What becomes readable when the first process ends, where the system has such a thing."""
        return self._watch

    @property
    def stdin(self) -> IO[bytes]:
        """The end to write to."""
        return cast("IO[bytes]", self._process.stdin)

    @property
    def stdout(self) -> IO[bytes]:
        """The end to read its output from."""
        return cast("IO[bytes]", self._process.stdout)

    @property
    def stderr(self) -> IO[bytes]:
        """The end to read its remarks from."""
        return cast("IO[bytes]", self._process.stderr)

    @property
    def code(self) -> int | None:
        """Its exit code, once it has ended by itself."""
        status = self._process.returncode
        return status if status is not None and status >= 0 else None

    @property
    def signal(self) -> str | None:
        """The name of the signal that ended it."""
        status = self._process.returncode
        if status is None or status >= 0:
            return None
        try:
            return signals.Signals(-status).name
        except ValueError:
            return f"signal {-status}"

    def exited(self) -> bool:
        """Whether the first process has ended."""
        if self._process.returncode is not None:
            return True
        if sys.platform == "linux":
            how = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return os.waitid(os.P_PID, self.pid, how) is not None
        else:  # noqa: RET505 - so the type checker leaves out what another system runs
            return self._process.poll() is not None

    def end(self) -> None:
        """Ask the group to end, wait a little, kill it, and kill what left the group."""
        if self._ended:
            return
        kin = [] if self.exited() else kin_of(self.pid)
        try:
            if not self.exited():
                self._signal_group(signals.SIGTERM)
                self.wait(self._limits.patience)
        finally:
            self._signal_group(signals.SIGKILL)
            self._process.wait()
            kill_kin(kin)
            kill_marked(self._mark)
            self._ended = True

    def wait(self, seconds: float) -> None:
        """Wait for the first process to end, but not longer than this."""
        if self._watch is not None:
            waiting = select.poll()
            waiting.register(self._watch, select.POLLIN)
            waiting.poll(seconds * 1000)
            return
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def _signal_group(self, number: signals.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the program and give back all that it took of this process."""
        try:
            self.end()
        finally:
            for pipe in (self.stdin, self.stdout, self.stderr):
                with suppress(OSError):
                    pipe.close()
            if self._watch is not None:
                os.close(self._watch)
                self._watch = None
