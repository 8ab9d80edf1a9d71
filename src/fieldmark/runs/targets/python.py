"""The Python target: a function that receives a request and returns the prediction."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import ClassVar, Final, cast

from fieldmark.data.json_parser import JsonDialect, Role
from fieldmark.data.json_rows import to_json_value
from fieldmark.errors import DataError, OptionError
from fieldmark.judges.redaction import Redactor
from fieldmark.judges.retry import OverdueError, TimeLimit
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.python_function import REFERENCE, REFERENCE_FORM, load_attribute, search_path
from fieldmark.runs.targets.target import TargetCall, TargetResponse, file_digest
from fieldmark.values.strategy_options import check_options

_CANCEL_DELAY: Final = 0.05
"""Seconds between the time limit and the cancellation of a coroutine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonTarget:
    """Calls a function with each case; it returns a JSON value, or a string with model output.

    `function` is `module:function`, which is imported from `cwd` first, or `file.py:function`. It
    is called from several threads and may be a coroutine function. A call that exceeds its time
    limit is abandoned and not retried, because it cannot be stopped.
    """

    name: ClassVar[str] = "python"
    function: str
    cwd: Path | None = None
    config: Mapping[str, JsonValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_options(self)
        if not REFERENCE.match(self.function):
            raise OptionError("function", REFERENCE_FORM)

    @property
    def label(self) -> str:
        """The name of the target, unless it is given another one."""
        return self.function

    def unready(self) -> str | None:
        """Import the module, and return why the function cannot be called."""
        try:
            with search_path(self.function, self.cwd):
                self._load()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a module may raise anything
            return _describe_error(f"cannot load {self.function}", error)
        return None

    def identity(self) -> JsonObject:
        """Return the options and the digest of the file that defines the function."""
        with search_path(self.function, self.cwd):
            file = getattr(self._load()[0], "__file__", None)
        return {
            "function": self.function,
            "cwd": str(self.cwd or ""),
            "config": dict(self.config),
            "sha256": file_digest(Path(file)) if file else None,
        }

    @contextmanager
    def opened(self, timeout: float) -> Iterator[TargetCall]:
        """Load the function, and keep its directory on the import path while it is used."""
        limit = TimeLimit(timeout)
        config = dict(self.config)
        with search_path(self.function, self.cwd):
            _, function = self._load()
            yield lambda request: _call(function, {**request, "config": config}, limit)

    def _load(self) -> tuple[ModuleType, Callable[[JsonObject], object]]:
        module, function = load_attribute(self.function, self.cwd or Path())
        if not callable(function):
            raise TypeError(f"{self.function.rpartition(':')[2]} is not callable")
        return module, function


def _call(
    function: Callable[[JsonObject], object], request: JsonObject, limit: TimeLimit
) -> TargetResponse:
    dialect = JsonDialect(role=Role.CANDIDATE)
    try:
        # Pass a copy, because the function may modify it.
        argument = cast("JsonObject", to_json_value(request, dialect))

        def run() -> object:
            result = function(argument)
            if inspect.isawaitable(result):
                return asyncio.run(_await_within(result, limit.seconds))
            return result

        result = limit.call(run)
        if isinstance(result, str):
            return TargetResponse(text=str.__str__(result))
        return TargetResponse(value=to_json_value(result, dialect))
    except OverdueError as error:
        return TargetResponse(failure=str(error))
    except DataError as error:
        return TargetResponse(failure=f"invalid return value: {error.message}")
    except BaseException as error:  # noqa: BLE001 - a function may raise anything
        return TargetResponse(
            failure=_describe_error("the function raised", error),
            transient=isinstance(error, ConnectionError | TimeoutError),
        )


async def _await_within(result: Awaitable[object], seconds: float) -> object:
    """Await a result; on a busy machine, the caller may learn of the cancellation first."""
    limit = asyncio.timeout(seconds + _CANCEL_DELAY)
    try:
        async with limit:
            return await result
    except TimeoutError:
        if limit.expired():
            raise OverdueError(f"no response within {seconds:g} s") from None
        raise


def _describe_error(what: str, error: BaseException) -> str:
    message = Redactor.from_environment(os.environ).redact(str(error))
    return f"{what}: {type(error).__name__}{': ' if message else ''}{message}"
