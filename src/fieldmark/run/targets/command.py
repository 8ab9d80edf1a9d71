"""Candidates from a program: the request as JSON on its standard input, text on its output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final

from fieldmark.data.json_parser import decode
from fieldmark.errors import DataError, OptionError
from fieldmark.judges.environment import REFERENCE, check_declared, environment
from fieldmark.judges.limits import MEGABYTE, ProcessLimits
from fieldmark.judges.preflight import program_of, unready_program
from fieldmark.judges.process import Failure, Finished, Leash, run_contained
from fieldmark.judges.request import written
from fieldmark.judges.secrecy import Secrets, looks_secret
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.run.targets.asking import Asking, Produced
from fieldmark.run.targets.file_digest import digest_of

__all__ = ["CommandTarget"]

_OUTPUT_BYTES: Final = 16 * MEGABYTE
_COME_AGAIN: Final = 75
"""The exit code by which programs have always said: not now, but perhaps later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandTarget:
    """Runs a program for each case and takes what it prints.

    `command` is the program and its arguments; no shell reads them, and nothing of a case becomes
    part of them. The program sees a few usual variables of the environment and those of `env`:
    names, or names with values, of which `env:NAME` is the value of another variable.
    """

    name: ClassVar[str] = "command"
    command: tuple[str, ...]
    cwd: Path | None = None
    env: Mapping[str, str] | tuple[str, ...] = ()
    config: Mapping[str, JsonValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.command or not self.command[0]:
            raise OptionError("command", "must name a program")
        if any("\0" in word for word in self.command):
            raise OptionError("command", "must not hold the character NUL")
        check_declared(self.env)

    def unready(self) -> str | None:
        """Why the program cannot be started; it is not started to find out."""
        return unready_program(self.command, self.cwd, self.env)

    def identity(self) -> JsonObject:
        """The options without values of variables, and the content of the files they name."""
        here = self.cwd or Path()
        files: JsonObject = {
            word: digest for word in self.command if (digest := digest_of(here / word)) is not None
        }
        return {
            "command": list(self.command),
            "cwd": str(self.cwd or ""),
            "env": dict(self.env) if isinstance(self.env, Mapping) else list(self.env),
            "config": dict(self.config),
            "files": files,
        }

    @contextmanager
    def opened(self, timeout: float) -> Iterator[Asking]:
        """Starts a program for each request; all that still run are ended in the end."""
        given = environment(self.env)
        secrets = Secrets({name: given[name] for name in self._secret_names(given)})
        argv = program_of(self.command, given)
        limits = ProcessLimits(seconds=timeout, output_bytes=_OUTPUT_BYTES)
        config = dict(self.config)
        with Leash() as leash:

            def ask(request: JsonObject) -> Produced:
                finished = run_contained(
                    argv,
                    stdin=written({**request, "config": config}),
                    cwd=self.cwd,
                    env=given,
                    limits=limits,
                    leash=leash,
                )
                return _taken(finished, secrets)

            yield ask

    def _secret_names(self, given: Mapping[str, str]) -> list[str]:
        """The declared variables whose values are not for everybody."""
        written_out = self.env if isinstance(self.env, Mapping) else dict.fromkeys(self.env, "")
        return [
            name
            for name, value in written_out.items()
            if name in given and (value.startswith(REFERENCE) or looks_secret(name, given[name]))
        ]


def _taken(finished: Finished, secrets: Secrets) -> Produced:
    """What a program printed, without the line break at its end, or why it does not count."""
    if finished.failure is not None:
        transient = finished.failure is Failure.TIMEOUT or finished.code == _COME_AGAIN
        return Produced(failure=secrets.hidden(finished.reason), transient=transient)
    try:
        text = decode(finished.stdout)
    except DataError as error:
        return Produced(failure=f"its output cannot be used: {error.message}")
    secret = secrets.found_in(text)
    if secret is not None:
        return Produced(failure=f"its output holds the value of {secret}, which is kept secret")
    return Produced(text=text.removesuffix("\n").removesuffix("\r"))
