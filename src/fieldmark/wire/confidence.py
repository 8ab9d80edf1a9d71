"""Threshold files: the lowest confidence at which the values of each attribute are accepted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, ClassVar

from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.values.annotations import Range
from fieldmark.values.confidence import ConfidenceOptions
from fieldmark.values.records import OMIT_DEFAULT, Key, from_json, to_json
from fieldmark.version import RUN_FORMAT

__all__ = ["ThresholdScope", "ThresholdSet"]


class ThresholdScope(StrEnum):
    """Whether each attribute has a threshold of its own, or all have the same."""

    ATTRIBUTE = "attribute"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdSet:
    """The lowest confidence at which the values of each attribute are accepted.

    `run` is the run that they were chosen with, for this `precision`. An attribute without a
    threshold has `None`, and `note` says why there is none at all. `options` say how confidences
    are read.
    """

    FORMAT: ClassVar[int] = RUN_FORMAT

    precision: float
    by: ThresholdScope
    run: str
    options: Annotated[ConfidenceOptions, Key("read")]
    attributes: Annotated[
        Mapping[str, Annotated[float | None, Range(ge=0, le=1)]], Key("thresholds")
    ]
    note: Annotated[str, OMIT_DEFAULT] = ""

    @property
    def is_empty(self) -> bool:
        """Whether there is no threshold, so that all values must be reviewed."""
        return all(each is None for each in self.attributes.values())

    def to_dict(self) -> JsonObject:
        """Return the content of a threshold file."""
        return to_json(self)

    @classmethod
    def from_dict(cls, value: JsonValue) -> ThresholdSet:
        """Parse a threshold file; an invalid one raises `ValueError`."""
        return from_json(cls, value)
