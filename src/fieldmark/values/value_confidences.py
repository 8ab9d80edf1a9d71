"""Confidences of the values of a document: next to each value, or in a document of their own.

The values of `{"value": v, "confidence": c}` are separated from their confidences. The result is
the document without them, and a document of the same structure with a confidence from 0 to 1, or
null, in place of each value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from math import isfinite
from typing import Annotated, Final, NamedTuple

from fieldmark.errors import OptionError
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.values.records import EXCLUDED, OMIT_DEFAULT

CONFIDENCE_KEY: Final = "confidence"
"""The default key of a row with the confidences of its document."""
_SCALES: Final = (1, 100)

_VALUE_KEYS: Final = ("value", "content")
_CONFIDENCE_KEYS: Final = ("confidence", "score", "probability")
_NOT_KNOWN: Final = frozenset({"", "-", "\N{EN DASH}", "n/a", "na", "none", "null", "nan"})
"""Text that says that there is no confidence."""
_NUMBER: Final = re.compile(
    r"\+?(\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:[eE][+-]?\d{1,3})?\s*(%?)\Z"
)
_PERCENT: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceOptions:
    """How the confidences of candidates are read, and the precision that thresholds must reach.

    `value` and `confidence` are the keys of objects that contain a value with its confidence; by
    default, they are recognized. `key` is the key of a row with the confidences of its document.
    `scale` is the confidence of a certain value, 1 or 100; by default, it is 100 in documents with
    a number above 1.
    """

    value: Annotated[str | None, OMIT_DEFAULT] = None
    confidence: Annotated[str | None, OMIT_DEFAULT] = None
    key: str = CONFIDENCE_KEY
    scale: Annotated[int | None, OMIT_DEFAULT] = None
    precision: Annotated[tuple[float, ...], EXCLUDED] = (0.99,)

    def __post_init__(self) -> None:
        if (self.value is None) != (self.confidence is None):
            missing = "confidence" if self.confidence is None else "value"
            raise OptionError(missing, "value and confidence must be set together")
        if self.value is not None and self.value == self.confidence:
            raise OptionError("confidence", "must not be the key of the value")
        if not self.key:
            raise OptionError("key", "must not be empty")
        if self.scale not in (None, *_SCALES):
            raise OptionError("scale", f"must be one of: 1, 100; got {self.scale!r}")
        if not self.precision:
            raise OptionError("precision", "must not be empty")
        for target in self.precision:
            if not 0 < target < 1:
                raise OptionError("precision", f"must be between 0 and 1, got {target:g}")
        if len(set(self.precision)) < len(self.precision):
            raise OptionError("precision", "must not contain a number twice")


class ReadConfidences(NamedTuple):
    """A document without its confidences, and its confidences in the same structure.

    `unreadable` counts confidences that are neither numbers nor missing, and `other_keys` is the
    number of objects that are not values with a confidence because they have further keys. `scale`
    is the number of a certain value, 1 or 100; 0 if there are no numbers.
    """

    document: JsonValue
    confidences: JsonValue
    unreadable: int = 0
    other_keys: int = 0
    scale: int = 0


def confidence_of(value: JsonValue | Missing, scale: int = 1) -> float | None:
    """Return a confidence from 0 to 1, or `None` if there is none; raise `ValueError` otherwise.

    >>> confidence_of(98.7, 100), confidence_of("98.70%"), confidence_of("N/A")
    (0.987, 0.987, None)
    """
    number = _number(value)
    if number is None:
        return None
    confidence, is_percent = number
    confidence /= _PERCENT if is_percent else scale
    if not 0 <= confidence <= 1:
        raise ValueError("a confidence must be between 0 and 1")
    return confidence


def _number(value: JsonValue | Missing) -> tuple[float, bool] | None:
    """Return a number and whether it is a percentage; `None` if there is no confidence."""
    if value is None or isinstance(value, Missing):
        return None
    if isinstance(value, str):
        text = value.strip()
        if text.lower() in _NOT_KNOWN:
            return None
        match = _NUMBER.match(text)
        if match is None:
            raise ValueError("not a confidence")
        return float(text.removesuffix("%")), bool(match[2])
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("not a confidence")  # noqa: TRY004 - data
    if isinstance(value, float) and not isfinite(value):
        raise ValueError("not a finite number")
    # A longer integer is no confidence, and may be too large for a float.
    return float(min(value, _PERCENT + 1)), False


def least_confidence(confidences: JsonValue | Missing) -> float | None:
    """Return the lowest confidence of a part of a document; `None` if a value has none.

    >>> least_confidence({"a": 0.9, "b": [0.8, 1.0]}), least_confidence([0.9, None])
    (0.8, None)
    """
    if isinstance(confidences, dict | list):
        parts = confidences.values() if isinstance(confidences, dict) else confidences
        lowest = [least_confidence(part) for part in parts]
        known = [confidence for confidence in lowest if confidence is not None]
        return min(known) if known and len(known) == len(lowest) else None
    is_number = isinstance(confidences, int | float) and not isinstance(confidences, bool)
    return float(confidences) if is_number else None  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class ConfidenceReader:
    """Separates documents from their confidences."""

    options: ConfidenceOptions

    def read(
        self, document: JsonValue, confidences: JsonValue | Missing = MISSING
    ) -> ReadConfidences:
        """Return a document and its confidences; `confidences` is a document of confidences.

        A value has its own confidence, otherwise the confidence of the nearest object or list
        around it. If a single value has a list of confidences, they belong to its words, and the
        lowest counts.

        >>> reader = ConfidenceReader(ConfidenceOptions())
        >>> reader.read({"total": {"value": 10, "confidence": "98%"}})[:2]
        ({'total': 10}, {'total': 0.98})
        """
        others = 0
        if not self.options.value:
            # Objects that have a value, a confidence and further keys are not wrappers.
            for item in _objects(document):
                keys = _standard_keys(item)
                others += keys is not None and len(item) > len(keys)
        separation = _Separation(self, is_wrapped=not others)
        scale = self.options.scale
        largest_scale = 0
        for value in chain(separation.given_in(document), _parts(confidences)):
            try:
                number = _number(value)
            except ValueError:
                continue
            if number is not None and not number[1]:
                largest_scale = max(largest_scale, _PERCENT if number[0] > 1 else 1)
        separation.scale = scale or largest_scale or 1
        plain, separated = separation.separate(document, confidences, None)
        return ReadConfidences(plain, separated, separation.unreadable, others, largest_scale)

    def wrapper_keys(self, value: JsonObject) -> tuple[str, str] | None:
        """Return the keys of the value and the confidence of an object that contains both."""
        options = self.options
        if options.value is not None and options.confidence is not None:
            named = options.value, options.confidence
            return named if named[0] in value and named[1] in value else None
        return _standard_keys(value)


def _standard_keys(value: JsonObject) -> tuple[str, str] | None:
    own = next((key for key in _VALUE_KEYS if key in value), None)
    confidence = next((key for key in _CONFIDENCE_KEYS if key in value), None)
    if own is None or confidence is None:
        return None
    try:
        _number(value[confidence])
    except ValueError:
        return None  # some other object
    return own, confidence


def _parts(value: JsonValue | Missing) -> Iterator[JsonValue]:
    """Yield a value and everything in it, in any order."""
    waiting: list[JsonValue] = [] if isinstance(value, Missing) else [value]
    while waiting:
        part = waiting.pop()
        yield part
        if isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part


def _objects(value: JsonValue) -> Iterator[JsonObject]:
    return (part for part in _parts(value) if isinstance(part, dict))


class _Separation:
    """The separation of one document from its confidences."""

    __slots__ = ("is_wrapped", "reader", "scale", "unreadable")

    def __init__(self, reader: ConfidenceReader, *, is_wrapped: bool) -> None:
        self.reader = reader
        self.is_wrapped = is_wrapped
        self.scale = 1
        self.unreadable = 0

    def given_in(self, document: JsonValue) -> Iterator[JsonValue]:
        """Yield the confidences next to values."""
        for item in _objects(document) if self.is_wrapped else ():
            keys = self.reader.wrapper_keys(item)
            if keys is not None:
                yield item[keys[1]]

    def separate(
        self, value: JsonValue, confidences: JsonValue | Missing, inherited: float | None
    ) -> tuple[JsonValue, JsonValue]:
        """Return a value without confidences, and its confidences."""
        if isinstance(value, dict) and self.is_wrapped:
            keys = self.reader.wrapper_keys(value)
            if keys is not None:
                own = self._read_confidence(value[keys[1]])
                return self.separate(value[keys[0]], confidences, inherited if own is None else own)
        if not isinstance(confidences, dict | list):
            own = self._read_confidence(confidences)
            inherited = inherited if own is None else own
        if isinstance(value, dict) and value:
            own_given = confidences if isinstance(confidences, dict) else {}
            pairs = {
                key: self.separate(part, own_given.get(key, MISSING), inherited)
                for key, part in value.items()
            }
            return (
                {key: pair[0] for key, pair in pairs.items()},
                {key: pair[1] for key, pair in pairs.items()},
            )
        if isinstance(value, list) and value:
            listed = confidences if isinstance(confidences, list) else []
            parts = [
                self.separate(part, listed[index] if index < len(listed) else MISSING, inherited)
                for index, part in enumerate(value)
            ]
            return [part[0] for part in parts], [part[1] for part in parts]
        if isinstance(confidences, list):
            words = [self._read_confidence(word) for word in confidences]
            known = [word for word in words if word is not None]
            inherited = min(known, default=inherited)
        elif isinstance(confidences, dict):
            own = self._read_confidence(
                next((confidences[key] for key in _CONFIDENCE_KEYS if key in confidences), None)
            )
            inherited = inherited if own is None else own
        return value, inherited

    def _read_confidence(self, value: JsonValue | Missing) -> float | None:
        try:
            return confidence_of(value, self.scale)
        except ValueError:
            self.unreadable += 1
            return None
