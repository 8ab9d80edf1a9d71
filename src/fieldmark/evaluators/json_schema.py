"""Validate candidates against a JSON Schema."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import partial
from graphlib import CycleError, TopologicalSorter
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
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.values.annotations import NonNegativeInt, PositiveFloat, Share
from fieldmark.values.paths import ROOT, join
from fieldmark.values.strategy_options import check_options
from fieldmark.values.text import plural, replace_surrogates

_MAX_VALUES: Final = 100_000
_MAX_SCHEMA_DEPTH: Final = 200
_MAX_REFERENCE_DEPTH: Final = 100
_MAX_APPLIED: Final = 1_000_000
_MAX_STEPS: Final = 1_000_000
"""The number of steps to estimate the work for a document; it is unknown if there are more."""
_MAX_PATTERNS: Final = 100_000
"""The number of characters of all patterns."""
_PATTERN_BYTES: Final = 100 << 20
"""The memory of all compiled patterns; most of it can be used by ten of them."""
_BACKTRACKING: Final = 10_000
"""The work of a pattern that is not matched in linear time."""

_DYNAMIC: Final = ("$dynamicRef", "$recursiveRef")
_SAME_VALUE: Final = frozenset(
    {"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"}
)
"""The keywords whose schemas apply to the value itself."""
_MAPS: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "dependencies"})
"""The keywords whose schemas are the values of an object."""
_ANY_CHILD: Final = frozenset(
    {"patternProperties", "additionalProperties", "propertyNames", "contains", "additionalItems"}
)
_UNEVALUATED: Final = ("unevaluatedItems", "unevaluatedProperties")
"""These apply to children, and evaluate the other schemas of the value a second time."""
_BY_CHILD: Final = frozenset({"properties", "prefixItems", "items"})
"""The keywords with one schema per child, except that `items` can be one schema for all."""
_LISTED: Final = ("enum", "const", "required")

_Name: TypeAlias = str | int
"""The key or position of a child of a document."""


class _Part(NamedTuple):
    """A schema in a schema, with the schemas that apply to the same value and to its children.

    Schemas are identified by their numbers. `by_child` contains the schemas for one child each.
    """

    work: int
    same: list[int]
    children: list[int]
    by_child: Mapping[_Name, list[int]]


class SchemaCost:
    """Estimates the work to validate a document, from its size and depth."""

    __slots__ = ("_done", "_known", "_order", "_parts")

    def __init__(self, parts: list[_Part], order: list[int], *, known: bool) -> None:
        self._parts = parts
        self._order = order
        self._known = known
        self._done: list[list[int]] = []
        """The work for the values on one path of a document, by its depth and by schema."""

    def work(self, size: int, depth: int) -> int | None:
        """Return an upper bound for a document; `None` if it is unknown.

        >>> check_schema({"items": {"type": "string"}}).work(10, 1)
        20
        """
        if not self._known or len(self._parts) * depth > _MAX_STEPS:
            return None
        while len(self._done) <= depth:
            below = self._done[-1] if self._done else None
            if len(self._done) > 1 and below == self._done[-2]:
                # No schema reaches deeper values.
                return below[0] * size
            self._done.append(self._level(below))
        return self._done[depth][0] * size

    def _level(self, below: list[int] | None) -> list[int]:
        """Return the work for each schema from the work for the children."""
        work = [0] * len(self._parts)
        for number in self._order:
            part = self._parts[number]
            work_of_part = part.work + sum(work[same] for same in part.same)
            if below is not None:
                work_of_part += sum(below[child] for child in part.children)
                work_of_part += max(
                    (sum(below[child] for child in own) for own in part.by_child.values()),
                    default=0,
                )
            work[number] = work_of_part
        return work


def check_schema(schema: JsonValue, *, backtracking: bool = False) -> SchemaCost:
    """Return the cost of a schema; raise OptionError if it exceeds a limit.

    `backtracking` means that it has patterns that are not matched in linear time.
    """
    for number, (_, depth) in enumerate(_inner_values(schema), start=1):
        if number > _MAX_VALUES:
            raise OptionError("schema", f"exceeds the limit of {_MAX_VALUES:,} values")
        if depth > _MAX_SCHEMA_DEPTH:
            raise OptionError("schema", f"nesting exceeds the limit of {_MAX_SCHEMA_DEPTH} levels")
    reader = _Reader(schema, backtracking=backtracking)
    reader.read()
    parts, references = reader.parts, reader.references
    try:
        order = list(
            TopologicalSorter({n: part.same for n, part in enumerate(parts)}).static_order()
        )
    except CycleError:
        message = "a reference leads back to itself without descending into the document"
        raise OptionError("schema", message) from None
    depths = [0] * len(parts)
    for number in order:
        below = (depths[same] + ((number, same) in references) for same in parts[number].same)
        depths[number] = max(below, default=0)
    if max(depths) > _MAX_REFERENCE_DEPTH:
        message = f"a chain of references exceeds the limit of {_MAX_REFERENCE_DEPTH} references"
        raise OptionError("schema", message)
    cost = SchemaCost(parts, order, known=reader.known)
    if (SchemaCost(parts, order, known=True).work(1, 0) or 0) > _MAX_APPLIED:
        message = (
            f"with all references expanded, it exceeds the limit of {_MAX_APPLIED:,} schemas "
            "for one value"
        )
        raise OptionError("schema", message)
    return cost


def pattern_bytes(schema: JsonValue) -> int:
    """Return how much memory each pattern of a schema may use when it is compiled.

    Raise OptionError if the patterns are too long.
    """
    lengths: list[int] = []
    for value, _ in _inner_values(schema):
        if isinstance(value, dict):
            pattern, named = value.get("pattern"), value.get("patternProperties")
            lengths += [len(pattern)] if isinstance(pattern, str) else []
            lengths += map(len, named) if isinstance(named, dict) else []
    if sum(lengths) > _MAX_PATTERNS:
        raise OptionError("schema", f"patterns exceed the limit of {_MAX_PATTERNS:,} characters")
    return _PATTERN_BYTES // max(10, len(lengths))


def _inner_values(value: JsonValue) -> Iterator[tuple[JsonValue, int]]:
    """Yield a value and all values inside it, with their depth."""
    pending = [(value, 0)]
    while pending:
        inner, depth = pending.pop()
        yield inner, depth
        pending.extend((child, depth + 1) for child in _children(inner))


def _children(value: JsonValue) -> list[JsonValue]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


class SchemaReferences:
    """Resolves references inside a schema; references to other documents are never followed."""

    __slots__ = ("_anchors", "_base", "_has_inner_bases", "_schema")

    def __init__(self, schema: JsonValue) -> None:
        self._schema = schema
        self._base = _identifier(schema)
        self._has_inner_bases = False
        """Whether references in some parts are relative to these parts."""
        self._anchors: dict[str, JsonValue] = {}
        for value, _ in _inner_values(schema):
            if isinstance(value, dict):
                for key in ("$anchor", "$dynamicAnchor"):
                    if isinstance(name := value.get(key), str):
                        self._anchors[name] = value
                own = _identifier(value)
                if own.startswith("#"):
                    self._anchors[own[1:]] = value
                elif own and value is not self._schema:
                    self._has_inner_bases = True

    def resolve(self, reference: JsonValue) -> JsonValue | Missing:
        """Return the schema that a reference names; missing if it is in no known place.

        >>> SchemaReferences({"$defs": {"a/b": True}}).resolve("#/$defs/a~1b")
        True
        """
        if not isinstance(reference, str) or self._has_inner_bases or "%" in reference:
            return MISSING
        base, _, fragment = reference.partition("#")
        if base and base != self._base.partition("#")[0]:
            return MISSING
        if fragment and not fragment.startswith("/"):
            return self._anchors.get(fragment, MISSING)
        value: JsonValue = self._schema
        for step in fragment.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if isinstance(value, dict) and name in value:
                value = value[name]
            elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
                value = value[int(name)]
            else:
                return MISSING
        return value


class _Reader:
    """Reads the parts of a schema."""

    def __init__(self, schema: JsonValue, *, backtracking: bool) -> None:
        self._schema = schema
        self._pattern_work = _BACKTRACKING if backtracking else 0
        self._references = SchemaReferences(schema)
        self._numbers: dict[int, int] = {}
        """The numbers of schemas by `id()`; number 0 is the whole schema."""
        self._pending: list[JsonValue] = []
        self.parts: list[_Part] = []
        self.references: set[tuple[int, int]] = set()
        self.known = True
        """Whether all references could be resolved."""

    def read(self) -> None:
        """Read the schema and everything that it refers to."""
        self._number(self._schema)
        # Parts are read in the order of their numbers; reading one can add others at the end.
        for schema in self._pending:
            self.parts.append(self._part(schema))

    def _number(self, schema: JsonValue) -> int:
        number = self._numbers.setdefault(id(schema), len(self._pending))
        if number == len(self._pending):
            self._pending.append(schema)
        return number

    def _part(self, schema: JsonValue) -> _Part:
        part = _Part(1, [], [], defaultdict(list))
        if not isinstance(schema, dict):
            return part
        if any(key in schema for key in _DYNAMIC):
            self.known = False
        for keyword, value in schema.items():
            if keyword == "$ref":
                target = self._references.resolve(value)
                if target is MISSING:
                    self.known = False
                else:
                    number = self._number(target)
                    part.same.append(number)
                    self.references.add((len(self.parts), number))
            elif keyword in _BY_CHILD and not (keyword == "items" and not isinstance(value, list)):
                for name, schema_part in _named(value):
                    part.by_child[name].append(self._number(schema_part))
            else:
                numbers = [self._number(subschema) for subschema in _subschemas(keyword, value)]
                (part.same if keyword in _SAME_VALUE else part.children).extend(numbers)
        if any(key in schema for key in _UNEVALUATED):
            part.same.extend(list(part.same))
        work = 1 + sum(1 for key in _LISTED if key in schema for _ in _inner_values(schema[key]))
        if "pattern" in schema or "patternProperties" in schema:
            work += self._pattern_work
        return part._replace(work=work)


def _identifier(schema: JsonValue) -> str:
    if not isinstance(schema, dict):
        return ""
    own = schema.get("$id", schema.get("id"))
    return own if isinstance(own, str) else ""


def _named(value: JsonValue) -> Iterator[tuple[_Name, JsonValue]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)


def _subschemas(keyword: str, value: JsonValue) -> list[JsonValue]:
    """Return the schemas of a keyword for the value itself or for all its children."""
    if keyword in _MAPS:
        return _children(value) if isinstance(value, dict) else []
    if keyword == "items" or keyword in _UNEVALUATED or keyword in _SAME_VALUE | _ANY_CHILD:
        return value if isinstance(value, list) else [value]
    return []


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
        options = {
            option.name: getattr(self, option.name) for option in fields(self) if option.init
        }
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
            result = SchemaErrors([SchemaError(ROOT, str(absent))], 1)
        else:
            result = self._validated(candidate, runner)
        if result.failure:
            return Score.error(result.failure)
        errors, total, _ = result
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

    def _shortened(self, result: SchemaErrors) -> SchemaErrors:
        first = result.errors[: self.max_errors]
        errors = [error._replace(message=_shorten(error.message)) for error in first]
        return result._replace(errors=errors)


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
        message = f"invalid schema: {_path(error.instance_path)}: {_shorten(error.message)}"
        if isinstance(error.kind, kinds.Format):
            message += ", or a larger one than its share of the memory for patterns"
        raise OptionError("schema", message) from None
    except ValueError as error:
        raise OptionError("schema", f"invalid schema: {_shorten(str(error))}") from None
    failures = (kinds.BacktrackLimitExceeded, kinds.RegexEngineFailure)

    def find_errors(document: JsonValue) -> SchemaErrors:
        try:
            raw_errors = list(validator.iter_errors(document))
        except UnicodeEncodeError:
            raw_errors = list(validator.iter_errors(_encodable(document)))
        errors = [SchemaError(_path(error.instance_path), error.message) for error in raw_errors]
        for raw_error, error in zip(raw_errors, errors, strict=True):
            if isinstance(raw_error.kind, failures):
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
