"""Errors that several values have in common, in words and as JSON."""

from __future__ import annotations

from typing import Final

from fieldmark.metrics.repeated_errors import RepeatedError, RepeatedKind
from fieldmark.model.json import JsonObject
from fieldmark.values.text import plural

_MAX_NAMED: Final = 4


def repeated_error_text(error: RepeatedError) -> str:
    """Return an error in words."""
    names = list(error.attributes[:_MAX_NAMED])
    if more := len(error.attributes) - len(names):
        names.append(f"{more} more")
    of = f"{error.values} of {plural(error.compared, 'value')}"
    if error.values == error.compared:
        of = f"all {plural(error.values, 'value')}"
    if error.kind is RepeatedKind.SCALE and error.factor is not None:
        up = error.factor >= 1
        size = f"{error.factor if up else 1 / error.factor:,f}"
        sign = "×" if up else "÷"  # noqa: RUF001 - a multiplication
        return f"{', '.join(names)}: {of} {sign} {size}"
    if error.kind is RepeatedKind.DATE_SWAPPED:
        return f"{', '.join(names)}: day and month swapped in {of}"
    if error.kind is RepeatedKind.EXCHANGED:
        return f"{' and '.join(names)}: exchanged in {of}"
    return f"{names[0]}: value of {names[1]} in {of}"


def repeated_error_to_json(error: RepeatedError) -> JsonObject:
    """Return an error as JSON."""
    return {
        "kind": error.kind.value,
        "text": repeated_error_text(error),
        "attributes": list(error.attributes),
        "values": error.values,
        "wrong": error.wrong,
        "compared": error.compared,
        "factor": None if error.factor is None else float(error.factor),
    }
