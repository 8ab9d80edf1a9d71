"""Confidences of the values of a document: next to each value, or in a document of their own.

The values of `{"value": v, "confidence": c}` are separated from their confidences, which are a part
of their metadata (`envelopes.py`). The result is the document without them, and a document of the
same structure with a confidence from 0 to 1, or null, in place of each value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from math import isfinite
from typing import Annotated, Final, NamedTuple

from fieldmark.errors import OptionError
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.values.envelopes import (
    NO_ENVELOPE,
    NO_METADATA,
    VALUE_KEYS,
    Envelope,
    Metadata,
    is_metadata,
)
from fieldmark.values.records import EXCLUDED, OMIT_DEFAULT

CONFIDENCE_KEY: Final = "confidence"
"""The default key of a row with the confidences of its document."""
_SCALES: Final = (1, 100)

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
    default, they are recognized. With `value` alone, every object with this key is one. `key` is
    the key of a row with the confidences of its document.
    `scale` is the confidence of a certain value, 1 or 100; by default, it is 100 in documents with
    a number above 1.
    """

    value: Annotated[str | None, OMIT_DEFAULT] = None
    confidence: Annotated[str | None, OMIT_DEFAULT] = None
    key: str = CONFIDENCE_KEY
    scale: Annotated[int | None, OMIT_DEFAULT] = None
    precision: Annotated[tuple[float, ...], EXCLUDED] = (0.99,)

    def __post_init__(self) -> None:
        if self.value is None and self.confidence is not None:
            raise OptionError("value", "must be set together with confidence")
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
    number of objects that are not values with a confidence because they have keys that are no
    metadata. `scale` is the number of a certain value, 1 or 100; 0 if there are no numbers.
    `deviates` says that the document does not have the envelope of its input.
    """

    document: JsonValue
    confidences: JsonValue
    unreadable: int = 0
    other_keys: int = 0
    scale: int = 0
    deviates: bool = False


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
        self,
        document: JsonValue,
        confidences: JsonValue | Missing = MISSING,
        *,
        envelope: Envelope = NO_ENVELOPE,
        other: JsonValue | Missing = MISSING,
    ) -> ReadConfidences:
        """Return a document and its confidences; `confidences` is a document of confidences.

        A value has its own confidence, otherwise the confidence of the nearest object or list
        around it. If a single value has a list of confidences, they belong to its words, and the
        lowest counts. `envelope` is where the documents of the input have metadata, and `other` is
        the document of the other side.

        >>> reader = ConfidenceReader(ConfidenceOptions())
        >>> reader.read({"total": {"value": 10, "confidence": "98%"}})[:2]
        ({'total': 10}, {'total': 0.98})
        """
        others = 0
        if self.options.value is not None:
            envelope = replace(
                envelope,
                value=self.options.value,
                required=self.options.confidence or "",
                any_keys=True,
            )
            separated = envelope.separate_parts(document)
        else:
            separated = envelope.separate(document, other)
            if separated.deviates or not envelope.value:
                siblings = Envelope() if separated.deviates else envelope
                # Objects that have a value, a confidence and a key that is no metadata are fields.
                others = sum(
                    keys is not None and not all(map(_is_known, item))
                    for item in _objects(document)
                    for keys in (_standard_keys(item),)
                )
                rated = _RatedEnvelope(suffixes=siblings.suffixes, keys=siblings.keys)
                own = (siblings if others else rated).separate_parts(document)
                separated = own._replace(deviates=separated.deviates)
        rating = _Rating(self.options)
        largest_scale = 0
        for value in chain(rating.given_in(separated.metadata), _parts(confidences)):
            try:
                number = _number(value)
            except ValueError:
                continue
            if number is not None and not number[1]:
                largest_scale = max(largest_scale, _PERCENT if number[0] > 1 else 1)
        rating.scale = self.options.scale or largest_scale or 1
        rated_document = rating.rate(separated.document, separated.metadata, confidences, None)
        return ReadConfidences(
            separated.document,
            rated_document,
            rating.unreadable,
            others,
            largest_scale,
            separated.deviates,
        )


class _RatedEnvelope(Envelope):
    """Objects with a value, its confidence and possibly other metadata, wherever they are."""

    __slots__ = ()

    def value_key(self, value: JsonObject) -> str | None:
        """Return the key of the value if an object has a value and its confidence."""
        keys = _standard_keys(value)
        return None if keys is None else keys[0]


def _is_known(key: str) -> bool:
    return key in VALUE_KEYS or is_metadata(key)


def _standard_keys(value: JsonObject) -> tuple[str, str] | None:
    own = next((key for key in VALUE_KEYS if key in value), None)
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


class _Rating:
    """The confidences of one document."""

    __slots__ = ("options", "scale", "unreadable")

    def __init__(self, options: ConfidenceOptions) -> None:
        self.options = options
        self.scale = 1
        self.unreadable = 0

    def given_in(self, metadata: Metadata) -> Iterator[JsonValue]:
        """Yield the confidences next to values."""
        waiting = [metadata]
        while waiting:
            part = waiting.pop()
            waiting += part.parts.values()
            given = self._given(part)
            if not isinstance(given, Missing):
                yield from _parts(given)

    def _given(self, metadata: Metadata) -> JsonValue | Missing:
        keys = _CONFIDENCE_KEYS if self.options.confidence is None else (self.options.confidence,)
        return next((metadata.own[key] for key in keys if key in metadata.own), MISSING)

    def rate(
        self,
        value: JsonValue,
        metadata: Metadata,
        confidences: JsonValue | Missing,
        inherited: float | None,
    ) -> JsonValue:
        """Return the confidences of a value without its metadata."""
        given = self._given(metadata)
        if isinstance(given, dict | list) and isinstance(confidences, Missing):
            confidences = given
        elif not isinstance(given, Missing):
            own = self._read_confidence(given)
            inherited = inherited if own is None else own
        if not isinstance(confidences, dict | list):
            own = self._read_confidence(confidences)
            inherited = inherited if own is None else own
        parts = metadata.parts
        if isinstance(value, dict) and value:
            own_given = confidences if isinstance(confidences, dict) else {}
            return {
                key: self.rate(
                    part, parts.get(key, NO_METADATA), own_given.get(key, MISSING), inherited
                )
                for key, part in value.items()
            }
        if isinstance(value, list) and value:
            listed = confidences if isinstance(confidences, list) else []
            return [
                self.rate(
                    part,
                    parts.get(index, NO_METADATA),
                    listed[index] if index < len(listed) else MISSING,
                    inherited,
                )
                for index, part in enumerate(value)
            ]
        if isinstance(confidences, list):
            words = [self._read_confidence(word) for word in confidences]
            known = [word for word in words if word is not None]
            inherited = min(known, default=inherited)
        elif isinstance(confidences, dict):
            own = self._read_confidence(
                next((confidences[key] for key in _CONFIDENCE_KEYS if key in confidences), None)
            )
            inherited = inherited if own is None else own
        return inherited

    def _read_confidence(self, value: JsonValue | Missing) -> float | None:
        try:
            return confidence_of(value, self.scale)
        except ValueError:
            self.unreadable += 1
            return None
