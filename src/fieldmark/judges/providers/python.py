"""The provider python: a function that returns the similarity of pairs of strings."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, TypeAlias, cast

from fieldmark.errors import OptionError
from fieldmark.judges.providers.similarity import provider_error
from fieldmark.model.comparison import Comparison, Similarity, TextPair
from fieldmark.model.json import JsonObject
from fieldmark.python_function import load_attribute
from fieldmark.values.value_types import reference_of

PairFunction: TypeAlias = Callable[[Sequence[TextPair]], Sequence[float]]
"""Takes a sequence of pairs and returns a similarity from 0 to 1 for each."""
_NAME: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*\Z", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonProvider:
    """Similarity computed by a Python function, given as `module:function` or as a callable.

    The function is loaded when it is first needed, not when a configuration is validated. Guards
    are on by default and can be disabled on the comparator.

    >>> provider = PythonProvider(function=lambda pairs: [0.9 for _ in pairs])
    >>> list(provider.similarities([("a", "b")]))
    [0.9]
    """

    name: ClassVar[str] = "python"
    approximate: ClassVar[bool] = False
    guarded: ClassVar[bool] = True
    function: str | PairFunction

    def __post_init__(self) -> None:
        named = _NAME.match(self.function) if isinstance(self.function, str) else None
        if named is None and not callable(self.function):
            raise OptionError("function", "must be a function, or its name as module:function")

    def identity(self) -> JsonObject:
        """Return the name of the function."""
        given = self.function
        return {"function": given if isinstance(given, str) else reference_of(given)}

    def unready(self) -> str | None:
        """Return why the function cannot be called, or `None`."""
        function = self._load()
        return None if callable(function) else function.note

    def similarities(self, pairs: Sequence[TextPair]) -> Sequence[Similarity]:
        """Return the similarity of each pair; exceptions of the function are not caught."""
        function = self._load()
        if not callable(function):
            return [function] * len(pairs)
        return [_as_similarity(returned) for returned in function(pairs)]

    def _load(self) -> PairFunction | Comparison:
        if not isinstance(self.function, str):
            return self.function
        try:
            _, function = load_attribute(self.function)
        except (ImportError, AttributeError) as error:
            return provider_error(f"cannot load {self.function}: {error}")
        if not callable(function):
            return provider_error(f"{self.function} is not a function")
        return cast("PairFunction", function)


def _as_similarity(returned: object) -> Similarity:
    try:
        return float(returned)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return provider_error(f"expected a number from the function, got {returned!r}")
