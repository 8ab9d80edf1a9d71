"""A pool of long-lived programs that respond to one line per request and are restarted on exit."""

from __future__ import annotations

import queue
import time
from dataclasses import replace
from typing import Final, Self

from fieldmark.errors import DataError
from fieldmark.judges.managed_process import (
    ManagedProcess,
    ProcessError,
    ProcessFailure,
    ProcessGroup,
    ProcessResult,
    check_input,
)
from fieldmark.judges.program import Program

_MAX_SHOWN: Final = 200


class _Worker(ManagedProcess):
    """One running program."""

    @property
    def gone(self) -> bool:
        """Return whether it has exited, or closed its input or output."""
        return self._tree.exited() or self._stdin.closed or not self._is_open(self._stdout)

    def request(self, request: bytes) -> ProcessResult:
        """Send one line and return the response line, or the failure."""
        try:
            self._check_in_step()
            self.send(request + b"\n", last=False)
            line = self._read_line(time.monotonic() + self._limits.seconds)
            self._check_in_step()
        except ProcessError as error:
            return self.result(error)
        return self.result(stdout=line)

    def _read_line(self, deadline: float) -> bytes:
        """Wait for a complete line of output and return it."""
        overdue = (
            f"no response within {self._limits.seconds:g} s; "
            "a judge must respond to each line immediately"
        )
        seen = 0
        while self._output.find(b"\n", seen) < 0:
            seen = len(self._output)
            if not self._is_open(self._stdout):
                raise self._died()
            if not self._is_watched(self._exit_fd) and self._tree.exited():
                # More output can only come from a process that outlived the program.
                self._drain(wait=True)
                if len(self._output) == seen:
                    raise self._died()
            self._check_limits(deadline, overdue)
            self._step(deadline)
        if self._too_much_output:
            raise self._output_error()
        line, newline, self._output = self._output.partition(b"\n")
        return bytes(line + newline)

    def _died(self) -> ProcessError:
        self.end()
        how = f"exited with code {self.exit_code}"
        if self.signal:
            how = f"terminated by {self.signal}"
        return ProcessError(ProcessFailure.DIED, f"{how} before it responded")

    def _check_in_step(self) -> None:
        """Raise ProcessError for unrequested output or an unread request."""
        self._drain()
        if self._output:
            words = bytes(self._output[:_MAX_SHOWN]).decode("utf-8", "replace").split()
            message = (
                f"unrequested output: {' '.join(words)}; "
                "write one line per case to standard output, and diagnostics to standard error"
            )
            raise ProcessError(ProcessFailure.OUT_OF_STEP, message)
        if self._unsent:
            message = "responded before it had read the whole request"
            raise ProcessError(ProcessFailure.OUT_OF_STEP, message)

    def finish(self, *, graceful: bool) -> ProcessResult | None:
        """End the worker after its last request; a graceful end gives it time to exit by itself.

        Returns the failure of a worker that wrote unrequested output.
        """
        with self:
            if graceful:
                self._tree.wait(self._limits.grace)
            self.end()
            try:
                self._check_in_step()
            except ProcessError as error:
                return self.result(error)
        return None


class ProcessPool:
    """Up to `size` workers, started on demand; thread-safe.

    A worker that fails is replaced, and a request is retried once if the worker exits. After
    unrequested output, lines can no longer be assigned to requests: the pool then returns no more
    responses, and if that is detected only at the end, leaving the context raises an error.
    """

    def __init__(self, program: Program, size: int, group: ProcessGroup) -> None:
        self._program = program
        self._group = group
        self._out_of_step: ProcessResult | None = None
        # None stands for a worker that has not been started yet.
        self._idle: queue.LifoQueue[_Worker | None] = queue.LifoQueue(size)
        for _ in range(size):
            self._idle.put(None)

    def request(self, request: bytes) -> ProcessResult:
        """Return the response line for a request, or the failure."""
        worker = self._idle.get()
        try:
            check_input(request, self._program.limits)
            with self._group.running():
                worker, result = self._request_once(worker, request)
                if result.failure is ProcessFailure.DIED:
                    worker, result = self._request_once(None, request)
                    if result.failure is ProcessFailure.DIED:
                        result = replace(result, reason=f"{result.reason} (2 attempts)")
        except ProcessError as error:
            return ProcessResult.not_run(self._program, error)
        except (OSError, ValueError) as error:
            worker = None
            return ProcessResult.not_run(self._program, error)
        finally:
            self._idle.put(worker)
        return result

    def _request_once(
        self, worker: _Worker | None, request: bytes
    ) -> tuple[_Worker | None, ProcessResult]:
        if self._out_of_step is not None:
            return worker, self._out_of_step
        if worker is not None and worker.gone:
            worker.close()
            worker = None
        if worker is None:
            worker = _Worker(self._program, self._group)
        result = worker.request(request)
        if result.failure is None:
            return worker, result
        if result.failure is ProcessFailure.OUT_OF_STEP:
            self._out_of_step = result
        worker.close()
        return None, result

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self._group.stop()
        idle = [self._idle.get() for _ in range(self._idle.maxsize)]
        for _ in idle:
            # Threads that are still waiting for a worker find out that the run is over.
            self._idle.put(None)
        workers = [worker for worker in idle if worker is not None]
        for worker in workers:
            worker.send(b"", last=True)
        results = [worker.finish(graceful=kind is None) for worker in workers]
        reason = next((result.reason for result in results if result is not None), None)
        if kind is None and reason is not None and self._out_of_step is None:
            name = self._program.argv[0]
            raise DataError(f"the scores of {name} cannot be trusted: {reason}")
