"""Whether a candidate has the shape that a JSON Schema describes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import isfinite
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, TypeAlias

from fieldmark.compare.options import check_flag, check_share, checked_choice
from fieldmark.errors import OptionError
from fieldmark.evaluators.base import Score
from fieldmark.evaluators.field_evaluator import MAX_EXAMPLES, check_limit
from fieldmark.metrics.verdict import verdict_at, verdict_of
from fieldmark.model.case import Verdict
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.values.paths import ROOT, join

if TYPE_CHECKING:
    from jsonschema_rs import Validator

__all__ = ["Draft", "JsonSchema"]

Schema: TypeAlias = JsonObject | bool


class Draft(StrEnum):
    """The editions of JSON Schema."""

    DRAFT_4 = "draft4"
    DRAFT_6 = "draft6"
    DRAFT_7 = "draft7"
    DRAFT_2019_09 = "draft2019-09"
    DRAFT_2020_12 = "draft2020-12"


_VALIDATORS: Final[Mapping[Draft, str]] = {
    Draft.DRAFT_4: "Draft4Validator",
    Draft.DRAFT_6: "Draft6Validator",
    Draft.DRAFT_7: "Draft7Validator",
    Draft.DRAFT_2019_09: "Draft201909Validator",
    Draft.DRAFT_2020_12: "Draft202012Validator",
}
_MATCHES: Final = "matches the schema"
_UNREADABLE: Final = "no readable candidate"
_DEEPEST: Final = 200
"""The validator recurses without a bound of its own; deeper documents would end the process."""
_MOST_BITS: Final = 14_000
"""Integers beyond this have more digits than Python writes, and would reach it as null."""
_LONGEST: Final = 200


class _Fault(NamedTuple):
    """What is wrong at one place of a candidate."""

    path: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonSchema:
    """1 for a candidate that a JSON Schema describes, 0 for any other.

    Without a `draft` the schema's own `$schema` decides, and without that the latest edition.
    `formats` says whether texts must have the `format` that the schema names. References to other
    files or addresses are never followed.

    >>> shape = JsonSchema(schema={"properties": {"total": {"type": "number"}}})
    >>> shape.evaluate({}, {"total": "12"}).misses
    ('total: "12" is not of type "number"',)
    """

    name: ClassVar[str] = "json_schema"
    needs_expected: ClassVar[bool] = False
    schema: Schema
    draft: Draft | None = None
    formats: bool = True
    max_errors: int = MAX_EXAMPLES
    pass_threshold: float | None = None
    _compiled: _Compiled = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_flag("formats", self.formats)
        check_limit("max_errors", self.max_errors)
        if self.pass_threshold is not None:
            check_share("pass_threshold", self.pass_threshold)
        draft = None if self.draft is None else checked_choice("draft", self.draft, Draft)
        compiled = _Compiled(self.schema, draft, formats=self.formats)
        object.__setattr__(self, "_compiled", compiled)

    def evaluate(
        self,
        expected: JsonValue,  # noqa: ARG002 - a shape needs no truth
        candidate: JsonValue | Missing,
        *,
        unreadable: bool = False,
    ) -> Score:
        """Score a candidate; one that could not be read, or is not there, has no shape."""
        if unreadable or candidate is MISSING:
            return self._scored([_Fault(ROOT, _UNREADABLE)])
        return self._scored(list(_unsayable(candidate)) or self._compiled.faults(candidate))

    def _scored(self, faults: Sequence[_Fault]) -> Score:
        total = len(faults)
        shown = [_Fault(path, _cut(message)) for path, message in faults[: self.max_errors]]
        misses = [f"{path}: {message}" for path, message in shown]
        if len(shown) < total:
            misses.append(f"{ROOT}: {_errors(total)} in all")
        errors: list[JsonValue] = [fault._asdict() for fault in shown]
        score = float(not total)
        return Score(
            score=score,
            verdict=self._verdict(score, total),
            hits=() if total else (_MATCHES,),
            misses=tuple(misses),
            reasoning=f"{_errors(total)} against the schema" if total else _MATCHES,
            details={"errors": errors, "errors_total": total},
        )

    def _verdict(self, score: float, total: int) -> Verdict:
        if self.pass_threshold is None:
            return verdict_of(0 if total else 1, total)
        return verdict_at(score, self.pass_threshold)


class _Compiled:
    """A schema made ready; it is made again wherever it is sent to, since it cannot be copied."""

    __slots__ = ("_draft", "_formats", "_schema", "_validator")

    def __init__(self, schema: Schema, draft: Draft | None, formats: bool) -> None:  # noqa: FBT001 - as the options are called
        self._schema = schema
        self._draft = draft
        self._formats = formats
        self._validator = _validator(schema, draft, formats=formats)

    def faults(self, candidate: JsonValue) -> list[_Fault]:
        """Every error of a document, each with its place."""
        try:
            errors = self._validator.iter_errors(candidate)
        except UnicodeEncodeError:
            errors = self._validator.iter_errors(_encodable(candidate))
        return [_Fault(_path(error.instance_path), error.message) for error in errors]

    def __reduce__(self) -> tuple[type[_Compiled], tuple[Schema, Draft | None, bool]]:
        return _Compiled, (self._schema, self._draft, self._formats)


def _validator(schema: Schema, draft: Draft | None, *, formats: bool) -> Validator:
    import jsonschema_rs

    if not isinstance(schema, dict | bool):
        raise OptionError("schema", "must be an object, or true or false")
    make = (
        jsonschema_rs.validator_for if draft is None else getattr(jsonschema_rs, _VALIDATORS[draft])
    )
    try:
        made: Validator = make(schema, validate_formats=formats, offline=True)
    except jsonschema_rs.ValidationError as error:
        place = _path(error.instance_path)
        raise OptionError("schema", f"is not usable: {place}: {_cut(error.message)}") from None
    except ValueError as error:
        raise OptionError("schema", f"is not usable: {_cut(str(error))}") from None
    return made


def _unsayable(document: JsonValue) -> Iterator[_Fault]:
    """What no JSON text can hold, or what no schema could look into."""
    pending: list[tuple[str, JsonValue, int]] = [("", document, 0)]
    while pending:
        path, value, depth = pending.pop()
        if depth > _DEEPEST:
            yield _Fault(_cut(path), f"nested deeper than {_DEEPEST} levels")
            return
        if isinstance(value, dict):
            pending.extend((join(path, key), item, depth + 1) for key, item in value.items())
        elif isinstance(value, list):
            pending.extend((f"{path}[{i}]", item, depth + 1) for i, item in enumerate(value))
        elif isinstance(value, float) and not isfinite(value):
            yield _Fault(path or ROOT, f"{value} is no number of JSON")
        elif isinstance(value, int) and value.bit_length() > _MOST_BITS:
            yield _Fault(path or ROOT, "the number is too long")


def _errors(number: int) -> str:
    return f"{number} error" if number == 1 else f"{number} errors"


def _path(steps: Iterable[str | int]) -> str:
    path = ""
    for step in steps:
        path = f"{path}[{step}]" if isinstance(step, int) else join(path, step)
    return path or ROOT


def _encodable(value: JsonValue) -> JsonValue:
    """The document with a replacement character for every lone surrogate, which has no encoding."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    if isinstance(value, dict):
        return {str(_encodable(key)): _encodable(item) for key, item in value.items()}
    return value


def _cut(text: str) -> str:
    """A text of bounded length; the value that it begins with gives way to what it says of it."""
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[: half - 1]}…{text[-half:]}"
