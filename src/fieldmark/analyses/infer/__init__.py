"""Propose rules from data, a JSON Schema, a pydantic model or another class."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, TypeAlias

from fieldmark.analyses.arguments import checked
from fieldmark.analyses.infer.rule_inferrer import InferredRule, RuleInferrer
from fieldmark.analyses.infer.schema_rules import is_json_schema, rules_of_schema
from fieldmark.data.inputs import InputLike, Inputs
from fieldmark.data.pairing import open_pairs, open_truth
from fieldmark.errors import ConfigError, DataError, MissingExtra
from fieldmark.model.case import CaseInput
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.rule import Rule
from fieldmark.rules.config_files import MAX_TABLE_BYTES, load_table
from fieldmark.rules.config_values import Located, Problems, locate
from fieldmark.rules.rules_file import read_rules
from fieldmark.runs.disk import write_atomic
from fieldmark.runs.run_options import InputsLike, read_inputs, with_yaml
from fieldmark.values.paths import parse_path
from fieldmark.values.text import plural
from fieldmark.values.value_types import reference_of

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
_WORDS: Final = frozenset({"true", "false", "null"})


def proposed_rules(
    proposals: Iterable[InferredRule], empty_tokens: Iterable[str] = ()
) -> JsonObject:
    """Return the content of a rules file."""
    fields: list[JsonValue] = [{"path": rule.path, **rule.settings} for rule in proposals]
    shared: JsonObject = {"scope": "union", "defaults": {"match": "exact"}}
    tokens: list[JsonValue] = [*empty_tokens]
    if tokens:
        shared["empty_tokens"] = tokens
    return {**shared, "fields": fields} if fields else shared


def render_proposal(
    proposals: Sequence[InferredRule],
    *,
    source: str,
    warnings: Iterable[str] = (),
    empty_tokens: Mapping[str, int] | None = None,
) -> str:
    """Return the text of a rules file; `source` names the data or the schema.

    `empty_tokens` are words for empty values, with their numbers in predictions.
    """
    tokens = empty_tokens or {}
    lines = [
        *(f"# warning: {_comment(text)}" for text in warnings),
        f"# Proposed from {_comment(source)}. The comment above each rule gives the reason.",
        "# Review the rules before you use them.",
    ]
    content = proposed_rules(proposals, tokens)
    lines += [f"{key}: {_flow_style(content[key])}" for key in ("scope", "defaults")]
    if tokens:
        counts = ", ".join(f"{_comment(word)}: {number:,}" for word, number in tokens.items())
        lines.append(f"# words in predictions where the ground truth has no value ({counts})")
        lines.append(f"empty_tokens: {_flow_style(content['empty_tokens'])}")
    if proposals:
        lines.append("fields:")
    for proposal in proposals:
        lines.append(f"  # {_comment(proposal.reason)}")
        lines.append(f"  - {_flow_style({'path': proposal.path, **proposal.settings})}")
    return "\n".join(lines) + "\n"


def _comment(text: str) -> str:
    """Return text that cannot end a comment, although it may contain names from data."""
    return "".join(character if character.isprintable() else " " for character in text)


def _flow_style(value: JsonValue) -> str:
    plain: object = value
    if callable(plain):
        value = reference_of(plain)
    if isinstance(value, dict):
        pairs = (f"{_flow_style(key)}: {_flow_style(inner)}" for key, inner in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_flow_style, value))}]"
    if isinstance(value, str):
        is_plain = _PLAIN.fullmatch(value) and value not in _WORDS
        return value if is_plain else f'"{"".join(map(_escape, value))}"'
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f"{value:f}".rstrip("0") if isinstance(value, float) else str(value)


def _escape(character: str) -> str:
    """Escape a character for a double-quoted YAML string."""
    if character == '"':
        return '\\"'
    if character.isprintable() and character != "\\":
        return character
    return character.encode("unicode_escape").decode("ascii")


SchemaSource: TypeAlias = type | Mapping[str, object] | str | Path
"""A pydantic model or another class, a JSON Schema, or the path of a file with one."""
_SUFFIXES: Final = frozenset((".json", ".yaml", ".yml"))
_KEYWORDS: Final = (b"$schema", b"properties", b"$defs")


class ProposedRules(Mapping[str, JsonValue]):
    """Proposed rules: a mapping that other functions accept as `rules`.

    Its text is a rules file with a reason for each rule. `source` names the data or the schema,
    `warnings` name fields that are left to the defaults, and `empty_tokens` are words for empty
    values, with their numbers in predictions.
    """

    __slots__ = ("_content", "_rules", "empty_tokens", "is_from_schema", "source", "warnings")

    def __init__(
        self,
        rules: Sequence[InferredRule],
        source: str,
        warnings: Sequence[str] = (),
        *,
        is_from_schema: bool,
        empty_tokens: Mapping[str, int] | None = None,
    ) -> None:
        self.is_from_schema = is_from_schema
        self.empty_tokens = empty_tokens or {}
        self._rules = tuple(rules)
        self._content: JsonObject = proposed_rules(self._rules, self.empty_tokens)
        self.source = source
        self.warnings = tuple(warnings)

    def __getitem__(self, key: str) -> JsonValue:
        return self._content[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)

    def __str__(self) -> str:
        return render_proposal(
            self._rules,
            source=self.source,
            warnings=self.warnings,
            empty_tokens=self.empty_tokens,
        )

    @property
    def reasons(self) -> JsonObject:
        """The reason for each rule, by path."""
        return {rule.path: rule.reason for rule in self._rules}

    def __repr__(self) -> str:
        return f"<ProposedRules from {self.source}: {plural(len(self._rules), 'rule')}>"

    def save(self, path: str | Path) -> None:
        """Write the rules file; an existing file is replaced."""
        write_atomic(Path(path), str(self).encode("utf-8", "replace"))


# --- from data ------------------------------------------------------------------------------------


@checked
def infer(
    truth: InputLike, candidate: InputLike | None = None, *, inputs: InputsLike = None
) -> str:
    """Return the text of a rules file that fits the data, with a reason for every rule.

    Args:
        truth: Ground truth as for `score`. A single JSON or YAML file that is a JSON Schema is read
            as in `rules_from`.
        candidate: Predictions, which show how values may differ.
        inputs: How rows are read.

    >>> import fieldmark as fm
    >>> print(fm.infer([{"issued": "2024-05-03"}, {"issued": "2024-06-01"}]).splitlines()[-1])
      - {path: issued, match: date}
    """
    return str(propose_rules(truth, candidate, read_inputs(inputs)))


def propose_rules(truth: InputLike, candidate: InputLike | None, options: Inputs) -> ProposedRules:
    """Return proposed rules for data, or for the values that a JSON Schema describes."""
    schema = None if candidate is not None or options != Inputs() else _json_schema(truth)
    if schema is not None:
        return _rules_of(schema, f"the JSON Schema {Path(schema.location.file).name}")
    inferrer = RuleInferrer(lambda rules: read_rules(proposed_rules(rules)).rules)
    truth, candidate = with_yaml(truth), with_yaml(candidate)
    stream = (
        open_truth(truth, options) if candidate is None else open_pairs(truth, candidate, options)
    )
    first_error = ""
    with closing(stream):
        for batch in stream.batches():
            for case in batch:
                if case.input is CaseInput.INVALID_TRUTH:
                    first_error = first_error or case.note
                else:
                    inferrer.add(case.expected, case.candidate)
    if first_error and not inferrer.cases:
        raise DataError(f"cannot read any ground truth; first error: {first_error}")
    warnings = (*stream.structural, *stream.warnings)
    proposed = inferrer.rules()
    if options.preset is not None or options.format_in is not None:
        from fieldmark.data.presets import reader_rules  # only for such files

        declared = reader_rules(options)
        proposed = [rule for rule in proposed if not _is_declared(rule.path, declared)]
    return ProposedRules(
        proposed,
        plural(inferrer.cases, "case"),
        warnings,
        is_from_schema=False,
        empty_tokens=inferrer.empty_tokens(proposed),
    )


def _is_declared(path: str, declared: Iterable[Rule]) -> bool:
    """Whether the reader of the inputs has a rule for a path, or for a value around it."""
    segments = parse_path(path).segments
    for rule in declared:
        own = parse_path(rule.path).segments
        if segments == own or (rule.comparator is not None and segments[: len(own)] == own):
            return True
    return False


def _json_schema(truth: InputLike) -> Located | None:
    """Return a file if it contains a JSON Schema."""
    if not isinstance(truth, str | Path) or Path(truth).suffix.lower() not in _SUFFIXES:
        return None
    try:
        if not Path(truth).is_file():
            return None  # a pipe can be read only once
        with Path(truth).open("rb") as file:
            start = file.read(MAX_TABLE_BYTES)
        # Most data files are not parsed twice.
        if not any(keyword in start for keyword in _KEYWORDS):
            return None
        located = load_table(truth)
    except (OSError, ConfigError):
        return None  # the error is reported when the file is read as data
    return located if is_json_schema(located.value) else None


# --- from a schema or a class ---------------------------------------------------------------------


@checked
def rules_from(source: SchemaSource) -> ProposedRules:
    """Propose rules from a class or a JSON Schema.

    The result can be passed as `rules`; its text is a rules file with a reason for each rule.

    Args:
        source: A pydantic model, a JSON Schema as a mapping or a file, or if pydantic is installed,
            a dataclass or a TypedDict.

    >>> import fieldmark as fm
    >>> schema = {"properties": {"total": {"type": "number"}, "due": {"format": "date"}}}
    >>> rules = fm.rules_from(schema)
    >>> fm.compare({"total": 5, "due": "2024-05-03"}, {"total": "5.0", "due": "3 May 2024"},
    ...            rules=rules).score
    1.0
    >>> print(rules)  # doctest: +ELLIPSIS
    # Proposed from a JSON Schema. The comment above each rule gives the reason.
    ...
      # numbers, compared by value
      - {path: total, match: numeric_tolerance, tolerance: 0}
      # ISO dates, compared by day
      - {path: due, match: date}
    <BLANKLINE>
    """
    if isinstance(source, str | Path):
        return _rules_of(load_table(source), f"the JSON Schema {Path(source).name}")
    name = "a JSON Schema"
    if not isinstance(source, Mapping):
        name = f"the class {source.__name__}"
        source = _schema_of(source)
    problems = Problems()
    located = locate(source, problems)
    problems.raise_any()
    return _rules_of(located, name)


def _rules_of(schema: Located, name: str) -> ProposedRules:
    """Return the rules of a schema that was read from a file or a class with this name."""
    rules, warnings = rules_of_schema(schema)
    return ProposedRules(rules, name, [str(warning) for warning in warnings], is_from_schema=True)


def _schema_of(source: type) -> Mapping[str, object]:
    describe = getattr(source, "model_json_schema", None)
    if describe is None:
        try:
            from pydantic import TypeAdapter
            from pydantic.errors import PydanticUserError
        except ImportError:
            raise MissingExtra(f"rules from {source.__name__}", "server") from None
        try:
            return TypeAdapter(source).json_schema()
        except PydanticUserError as error:
            message = f"source: {source.__name__} has no JSON Schema: {error.message}"
            raise TypeError(message) from None
    schema = describe()
    if not isinstance(schema, Mapping):
        raise TypeError(f"source: model_json_schema() of {source.__name__} returned no mapping")
    return schema
