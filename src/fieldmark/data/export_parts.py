"""What readers of exports have in common: objects, values with confidences, and unknown parts.

A reader counts in `LeftOut` what it does not read, so that the run can say so.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias, cast

from fieldmark.errors import DataError
from fieldmark.model.json import JsonObject, JsonValue, Missing
from fieldmark.model.reader import ExportReader, LeftOut
from fieldmark.model.rule import Rule
from fieldmark.values.paths import resolve
from fieldmark.values.value_confidences import CONFIDENCE_KEY

ReadExport: TypeAlias = Callable[[JsonValue, LeftOut], list[JsonObject]]
_WORD: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


class NotExportedError(Exception):
    """A value is not an export of the tool; the message says why."""


def not_readable(preset: str, reason: str) -> DataError:
    """Return the error for a value that is not an export of a tool."""
    return DataError(f"not an export that --from {preset} can read: {reason}")


def export_reader(
    name: str, summary: str, read: ReadExport, rules: tuple[Rule, ...] = ()
) -> type[ExportReader]:
    """Return the class of a reader, as plug-ins define it."""

    def rows(_: ExportReader, value: JsonValue, left_out: LeftOut) -> list[JsonObject]:
        """Return the rows of an export."""
        try:
            return read(value, left_out)
        except NotExportedError as error:
            raise not_readable(name, str(error)) from None

    namespace = {"__doc__": summary, "name": name, "rows": rows, "rules": rules}
    reader = dataclasses.make_dataclass(name, (), frozen=True, namespace=namespace)
    return cast("type[ExportReader]", reader)


# --- parts ----------------------------------------------------------------------------------------


def value_at(value: JsonValue, path: str) -> JsonValue:
    """Return the value at a path, or null."""
    resolved = resolve(value, path)
    return None if isinstance(resolved, Missing) else resolved


def objects(value: JsonValue, noun: str, left_out: LeftOut) -> list[JsonObject]:
    """Return the objects of a list, or nothing if it is something else; count other items."""
    if not isinstance(value, list):
        return []
    read = [item for item in value if isinstance(item, dict)]
    left_out.add(noun, len(value) - len(read))
    return read


def count_other_lists(value: JsonValue, known: Collection[str], left_out: LeftOut) -> None:
    """Count the objects in lists that a reader does not know, by the name of the list.

    >>> left_out = LeftOut()
    >>> count_other_lists({"pages": [{}], "keyValuePairs": [{}, {}]}, {"pages"}, left_out)
    >>> left_out.counts
    {'key value pair': 2}
    """
    if isinstance(value, dict):
        for key, items in value.items():
            if key not in known and isinstance(items, list):
                number = sum(isinstance(item, dict) for item in items)
                left_out.add(_words(key).removesuffix("s") if number else "", number)


def _words(name: str) -> str:
    """Return a name in camel case or with underscores as words, or the name if it has none."""
    return " ".join(word.lower() for word in _WORD.findall(name)) or name


# --- values with confidences ----------------------------------------------------------------------


class Rated(NamedTuple):
    """A value with its confidence, and for an object or a list the confidences of its parts."""

    value: JsonValue
    confidence: JsonValue = None

    def with_default(self, confidence: JsonValue) -> Rated:
        """Return the same with a confidence for all parts that have none."""
        return (
            self if confidence is None else Rated(self.value, _filled(self.confidence, confidence))
        )


def _filled(confidences: JsonValue, default: JsonValue) -> JsonValue:
    if isinstance(confidences, dict):
        return {key: _filled(inner, default) for key, inner in confidences.items()}
    if isinstance(confidences, list):
        return [_filled(inner, default) for inner in confidences]
    return default if confidences is None else confidences


def rated_object(parts: Mapping[str, Rated]) -> Rated:
    """Return an object with the confidences of its values."""
    return Rated(
        {name: part.value for name, part in parts.items()},
        {name: part.confidence for name, part in parts.items()},
    )


def rated_list(parts: Iterable[Rated]) -> Rated:
    """Return a list with the confidences of its items."""
    items = list(parts)
    return Rated([part.value for part in items], [part.confidence for part in items])


def collect(
    pairs: Iterable[tuple[str, Rated]],
    left_out: LeftOut,
    lists: Mapping[str, list[Rated]] | None = None,
) -> Rated:
    """Return fields by name; a name with several different values has a list of them.

    A value that occurs several times has its first confidence, and the others are counted. The
    `lists` are fields with all their items; other values of the same name are added to them.
    """
    lists = lists or {}
    fields: dict[str, list[Rated]] = {}
    for name, rated in pairs:
        occurrences = fields.setdefault(name, [])
        if name in lists or rated.value not in [occurrence.value for occurrence in occurrences]:
            occurrences.append(rated)
        else:
            left_out.add("repeated value")
    for name, items in lists.items():
        fields[name] = [*items, *fields.pop(name, ())]
    return rated_object(
        {
            name: occurrences[0]
            if len(occurrences) == 1 and name not in lists
            else rated_list(occurrences)
            for name, occurrences in fields.items()
        }
    )


def document_rows(documents: Iterable[Rated]) -> list[JsonObject]:
    """Return the rows of the documents of one file, which are numbered if there are several."""
    rated = list(documents)
    several = len(rated) > 1
    return [
        {
            **({"id": str(number)} if several else {}),
            "candidate": document.value,
            CONFIDENCE_KEY: document.confidence,
        }
        for number, document in enumerate(rated, start=1)
    ]
