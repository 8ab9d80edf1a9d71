"""Options for the confidences of candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from fieldmark.errors import OptionError

__all__ = ["CONFIDENCE_KEY", "ConfidenceOptions"]

CONFIDENCE_KEY: Final = "confidence"
"""The default key of a row with the confidences of its document."""
_SCALES: Final = (1, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceOptions:
    """How the confidences of candidates are read, and the precision that thresholds must reach.

    `value` and `confidence` are the keys of objects that contain a value with its confidence; by
    default, they are recognized. `key` is the key of a row with the confidences of its document.
    `scale` is the confidence of a certain value, 1 or 100; by default, it is 100 in documents with
    a number above 1.
    """

    value: str | None = None
    confidence: str | None = None
    key: str = CONFIDENCE_KEY
    scale: int | None = None
    precision: tuple[float, ...] = (0.99,)

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
