"""Candidates from a function of Python."""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import ClassVar, Final, cast

from fieldmark.data.inputs import Role
from fieldmark.data.json_documents import to_json_value
from fieldmark.data.json_parser import JsonDialect
from fieldmark.errors import DataError, OptionError
from fieldmark.judges.secrecy import Secrets
from fieldmark.judges.time_limit import OverdueError, TimeLimit
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.run.targets.asking import Asking, Produced
from fieldmark.run.targets.file_digest import digest_of

__all__ = ["PythonTarget"]

_FUNCTION: Final = re.compile(r"(?P<home>.+\.py|[\w.]+):(?P<attribute>[^\W\d]\w*(?:\.\w+)*)\Z")
_CANCELLED_AFTER: Final = 0.05
"""A coroutine is cancelled this much after nobody waits for it any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonTarget:
    """Calls a function with each case; it returns a JSON value, or the text that a model wrote.

    `function` is `module:function`, looked for in `cwd` first, or `file.py:function`. It is called
    from several threads at once and may be a coroutine function. A call beyond its time limit is
    not waited for; it cannot be stopped, and is not made a second time.
    """

    name: ClassVar[str] = "python"
    function: str
    cwd: Path | None = None
    config: Mapping[str, JsonValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not _FUNCTION.match(self.function):
            raise OptionError("function", 'must be written "module:function" or "file.py:function"')

    def unready(self) -> str | None:
        """Why the function cannot be called; its module is loaded to find out."""
        try:
            with self._importable():
                self._loaded()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a module may raise anything
            return _said(f"{self.function} cannot be loaded", error)
        return None

    def identity(self) -> JsonObject:
        """The options, and the content of the file that the function is in."""
        with self._importable():
            file = getattr(self._loaded()[0], "__file__", None)
        return {
            "function": self.function,
            "cwd": str(self.cwd or ""),
            "config": dict(self.config),
            "sha256": digest_of(Path(file)) if file else None,
        }

    @contextmanager
    def opened(self, timeout: float) -> Iterator[Asking]:
        """The function, with what lies beside it importable while it is in use."""
        limit = TimeLimit(timeout)
        config = dict(self.config)
        with self._importable():
            _, function = self._loaded()
            yield lambda request: _asked(function, {**request, "config": config}, limit)

    @contextmanager
    def _importable(self) -> Iterator[None]:
        home = _home(self.function)
        here = (self.cwd or Path()).absolute()
        folder = str((here / home).parent if home.endswith(".py") else here)
        sys.path.insert(0, folder)
        try:
            yield
        finally:
            with suppress(ValueError):
                sys.path.remove(folder)

    def _loaded(self) -> tuple[ModuleType, Callable[[JsonObject], object]]:
        home, _, attribute = self.function.rpartition(":")
        module = (
            _from_file((self.cwd or Path()) / home)
            if home.endswith(".py")
            else importlib.import_module(home)
        )
        function = attrgetter(attribute)(module)
        if not callable(function):
            raise TypeError(f"{attribute} cannot be called")
        return module, function


def _home(function: str) -> str:
    return function.rpartition(":")[0]


def _from_file(path: Path) -> ModuleType:
    """The module in a file; loaded once, and again only when its content has changed."""
    content = path.read_bytes()
    digest = hashlib.sha256(f"{path.absolute()}\n".encode() + content).hexdigest()
    name = f"_fieldmark_target_{digest[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is no module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _asked(
    function: Callable[[JsonObject], object], request: JsonObject, limit: TimeLimit
) -> Produced:
    dialect = JsonDialect(role=Role.CANDIDATE)
    try:
        # A copy, because the function may change what it is given.
        given = cast("JsonObject", to_json_value(request, dialect))
        answer = limit.call(lambda: _called(function, given, limit.seconds))
        if isinstance(answer, str):
            return Produced(text=str.__str__(answer))
        return Produced(value=to_json_value(answer, dialect))
    except OverdueError as error:
        return Produced(failure=str(error))
    except DataError as error:
        return Produced(failure=f"the function's answer cannot be used: {error.message}")
    except BaseException as error:  # noqa: BLE001 - whatever a function raises is its case's error
        transient = isinstance(error, ConnectionError | TimeoutError)
        return Produced(failure=_said("the function raised", error), transient=transient)


def _called(
    function: Callable[[JsonObject], object], request: JsonObject, seconds: float
) -> object:
    answer = function(request)
    if inspect.isawaitable(answer):
        return asyncio.run(_awaited(answer, seconds + _CANCELLED_AFTER))
    return answer


async def _awaited(answer: Awaitable[object], seconds: float) -> object:
    return await asyncio.wait_for(answer, seconds)


def _said(what: str, error: BaseException) -> str:
    message = Secrets.of(os.environ).hidden(str(error))
    return f"{what}: {type(error).__name__}{': ' if message else ''}{message}"
