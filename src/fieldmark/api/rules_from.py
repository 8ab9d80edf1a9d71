"""Propose rules from a pydantic model, another class or a JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from fieldmark.api.arguments import checked
from fieldmark.api.proposed_rules import ProposedRules
from fieldmark.config.context import Problems
from fieldmark.config.files import load_table
from fieldmark.config.located import Located, locate
from fieldmark.config.schema_rules import rules_of_schema
from fieldmark.errors import MissingExtra

__all__ = ["SchemaSource", "rules_from", "rules_of_located_schema"]

SchemaSource: TypeAlias = type | Mapping[str, object] | str | Path
"""A pydantic model or another class, a JSON Schema, or the path of a file with one."""


@checked
def rules_from(source: SchemaSource) -> ProposedRules:
    """Propose rules from a pydantic model, or from a JSON Schema as a mapping or a file.

    A dataclass or a TypedDict works too if pydantic is installed. The result can be passed as
    `rules`; its text is a rules file with a reason for each rule.

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
        return rules_of_located_schema(load_table(source), f"the JSON Schema {Path(source).name}")
    name = "a JSON Schema"
    if not isinstance(source, Mapping):
        name = f"the class {source.__name__}"
        source = _schema_of(source)
    problems = Problems()
    located = locate(source, problems)
    problems.raise_any()
    return rules_of_located_schema(located, name)


def rules_of_located_schema(schema: Located, name: str) -> ProposedRules:
    """Return the rules of a schema that was read from a file or a class with this name."""
    rules, warnings = rules_of_schema(schema)
    return ProposedRules(rules, name, [str(each) for each in warnings], is_from_schema=True)


def _schema_of(source: type) -> Mapping[str, object]:
    """Return the JSON Schema of a class."""
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
