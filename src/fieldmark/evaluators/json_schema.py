"""Validate candidates against a JSON Schema."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import partial
from math import isfinite
from typing import ClassVar, Final, NamedTuple, TypeAlias

from fieldmark.compare.options import check_flag, check_share, checked_choice
from fieldmark.errors import OptionError
from fieldmark.evaluators.base import (
    MAX_EXAMPLES,
    Score,
    check_limit,
    unreadable_reason,
    verdict_for,
)
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.values.paths import ROOT, join
from fieldmark.values.text import plural, replace_surrogates

__all__ = ["Draft", "JsonSchema"]

Schema: TypeAlias = JsonObject | bool


class Draft(StrEnum):
    """The drafts of JSON Schema."""

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
_MAX_DEPTH: Final = 200
"""The validator recurses without a limit, so that deeper documents would crash the process."""
_MAX_BITS: Final = 14_000
"""Python does not convert longer integers to strings; the validator would see them as null."""
_MAX_MESSAGE: Final = 200


class _SchemaError(NamedTuple):
    """A validation error with its path."""

    path: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonSchema:
    """Score 1 if the candidate is valid under a JSON Schema, otherwise 0.

    `draft` defaults to the `$schema` of the schema, and without one to the latest draft. `formats`
    sets whether strings must have the `format` of the schema. References to other files or URLs
    are never followed.

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
    _validate: Callable[[JsonValue], list[_SchemaError]] = field(
        init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        check_flag("formats", self.formats)
        check_limit("max_errors", self.max_errors)
        if self.pass_threshold is not None:
            check_share("pass_threshold", self.pass_threshold)
        draft = None if self.draft is None else checked_choice("draft", self.draft, Draft)
        validate = _compile(self.schema, draft, formats=self.formats)
        object.__setattr__(self, "_validate", validate)

    def __reduce__(self) -> tuple[partial[JsonSchema], tuple[()]]:
        # A validator cannot be pickled, so it is recompiled from the options.
        options = {each.name: getattr(self, each.name) for each in fields(self) if each.init}
        return partial(JsonSchema, **options), ()

    def evaluate(
        self,
        expected: JsonValue,  # noqa: ARG002 - only candidates are checked
        candidate: JsonValue | Missing,
        *,
        unreadable: bool = False,
    ) -> Score:
        """Score a candidate; an unreadable or missing candidate is invalid."""
        absent = unreadable_reason(candidate, unreadable=unreadable)
        if absent or candidate is MISSING:
            errors = [_SchemaError(ROOT, str(absent))]
        else:
            errors = list(_unrepresentable(candidate)) or self._validate(candidate)
        total = len(errors)
        shown = [
            error._replace(message=_shorten(error.message)) for error in errors[: self.max_errors]
        ]
        misses = [f"{path}: {message}" for path, message in shown]
        if len(shown) < total:
            misses.append(f"{ROOT}: {plural(total, 'error')} in total")
        score = float(not total)
        return Score(
            score=score,
            verdict=verdict_for(score, self.pass_threshold, int(not total), total),
            hits=() if total else (_MATCHES,),
            misses=tuple(misses),
            reasoning=plural(total, "schema error") if total else _MATCHES,
            details={"errors": [error._asdict() for error in shown], "errors_total": total},
        )


def _compile(
    schema: Schema, draft: Draft | None, *, formats: bool
) -> Callable[[JsonValue], list[_SchemaError]]:
    """Return a function that lists the validation errors of a document."""
    import jsonschema_rs

    if not isinstance(schema, dict | bool):
        raise OptionError("schema", "must be an object, true or false")
    make = (
        jsonschema_rs.validator_for if draft is None else getattr(jsonschema_rs, _VALIDATORS[draft])
    )
    try:
        validator = make(schema, validate_formats=formats, offline=True)
    except jsonschema_rs.ValidationError as error:
        place = _path(error.instance_path)
        message = f"invalid schema: {place}: {_shorten(error.message)}"
        raise OptionError("schema", message) from None
    except ValueError as error:
        raise OptionError("schema", f"invalid schema: {_shorten(str(error))}") from None

    def validate(document: JsonValue) -> list[_SchemaError]:
        try:
            errors = validator.iter_errors(document)
        except UnicodeEncodeError:
            errors = validator.iter_errors(_encodable(document))
        return [_SchemaError(_path(error.instance_path), error.message) for error in errors]

    return validate


def _unrepresentable(document: JsonValue) -> Iterator[_SchemaError]:
    """Yield errors for values that JSON cannot represent or that are nested too deeply."""
    pending: list[tuple[str, JsonValue, int]] = [("", document, 0)]
    while pending:
        path, value, depth = pending.pop()
        if depth > _MAX_DEPTH:
            yield _SchemaError(_shorten(path), f"nesting exceeds the limit of {_MAX_DEPTH} levels")
            return
        if isinstance(value, dict):
            pending.extend((join(path, key), item, depth + 1) for key, item in value.items())
        elif isinstance(value, list):
            pending.extend((f"{path}[{i}]", item, depth + 1) for i, item in enumerate(value))
        elif isinstance(value, float) and not isfinite(value):
            yield _SchemaError(path or ROOT, f"{value} is not a valid JSON number")
        elif isinstance(value, int) and value.bit_length() > _MAX_BITS:
            yield _SchemaError(path or ROOT, "integer has too many digits")


def _path(steps: Iterable[str | int]) -> str:
    path = ""
    for step in steps:
        path = f"{path}[{step}]" if isinstance(step, int) else join(path, step)
    return path or ROOT


def _encodable(value: JsonValue) -> JsonValue:
    """Return the document without lone surrogates."""
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    if isinstance(value, dict):
        return {replace_surrogates(key): _encodable(item) for key, item in value.items()}
    return value


def _shorten(text: str) -> str:
    """Return a message of bounded length, with the middle of a long message removed."""
    half = _MAX_MESSAGE // 2
    return text if len(text) <= _MAX_MESSAGE else f"{text[: half - 1]}…{text[-half:]}"
