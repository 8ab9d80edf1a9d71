"""Read the block `confidence` of a rules file."""

from __future__ import annotations

from typing import Final

from fieldmark.errors import OptionError
from fieldmark.model.json import JsonObject
from fieldmark.rules.context import Context
from fieldmark.rules.located import Located
from fieldmark.rules.option_types import ConfigKey, KeyTable
from fieldmark.values.value_confidences import ConfidenceOptions
from fieldmark.values.value_types import any_of, describe

_TARGET: Final[JsonObject] = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
CONFIDENCE_KEYS: Final = KeyTable(
    ConfigKey("value", str, "The key of the value in objects with a value and its confidence."),
    ConfigKey("confidence", str, "The key of the confidence in these objects."),
    ConfigKey("key", str, "The key of a row with the confidences of its document."),
    ConfigKey(
        "scale",
        int,
        "The confidence of a certain value; by default, 100 in documents with a number above 1.",
        schema={"enum": [1, 100]},
    ),
    ConfigKey(
        "precision",
        description="The precision that thresholds must reach, or a list of several.",
        schema=any_of([_TARGET, {"type": "array", "items": _TARGET, "minItems": 1}]),
    ),
)


def read_confidence(given: Located, context: Context) -> ConfidenceOptions | None:
    """Read how confidences are read: an object with options, or whether they are read at all."""
    if isinstance(given.value, bool):
        return ConfidenceOptions() if given.value else None
    if not isinstance(given.value, dict):
        message = f"confidence: expected true or an object, got {describe(given.value)}"
        context.add(message, given.location, "for example {precision: 0.99}")
        return None
    CONFIDENCE_KEYS.refuse_unknown(given, context)
    before = len(context.problems)
    values = {key.name: key.read(given, context) for key in CONFIDENCE_KEYS if key.reader is None}
    precision = given.get("precision")
    values["precision"] = None if precision is None else _read_precision(precision, context)
    if len(context.problems) > before:
        return None
    try:
        return ConfidenceOptions(
            **{name: value for name, value in values.items() if value is not None}
        )
    except OptionError as error:
        located = given.entries.get(error.option, given)
        context.add(f"confidence: {error.option}: {error.message}", located.location)
        return None


def _read_precision(given: Located, context: Context) -> tuple[float, ...] | None:
    values = given.value if isinstance(given.value, list) else [given.value]
    targets: list[float] = []
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float):
            message = f"confidence: precision: expected a number, got {describe(value)}"
            context.add(message, given.location)
            return None
        targets.append(float(value))
    return tuple(targets)


CONFIDENCE: Final[ConfigKey[ConfidenceOptions | None]] = ConfigKey(
    "confidence",
    description="How the confidences of predictions are read, and the precision of thresholds.",
    schema=lambda: any_of([{"type": "boolean"}, CONFIDENCE_KEYS.to_schema()]),
    reader=read_confidence,
)
"""The key of a rules file."""
