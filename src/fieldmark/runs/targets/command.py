"""The command target: a program that reads a request as JSON and prints the candidate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Annotated, ClassVar, Final

from fieldmark.data.json_parser import decode
from fieldmark.errors import DataError
from fieldmark.judges.judge_protocol import encode_request
from fieldmark.judges.managed_process import (
    ProcessFailure,
    ProcessGroup,
    ProcessResult,
    run_process,
)
from fieldmark.judges.program import (
    MEGABYTE,
    VARIABLE_PREFIX,
    ProcessLimits,
    Program,
    check_environment,
    startup_problem,
)
from fieldmark.judges.redaction import Redactor, is_secret_variable
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.runs.targets.target import TargetCall, TargetResponse, file_digest
from fieldmark.values.annotations import CommandLine
from fieldmark.values.strategy_options import check_options

_OUTPUT_BYTES: Final = 16 * MEGABYTE
_TEMPORARY_FAILURE: Final = 75
"""The exit code EX_TEMPFAIL of sysexits.h."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandTarget:
    """Runs a program for each case; its output is the prediction.

    `command` is the program and its arguments, which are not passed to a shell and never contain
    data of a case. The program receives a few standard environment variables and the variables in
    `env`: names, or names with values, where `env:NAME` refers to another variable.
    """

    name: ClassVar[str] = "command"
    command: Annotated[tuple[str, ...], CommandLine()]
    cwd: Path | None = None
    env: Mapping[str, str] | tuple[str, ...] = ()
    config: Mapping[str, JsonValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_options(self)
        check_environment(self.env)

    @property
    def label(self) -> str:
        """The name of the target, unless it is given another one."""
        # Arguments may contain anything, and the name is saved with the run.
        words = takewhile(lambda word: not word.startswith("-"), self.command[:2])
        return " ".join(words)

    def unready(self) -> str | None:
        """Return why the program cannot be started, without starting it."""
        return startup_problem(self.command, self.cwd, self.env)

    def identity(self) -> JsonObject:
        """Return the options without values of variables, and digests of the files they name."""
        here = self.cwd or Path()
        files: JsonObject = {
            word: digest
            for word in self.command
            if (digest := file_digest(here / word)) is not None
        }
        return {
            "command": list(self.command),
            "cwd": str(self.cwd or ""),
            "env": dict(self.env) if isinstance(self.env, Mapping) else list(self.env),
            "config": dict(self.config),
            "files": files,
        }

    @contextmanager
    def opened(self, timeout: float) -> Iterator[TargetCall]:
        """Start the program for each request; leaving the context ends all that are running."""
        limits = ProcessLimits(seconds=timeout, output_bytes=_OUTPUT_BYTES)
        program = Program.from_options(self.command, self.env, self.cwd, limits)
        env = program.env
        declared = self.env if isinstance(self.env, Mapping) else dict.fromkeys(self.env, "")
        redactor = Redactor(
            {
                name: env[name]
                for name, value in declared.items()
                if name in env
                and (value.startswith(VARIABLE_PREFIX) or is_secret_variable(name, env[name]))
            }
        )
        config = dict(self.config)
        with ProcessGroup() as group:

            def call(request: JsonObject) -> TargetResponse:
                stdin = encode_request({**request, "config": config})
                return _read_result(run_process(program, stdin, group), redactor)

            yield call


def _read_result(result: ProcessResult, redactor: Redactor) -> TargetResponse:
    """Return the output of a program without its final newline, or the failure."""
    if result.failure is not None:
        timed_out = result.failure is ProcessFailure.TIMEOUT
        transient = timed_out or result.exit_code == _TEMPORARY_FAILURE
        return TargetResponse(failure=redactor.redact(result.reason), transient=transient)
    try:
        text = decode(result.stdout)
    except DataError as error:
        return TargetResponse(failure=f"invalid output: {error.message}")
    secret = redactor.find_in(text)
    if secret is not None:
        message = f"the output contains the secret value of {secret}"
        return TargetResponse(failure=message)
    return TargetResponse(text=text.removesuffix("\n").removesuffix("\r"))
