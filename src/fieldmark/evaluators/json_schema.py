"""Validate candidates against a JSON Schema."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import partial
from math import isfinite
from typing import ClassVar, Final, NamedTuple, TypeAlias

import jsonschema_rs

from fieldmark.errors import OptionError
from fieldmark.evaluators.base import (
    MAX_EXAMPLES,
    Score,
    unreadable_reason,
    verdict_for,
)
from fieldmark.evaluators.schema_cost import SchemaCost, check_schema, pattern_bytes
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.values.annotations import NonNegativeInt, PositiveFloat, Share
from fieldmark.values.paths import ROOT, join
from fieldmark.values.strategy_options import check_options
from fieldmark.values.text import plural, replace_surrogates

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
_MAX_WORK: Final = 1_000_000_000
"""The work that can take half a minute, which cannot be interrupted in this process."""
_QUICK_WORK: Final = 10_000_000
"""The work that takes less time than anybody notices."""
_TOO_MUCH_WORK: Final = (
    "validating this document could take very long; fieldmark.evaluate and `fieldmark eval` run "
    "such schemas in a process with a time limit"
)


class SchemaError(NamedTuple):
    """A validation error with its path."""

    path: str
    message: str


class SchemaErrors(NamedTuple):
    """The first validation errors of a document and their total number.

    `failure` says why the document could not be validated; usually it is empty.
    """

    errors: Sequence[SchemaError] = ()
    total: int = 0
    failure: str = ""


SchemaRunner: TypeAlias = Callable[[JsonValue], SchemaErrors]
"""Calls `JsonSchema.validate` of one evaluator in a process with its time limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonSchema:
    """Score 1 if the candidate is valid under a JSON Schema, otherwise 0.

    `draft` defaults to the `$schema` of the schema, and without one to the latest draft. `formats`
    sets whether strings must have the `format` of the schema. References to other files or URLs
    are never followed. A document that takes longer than `timeout` seconds is an error.

    >>> shape = JsonSchema(schema={"properties": {"total": {"type": "number"}}})
    >>> shape.evaluate({}, {"total": "12"}).misses
    ('total: "12" is not of type "number"',)
    """

    name: ClassVar[str] = "json_schema"
    needs_expected: ClassVar[bool] = False
    schema: Schema
    draft: Draft | None = None
    formats: bool = True
    max_errors: NonNegativeInt = MAX_EXAMPLES
    pass_threshold: Share | None = None
    timeout: PositiveFloat = 30.0
    _find_errors: Callable[[JsonValue], SchemaErrors] = field(init=False, repr=False, compare=False)
    _cost: SchemaCost = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_options(self)
        cost = check_schema(self.schema)
        find_errors, linear = _compile(self.schema, self.draft, formats=self.formats)
        if not linear:
            cost = check_schema(self.schema, backtracking=True)
        object.__setattr__(self, "_find_errors", find_errors)
        object.__setattr__(self, "_cost", cost)

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
        runner: SchemaRunner | None = None,
    ) -> Score:
        """Score a candidate; an unreadable or missing candidate is invalid.

        Documents that could take long are validated by the `runner`; without one, they are errors.
        """
        absent = unreadable_reason(candidate, unreadable=unreadable)
        if absent or candidate is MISSING:
            found = SchemaErrors([SchemaError(ROOT, str(absent))], 1)
        else:
            found = self._validated(candidate, runner)
        if found.failure:
            return Score.error(found.failure)
        errors, total, _ = found
        misses = [f"{path}: {message}" for path, message in errors]
        if len(errors) < total:
            misses.append(f"{ROOT}: {plural(total, 'error')} in total")
        score = float(not total)
        return Score(
            score=score,
            verdict=verdict_for(score, self.pass_threshold, int(not total), total),
            hits=() if total else (_MATCHES,),
            misses=tuple(misses),
            reasoning=plural(total, "schema error") if total else _MATCHES,
            details={"errors": [error._asdict() for error in errors], "errors_total": total},
        )

    def _validated(self, candidate: JsonValue, runner: SchemaRunner | None) -> SchemaErrors:
        size, depth, errors = _measure(candidate)
        if errors:
            return self._shortened(SchemaErrors(errors, len(errors)))
        work = self._cost.work(size, depth)
        if work is not None and work <= (_MAX_WORK if runner is None else _QUICK_WORK):
            return self.validate(candidate)
        return SchemaErrors(failure=_TOO_MUCH_WORK) if runner is None else runner(candidate)

    def validate(self, document: JsonValue) -> SchemaErrors:
        """Return the validation errors of a document, without a time limit."""
        return self._shortened(self._find_errors(document))

    def _shortened(self, found: SchemaErrors) -> SchemaErrors:
        first = found.errors[: self.max_errors]
        errors = [each._replace(message=_shorten(each.message)) for each in first]
        return found._replace(errors=errors)


def _compile(
    schema: Schema, draft: Draft | None, *, formats: bool
) -> tuple[Callable[[JsonValue], SchemaErrors], bool]:
    """Return a function that validates a document, and whether it matches in linear time."""
    make = partial(
        jsonschema_rs.validator_for
        if draft is None
        else getattr(jsonschema_rs, _VALIDATORS[draft]),
        schema,
        validate_formats=formats,
        offline=True,
    )
    kinds, limit = jsonschema_rs.ValidationErrorKind, pattern_bytes(schema)
    validator, linear = None, True
    try:
        with suppress(ValueError):
            validator = make(pattern_options=jsonschema_rs.RegexOptions(size_limit=limit))
        if validator is None:
            # Either the schema is invalid, or a pattern needs backtracking.
            backtracking = jsonschema_rs.FancyRegexOptions(size_limit=limit)
            validator, linear = make(pattern_options=backtracking), False
    except jsonschema_rs.ValidationError as error:
        place = _path(error.instance_path)
        message = f"invalid schema: {place}: {_shorten(error.message)}"
        if isinstance(error.kind, kinds.Format):
            message += ", or a larger one than its share of the memory for patterns"
        raise OptionError("schema", message) from None
    except ValueError as error:
        raise OptionError("schema", f"invalid schema: {_shorten(str(error))}") from None
    failures = (kinds.BacktrackLimitExceeded, kinds.RegexEngineFailure)

    def find_errors(document: JsonValue) -> SchemaErrors:
        try:
            found = list(validator.iter_errors(document))
        except UnicodeEncodeError:
            found = list(validator.iter_errors(_encodable(document)))
        errors = [SchemaError(_path(each.instance_path), each.message) for each in found]
        for each, error in zip(found, errors, strict=True):
            if isinstance(each.kind, failures):
                return SchemaErrors(failure=f"{error.path}: a pattern takes too long to match")
        return SchemaErrors(errors, len(errors))

    return find_errors, linear


def _measure(document: JsonValue) -> tuple[int, int, list[SchemaError]]:
    """Return the number of values and characters in a document, and its depth.

    Values that JSON cannot represent and too deep nesting are errors.
    """
    pending: list[tuple[str, JsonValue, int]] = [("", document, 0)]
    size, deepest, errors = 0, 0, list[SchemaError]()
    while pending:
        path, value, depth = pending.pop()
        size += 1
        deepest = max(deepest, depth)
        if depth > _MAX_DEPTH:
            message = f"nesting exceeds the limit of {_MAX_DEPTH} levels"
            errors.append(SchemaError(_shorten(path), message))
            break
        if isinstance(value, dict):
            size += sum(map(len, value))
            pending.extend((join(path, key), item, depth + 1) for key, item in value.items())
        elif isinstance(value, list):
            pending.extend((f"{path}[{i}]", item, depth + 1) for i, item in enumerate(value))
        elif isinstance(value, str):
            size += len(value)
        elif isinstance(value, float) and not isfinite(value):
            errors.append(SchemaError(path or ROOT, f"{value} is not a valid JSON number"))
        elif isinstance(value, int) and value.bit_length() > _MAX_BITS:
            errors.append(SchemaError(path or ROOT, "integer has too many digits"))
    return size, deepest, errors


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
