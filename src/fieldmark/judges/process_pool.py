"""A pool of long-lived programs that answer one line per request and are replaced when they die."""

from __future__ import annotations

import queue
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple, Self

from fieldmark.errors import DataError
from fieldmark.judges.managed_process import (
    GroupStopped,
    ManagedProcess,
    ProcessGroup,
    ProcessLimits,
)
from fieldmark.judges.process_pipes import PipeState, ProcessPipes
from fieldmark.judges.redaction import Redactor
from fieldmark.judges.run_process import (
    ProcessFailure,
    ProcessResult,
    failed,
    input_too_large,
    interrupted,
    not_started,
)

__all__ = ["ProcessPool", "WorkerProgram"]

_MAX_SHOWN: Final = 200
_PROTOCOL_HINT: Final = "standard output is for one line a case, remarks go to standard error"


class WorkerProgram(NamedTuple):
    """The program of the workers, its folder, environment and limits."""

    argv: Sequence[str]
    cwd: Path | None
    env: Mapping[str, str]
    limits: ProcessLimits


class _Worker:
    """One running program."""

    def __init__(self, program: WorkerProgram, group: ProcessGroup) -> None:
        self._group = group
        self._limits = program.limits
        self._redactor = Redactor.from_environment(program.env)
        self._process = ManagedProcess(
            program.argv,
            cwd=program.cwd,
            env=program.env,
            limits=program.limits,
            marker=group.new_marker(),
        )
        try:
            self._pipes = ProcessPipes(self._process, program.limits)
        except BaseException:
            self._process.close()
            raise

    @property
    def gone(self) -> bool:
        """Return whether it has exited, or closed its input or output."""
        process = self._process
        return process.exited() or process.stdin.closed or not self._pipes.output_open

    def out_of_step(self) -> ProcessResult | None:
        """Return the failure of a worker that wrote too much or read too little."""
        self._pipes.drain()
        if self._pipes.output:
            words = bytes(self._pipes.output[:_MAX_SHOWN]).decode("utf-8", "replace").split()
            message = f"wrote without being asked: {' '.join(words)}; {_PROTOCOL_HINT}"
            return self._failed(ProcessFailure.OUT_OF_STEP, message)
        if self._pipes.unsent:
            message = "answered before it had read the whole line"
            return self._failed(ProcessFailure.OUT_OF_STEP, message)
        return None

    def ask(self, request: bytes) -> ProcessResult:
        """Send one line and return the line that answers it."""
        self._pipes.send(request + b"\n", last=False)
        deadline = time.monotonic() + self._limits.seconds
        state = self._pipes.wait_for_line(deadline, self._group)
        if state is PipeState.LINE_READ:
            line = self._pipes.take_line()
            return self.out_of_step() or ProcessResult(stdout=line, stderr=self._errors())
        if state is PipeState.EXITED:
            self._process.end()
            self._pipes.drain()
            how = self._process.signal or f"exit code {self._process.exit_code}"
            return self._failed(ProcessFailure.DIED, f"ended ({how}) before it answered")
        if state is PipeState.TIMED_OUT:
            message = f"no line after {self._limits.seconds:g} s"
            hint = "a judge has to answer each line at once"
            return self._failed(ProcessFailure.TIMEOUT, f"{message}; {hint}")
        if state is PipeState.TOO_MUCH_OUTPUT:
            return self._failed(ProcessFailure.OUTPUT_LIMIT, self._limits.output_message)
        return self._failed(ProcessFailure.INTERRUPTED, "the run was interrupted")

    def _failed(self, failure: ProcessFailure, message: str) -> ProcessResult:
        return failed(failure, self._redactor.redact(message), self._errors())

    def _errors(self) -> str:
        return self._redactor.redact(self._pipes.error_tail) if self._pipes.error_bytes else ""

    def close_input(self) -> None:
        """Tell the worker that there are no more requests."""
        self._pipes.send(b"", last=True)

    def close(self, *, graceful: bool = False) -> ProcessResult | None:
        """End the worker, a graceful close after some time to exit by itself.

        Returns the failure of a worker that wrote without being asked.
        """
        try:
            if graceful:
                self._process.wait(self._limits.grace)
            self._process.end()
            return self.out_of_step()
        finally:
            self._process.close()
            self._pipes.close()


class ProcessPool:
    """Up to `size` workers, started on demand; thread-safe.

    A worker that fails is replaced, and a request during which one dies is retried once. After a
    worker was out of step, its lines can no longer be assigned to requests: the pool then returns
    no more answers, and if that is noticed only at the end, leaving the pool is an error.
    """

    def __init__(self, program: WorkerProgram, size: int, group: ProcessGroup) -> None:
        self._program = program
        self._group = group
        self._out_of_step: ProcessResult | None = None
        # None stands for a worker that is not started yet.
        self._idle: queue.LifoQueue[_Worker | None] = queue.LifoQueue(size)
        for _ in range(size):
            self._idle.put(None)

    def ask(self, request: bytes) -> ProcessResult:
        """Return the line that answers a request, or the failure."""
        if len(request) > self._program.limits.input_bytes:
            return input_too_large(request, self._program.limits)
        worker = self._idle.get()
        try:
            with self._group.running():
                worker, result = self._ask_once(worker, request)
                if result.failure is ProcessFailure.DIED:
                    worker, result = self._ask_once(None, request)
                    if result.failure is ProcessFailure.DIED:
                        result = replace(result, reason=f"{result.reason} (the second time)")
        except GroupStopped:
            return interrupted()
        except (OSError, ValueError) as error:
            worker = None
            return not_started(self._program.argv[0], error)
        finally:
            self._idle.put(worker)
        return result

    def _ask_once(
        self, worker: _Worker | None, request: bytes
    ) -> tuple[_Worker | None, ProcessResult]:
        if self._out_of_step is not None:
            return worker, self._out_of_step
        if worker is not None and worker.gone:
            worker.close()
            worker = None
        if worker is None:
            worker = _Worker(self._program, self._group)
        result = worker.out_of_step() or worker.ask(request)
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
            # Threads that still ask get a place, and learn that the run is over.
            self._idle.put(None)
        workers = [worker for worker in idle if worker is not None]
        for worker in workers:
            worker.close_input()
        results = [worker.close(graceful=kind is None) for worker in workers]
        reason = next((result.reason for result in results if result is not None), None)
        if kind is None and reason is not None and self._out_of_step is None:
            name = self._program.argv[0]
            raise DataError(f"the scores of {name} cannot be trusted: {reason}")
