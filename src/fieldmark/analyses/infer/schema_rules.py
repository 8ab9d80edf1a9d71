"""Propose rules from a JSON Schema.

All schemas that apply to a value, through references and combinations such as `anyOf`, are
collected into one shape, from which its rule follows. `x-fieldmark` in a schema sets options of the
rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from fieldmark.analyses.infer.rule_inferrer import (
    ADDRESS_WORDS,
    ADDRESSES,
    BOOLEANS,
    CURRENCIES,
    CURRENCY_WORDS,
    DATE_WORDS,
    EMAILS,
    IDENTIFIER_WORDS,
    IDENTIFIERS,
    INTEGERS,
    NAME_WORDS,
    NAMES,
    PAIRED_THRESHOLD,
    PHONE_WORDS,
    SHORT_TEXT,
    TIMES,
    WEB_ADDRESSES,
    InferredRule,
    Proposal,
    Settings,
    is_named,
    phone_proposal,
)
from fieldmark.errors import ConfigError, Location, OptionError, Problem
from fieldmark.evaluators.json_schema import SchemaReferences, check_schema
from fieldmark.model.json import MISSING, JsonObject, JsonValue
from fieldmark.rules.config_values import Code, Context, Located, located_list, located_object
from fieldmark.rules.rules_file import read_fields
from fieldmark.rules.strategy_builder import STRATEGY_KEYS
from fieldmark.values.paths import ROOT, join
from fieldmark.values.text import exact_text, shorten
from fieldmark.values.value_types import describe

OPTIONS_KEY: Final = "x-fieldmark"
"""The key of a schema with the options of its rule."""
_MAX_FIELDS: Final = 10_000
_MAX_PARTS: Final = 200_000
"""The number of schemas that are read, each time that it is read."""
_MAX_LEVELS: Final = 50
_MAX_REPEATS: Final = 1
"""How often a recursive schema is repeated inside itself."""
_MAX_LISTED: Final = 3
_MAX_SHOWN: Final = 40
_MAX_DESCRIPTION: Final = 120
_MAX_ENUM: Final = 1_000
_REFERENCE: Final = "$ref"
_ANY_DEPTH: Final = "**"
_ITEM: Final = "[*]"
_KEPT: Final = ("weight", "required")
"""The options that do not depend on the comparator."""
_SCHEMA_KEYWORDS: Final = frozenset(
    {"properties", "$defs", "definitions", "$ref", "allOf", "anyOf", "oneOf", "items"}
)
_SAME_VALUE: Final = ("allOf", "anyOf", "oneOf")
_CONDITIONAL: Final = ("then", "else")


def is_json_schema(value: JsonValue) -> bool:
    """Whether a document is a JSON Schema, judging by its keywords.

    >>> is_json_schema({"type": "object", "properties": {"total": {"type": "number"}}})
    True
    >>> is_json_schema({"type": "invoice", "properties": 3})
    False
    """
    if not isinstance(value, dict):
        return False
    dialect = value.get("$schema")
    if isinstance(dialect, str):
        return "json-schema.org" in dialect or not _SCHEMA_KEYWORDS.isdisjoint(value)
    if isinstance(value.get("$ref"), str) and isinstance(value.get("$defs"), dict):
        return True
    return value.get("type") == "object" and isinstance(value.get("properties"), dict)


class _TooLargeError(ConfigError):
    """A schema describes more values than a rules file can contain."""


def rules_of_schema(located: Located) -> tuple[list[InferredRule], tuple[Problem, ...]]:
    """Return a rule for each value that a schema describes, and warnings.

    The warnings are about parts that are left to the defaults. The error lists all problems.
    """
    if not isinstance(located.value, dict):
        message = f"expected a JSON Schema, got {describe(located.value)}"
        raise ConfigError.of(message, located.location)
    try:
        check_schema(located.value)
    except OptionError as error:
        raise ConfigError.of(f"{error.option}: {error.message}", located.location) from None
    try:
        return _read_schema(located, _MAX_REPEATS)
    except _TooLargeError:
        return _read_schema(located, 0)


def _read_schema(
    located: Located, max_repeats: int
) -> tuple[list[InferredRule], tuple[Problem, ...]]:
    context = Context(code=Code.CHECK)
    reader = _SchemaReader(located, context, max_repeats)
    reader.visit([located.value], "", [])
    # The same checks as for a rules file; a problem is reported where its options are.
    read_fields(reader.fields(), context)
    context.problems.raise_any()
    return reader.rules, context.problems.warnings


# --- shapes ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Shape:
    """What all schemas of one value say together.

    `kinds` are JSON types, with formats and the like instead of `string`. `entries` are the schemas
    of keys that are not named, and `positions` the schemas of single items. A `fixed` list has a
    fixed number of items. `options` are the options of the rule, from the outermost schema to the
    innermost.
    """

    kinds: dict[str, None] = field(default_factory=dict)
    description: str = ""
    listed: list[JsonValue] = field(default_factory=list)
    properties: dict[str, list[JsonValue]] = field(default_factory=dict)
    items: list[JsonValue] = field(default_factory=list)
    positions: list[JsonValue] = field(default_factory=list)
    entries: list[JsonValue] = field(default_factory=list)
    fixed: bool = False
    options: list[Located] = field(default_factory=list)
    parts: set[int] = field(default_factory=set)

    @property
    def scalars(self) -> frozenset[str]:
        """The kinds of scalars."""
        return frozenset(self.kinds) - {"null", "array", "object"}

    def add(self, schema: JsonObject) -> None:
        """Add the keywords of a schema, except for combinations of schemas."""
        for kind in _kinds(schema):
            self.kinds.setdefault(kind)
        description = schema.get("description")
        if isinstance(description, str) and not self.description:
            self.description = " ".join(description[: 2 * _MAX_DESCRIPTION].split()).rstrip(".:")
        enum = schema.get("enum")
        if isinstance(enum, list):
            self.listed += enum[:_MAX_ENUM]
        elif "const" in schema:
            self.listed.append(schema["const"])
        properties = schema.get("properties")
        if isinstance(properties, dict):
            for name, inner in properties.items():
                self.properties.setdefault(name, []).append(inner)
        prefix, items = schema.get("prefixItems"), schema.get("items")
        positions = prefix if isinstance(prefix, list) else items
        if isinstance(positions, list):
            self.positions += positions
        if isinstance(items, dict):
            self.items.append(items)
        size = schema.get("minItems")
        self.fixed |= size is not None and size == schema.get("maxItems")
        patterns = schema.get("patternProperties")
        self.entries += patterns.values() if isinstance(patterns, dict) else ()
        additional = schema.get("additionalProperties")
        if isinstance(additional, dict):
            self.entries.append(additional)


_TYPES: Final = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})
_IMPLIED: Final[Mapping[str, str]] = {
    "properties": "object",
    "additionalProperties": "object",
    "patternProperties": "object",
    "items": "array",
    "prefixItems": "array",
    "format": "string",
    "pattern": "string",
}
"""The types that keywords imply if a schema has no type."""


def _kinds(schema: JsonObject) -> Iterator[str]:
    """Yield the kinds of values that a schema describes by itself."""
    if "enum" in schema or "const" in schema:
        listed = schema["enum"] if isinstance(schema.get("enum"), list) else [schema.get("const")]
        # An enumeration of null alone says nothing about other values.
        if any(value is not None for value in islice(listed, _MAX_ENUM)):  # type: ignore[arg-type]
            yield "enum"
        return
    declared = schema.get("type")
    types: list[JsonValue] = declared if isinstance(declared, list) else [declared]
    if declared is None:
        types = [*dict.fromkeys(kind for key, kind in _IMPLIED.items() if key in schema)]
    for kind in types:
        if kind == "string":
            form = schema.get("format")
            pattern = "pattern" if "pattern" in schema else "text"
            yield f"format {form}" if isinstance(form, str) else pattern
        elif isinstance(kind, str) and kind in _TYPES:
            yield kind


# --- comparators ----------------------------------------------------------------------------------

_DATES: Final[Proposal] = {"match": "date"}, "ISO dates, compared by day"
_DATE_TIMES: Final[Proposal] = (
    {"match": "date"},
    "ISO date-times, compared by day; times are ignored",
)
_UNREADABLE: Final = "text that cannot be read never matches"
_FORMATS: Final[Mapping[str, Proposal]] = {
    "date": _DATES,
    "date-time": _DATE_TIMES,
    "email": EMAILS,
    "idn-email": EMAILS,
    "uri": WEB_ADDRESSES,
    "url": WEB_ADDRESSES,
    "iri": WEB_ADDRESSES,
    "uuid": IDENTIFIERS,
    "time": TIMES,
}
_NUMBERS: Final[Proposal] = (
    {"match": "numeric_tolerance", "tolerance": 0},
    "numbers, compared by value",
)
_BY_KINDS: Final[Mapping[frozenset[str], Proposal]] = {
    frozenset({"boolean"}): BOOLEANS,
    frozenset({"integer"}): INTEGERS,
    frozenset({"number"}): _NUMBERS,
    frozenset({"integer", "number"}): _NUMBERS,
    # How pydantic describes decimal numbers.
    frozenset({"number", "text"}): (_NUMBERS[0], f"{_NUMBERS[1]}; {_UNREADABLE}"),
    frozenset({"number", "pattern"}): (_NUMBERS[0], f"{_NUMBERS[1]}; {_UNREADABLE}"),
    frozenset({"format date", "format date-time"}): _DATE_TIMES,
    frozenset({"pattern"}): ({"match": "exact"}, "text of a fixed form, compared exactly"),
}
_BY_NAME: Final[tuple[tuple[frozenset[str], Proposal], ...]] = (
    (DATE_WORDS, ({"match": "date"}, f"named like a date, compared by day; {_UNREADABLE}")),
    (
        frozenset({"email", "mail"}),
        (EMAILS[0], f"named like {EMAILS[1]}; {_UNREADABLE}"),
    ),
    (
        frozenset({"url", "uri", "website", "homepage"}),
        (WEB_ADDRESSES[0], f"named like {WEB_ADDRESSES[1]}; {_UNREADABLE}"),
    ),
    (
        PHONE_WORDS,
        (IDENTIFIERS[0], "named like telephone numbers, compared by letters and digits"),
    ),
    (CURRENCY_WORDS, (CURRENCIES[0], f"named like {CURRENCIES[1]}")),
    (IDENTIFIER_WORDS, (IDENTIFIERS[0], f"named like {IDENTIFIERS[1]}")),
    (ADDRESS_WORDS, (ADDRESSES[0], f"named like {ADDRESSES[1]}")),
    (NAME_WORDS, (NAMES[0], f"named like {NAMES[1]}")),
)
"""Proposals for text without a format, by the last word of its name."""
_ITEM_WORDS: Final = frozenset(
    {"description", "name", "title", "item", "product", "article", "service", "label", "text"}
)
"""The names of fields that tell the items of a list apart."""


def _propose_scalar(path: str, shape: _Shape) -> Proposal | None:
    """Return the proposal for values that are not containers; `None` if nothing is known."""
    kinds = shape.scalars
    if not kinds:
        return None
    if kinds in _BY_KINDS:
        return _BY_KINDS[kinds]
    if kinds == {"enum"}:
        values = [value for value in shape.listed if value is not None]
        texts = [value if isinstance(value, str) else exact_text(value) for value in values]
        listed = ", ".join(shorten(text, _MAX_SHOWN) for text in texts[:_MAX_LISTED])
        more = ", …" if len(texts) > _MAX_LISTED else ""
        what = "always " if len(texts) == 1 else "one of: "
        return {"match": "exact"}, f"{what}{listed}{more}; compared exactly"
    if kinds <= {"text", "enum"}:
        named = (proposal for words, proposal in _BY_NAME if is_named(path, words))
        return next(named, SHORT_TEXT)
    if len(kinds) == 1:
        (form,) = (kind.removeprefix("format ") for kind in kinds)
        if form in ("phone", "phone-number"):
            return phone_proposal("telephone numbers")
        shown = shorten(form, _MAX_SHOWN)
        return _FORMATS.get(form, ({"match": "exact"}, f"format {shown}, compared exactly"))
    return {"match": "exact"}, "values of several types or formats, compared exactly"


# --- the schema -----------------------------------------------------------------------------------


class _SchemaReader:
    """Walks all values that a schema describes, and collects a rule for each."""

    def __init__(self, located: Located, context: Context, max_repeats: int) -> None:
        self.rules: list[InferredRule] = []
        self._max_repeats = max_repeats
        self._located = located
        self._context = context
        self._references = SchemaReferences(located.value)
        self._marked = dict(_marked_parts(located))
        self._origins: list[Location] = []
        self._unresolved: set[int] = set()
        self._values = 0
        self._parts = 0

    def fields(self) -> list[Located]:
        """Return the rules as they would be in a file, each with the location of its options."""
        fields: list[Located] = []
        for rule, origin in zip(self.rules, self._origins, strict=True):
            settings = {"path": rule.path, **rule.settings}
            entries = ((key, _at(value, origin)) for key, value in settings.items())
            fields.append(located_object(entries, origin, self._context.problems))
        return fields

    def visit(self, schemas: list[JsonValue], path: str, above: list[set[int]]) -> None:
        """Add the rules for a value and everything in it; `above` are the shapes around it."""
        self._values += 1
        if self._values > _MAX_FIELDS:
            self._refuse(f"it describes more than {_MAX_FIELDS:,} values")
        if len(above) > _MAX_LEVELS:
            self._refuse(f"nesting exceeds the limit of {_MAX_LEVELS} levels")
        shape = self._shape(schemas)
        repeats = max((sum(part in parts for parts in above) for part in shape.parts), default=0)
        if repeats > self._max_repeats:
            message = f"{path}: the schema repeats itself"
            hint = "deeper values are compared with the defaults"
            self._context.warn(message, self._located.location, hint)
            return
        overrides, origin = self._own_settings(shape)
        above = [*above, shape.parts]
        is_whole = "match" in overrides
        if overrides.get("any_of") is True and "array" in shape.kinds:
            items = self._shape(shape.items)
            settings, why = _propose_scalar(path, items) or ({}, "any type")
            shape.description = shape.description or items.description
            self._add(
                path, shape, (settings, f"lists of acceptable values; {why}"), overrides, origin
            )
        elif "array" in shape.kinds and not is_whole:
            self._visit_list(path, shape, overrides, origin, above)
        elif "object" in shape.kinds and not is_whole:
            self._visit_object(path, shape, overrides, origin, above)
        else:
            proposal = _propose_scalar(path, shape)
            if proposal is not None or overrides:
                self._add(path, shape, proposal or ({}, "any type"), overrides, origin)

    def _visit_list(
        self, path: str, shape: _Shape, overrides: Settings, origin: Location, above: list[set[int]]
    ) -> None:
        items = [*shape.positions, *shape.items]
        if path.endswith(_ANY_DEPTH):  # which includes the items
            self.visit(items, path, above)
            return
        # A list that is the whole document is aligned by default.
        if overrides or (path and items):
            self._add(path, shape, self._propose_list(shape), overrides, origin)
        kinds = {tuple(self._shape([schema]).kinds) for schema in items}
        if shape.positions and len(kinds) > 1:
            for index, schema in enumerate(shape.positions):
                self.visit([schema], f"{path}[{index}]", above)
            items = shape.items
        if items:
            self.visit(items, f"{path}{_ITEM}", above)

    def _propose_list(self, shape: _Shape) -> Proposal:
        if shape.fixed or shape.positions:
            return {"align": "index"}, "a fixed number of items; their order matters"
        items = self._shape(shape.items)
        if "object" not in items.kinds:
            return {"align": "greedy"}, "scalars, aligned by similarity; order does not matter"
        match_fields, of_what = self._match_fields(items)
        why = f"items aligned by similarity of {of_what}; order does not matter"
        return {"align": "greedy", **match_fields}, why

    def _match_fields(self, items: _Shape) -> tuple[Settings, str]:
        """Return the options for a text that tells items apart, and how it is compared."""
        for name, schemas in items.properties.items():
            inner = self._shape(schemas)
            if inner.scalars and inner.scalars <= {"text"} and is_named(name, _ITEM_WORDS):
                settings: Settings = {"match_fields": [join("", name)]}
                return {**settings, "threshold": PAIRED_THRESHOLD}, shorten(name, _MAX_SHOWN)
        return {}, "all their values"

    def _visit_object(
        self, path: str, shape: _Shape, overrides: Settings, origin: Location, above: list[set[int]]
    ) -> None:
        is_map = bool(shape.entries) and not shape.properties
        values = self._shape(shape.entries) if is_map else _Shape()
        if values.properties and not path.endswith(_ANY_DEPTH):
            match_fields, of_what = self._match_fields(values)
            why = f"objects aligned by similarity of {of_what}; their keys are not compared"
            self._add(path, shape, ({"align": "entries", **match_fields}, why), overrides, origin)
            self.visit(shape.entries, f"{path}{_ITEM}", above)
            return
        if overrides:
            if "align" in overrides:
                self._add(path, shape, ({}, "an object"), overrides, origin)
            else:
                self._context.add(
                    f"{OPTIONS_KEY}: {', '.join(overrides)} has no effect on an object",
                    origin,
                    "set it for the properties of the object, or add match or align",
                )
        if is_map:
            below = path if path.endswith(_ANY_DEPTH) else join(path, "x")[:-1] + _ANY_DEPTH
            self.visit(shape.entries, below, above)
        for name, schemas in shape.properties.items():
            self.visit(schemas, join(path, name), above)

    def _shape(self, schemas: list[JsonValue]) -> _Shape:
        """Collect all schemas for one value, the outermost first."""
        shape = _Shape()
        pending = list(schemas)
        for schema in pending:  # grows while it is read
            if not isinstance(schema, dict) or id(schema) in shape.parts:
                continue
            self._parts += 1
            if self._parts > _MAX_PARTS:
                self._refuse("it has too many references and combinations")
            shape.parts.add(id(schema))
            shape.add(schema)
            marked = self._marked.get(id(schema))
            if marked is not None and OPTIONS_KEY in marked.entries:
                shape.options.append(marked.entries[OPTIONS_KEY])
            if marked is not None and _REFERENCE in marked.entries:
                pending.append(self._resolve(marked.entries[_REFERENCE]))
            for keyword in _SAME_VALUE:
                combined = schema.get(keyword)
                pending += combined if isinstance(combined, list) else []
            pending += [schema[keyword] for keyword in _CONDITIONAL if keyword in schema]
            dependent = schema.get("dependentSchemas")
            pending += dependent.values() if isinstance(dependent, dict) else []
        return shape

    def _resolve(self, reference: Located) -> JsonValue:
        target = self._references.resolve(reference.value)
        if target is not MISSING:
            return target
        if id(reference) in self._unresolved:
            return None
        self._unresolved.add(id(reference))
        message = f"reference {describe(reference.value)} cannot be resolved"
        if isinstance(reference.value, str) and reference.value.startswith("#"):
            self._context.add(message, reference.location, "define it in the schema")
        else:
            hint = "other files are not read; its values are compared with the defaults"
            self._context.warn(message, reference.location, hint)
        return None

    def _own_settings(self, shape: _Shape) -> tuple[Settings, Location]:
        """Return the options that the schemas set; an outer schema has precedence."""
        overrides: Settings = {}
        origin = self._located.location
        for options in reversed(shape.options):
            if isinstance(options.value, str):
                settings: Settings = {"match": options.value}
            elif isinstance(options.value, dict) and options.value:
                settings = options.value
            else:
                message = f"{OPTIONS_KEY}: expected an object, got {describe(options.value)}"
                self._context.add(
                    message, options.location, "for example {match: fuzzy, weight: 2}"
                )
                continue
            origin = options.location
            overrides = {**_without_strategy(overrides, settings), **settings}
        if "path" in overrides:
            message = f"{OPTIONS_KEY}: 'path' is not allowed; it follows from the schema"
            self._context.add(message, origin)
            del overrides["path"]
        return overrides, origin

    def _add(
        self, path: str, shape: _Shape, proposal: Proposal, overrides: Settings, origin: Location
    ) -> None:
        settings, why = proposal
        if overrides:
            named = any(key in overrides for key in STRATEGY_KEYS)
            settings = {**_without_strategy(settings, overrides), **overrides}
            why = (
                f"set by {OPTIONS_KEY}"
                if named
                else f"{why}; {OPTIONS_KEY}: {', '.join(overrides)}"
            )
        match = settings.get("match")
        strategy = match.get("type") if isinstance(match, dict) else match
        # A language model may compare the field, and reads its description.
        if strategy == "semantic" and shape.description and "description" not in settings:
            settings = {**settings, "description": shape.description}
        described = f"{shorten(shape.description, _MAX_DESCRIPTION)}: " if shape.description else ""
        rule = InferredRule(path=path or ROOT, settings=settings, reason=f"{described}{why}")
        self.rules.append(rule)
        self._origins.append(origin)

    def _refuse(self, message: str) -> None:
        raise _TooLargeError.of(f"schema: {message}", self._located.location)


def _without_strategy(settings: Settings, overrides: Mapping[str, JsonValue]) -> Settings:
    """Return settings for which other options are given; another strategy replaces them."""
    if not any(key in overrides for key in STRATEGY_KEYS):
        return settings
    return {key: value for key, value in settings.items() if key in _KEPT}


def _marked_parts(located: Located) -> Iterator[tuple[int, Located]]:
    """Yield the schemas with options or references, by the identities of their values."""
    pending = [located]
    while pending:
        part = pending.pop()
        if OPTIONS_KEY in part.entries or _REFERENCE in part.entries:
            yield id(part.value), part
        pending.extend(part.entries.values())
        pending.extend(part.items)


def _at(value: JsonValue, location: Location) -> Located:
    """Return a value with one location for all its parts."""
    if isinstance(value, dict):
        entries = {key: _at(inner, location) for key, inner in value.items()}
        return Located(value=None, location=location).with_entries(entries)
    if isinstance(value, list):
        return located_list((_at(inner, location) for inner in value), location)
    return Located(value=value, location=location)
