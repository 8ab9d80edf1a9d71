"""Write proposed rules as a rules file, with a comment that gives the reason for each rule."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.plan.proposals import InferredRule
from fieldmark.values.value_types import reference_of

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
_WORDS: Final = frozenset({"true", "false", "null"})


def proposed_rules(proposals: Iterable[InferredRule]) -> JsonObject:
    """Return the content of a rules file."""
    fields: list[JsonValue] = [{"path": each.path, **each.settings} for each in proposals]
    shared: JsonObject = {"scope": "union", "defaults": {"match": "exact"}}
    return {**shared, "fields": fields} if fields else shared


def render_proposal(
    proposals: Sequence[InferredRule], *, source: str, warnings: Iterable[str] = ()
) -> str:
    """Return the text of a rules file; `source` names what the rules are proposed from."""
    lines = [
        *(f"# warning: {_comment(text)}" for text in warnings),
        f"# Proposed from {_comment(source)}. The comment above each rule gives the reason.",
        "# Review the rules before you use them.",
    ]
    content = proposed_rules(proposals)
    lines += [f"{key}: {_flow_style(content[key])}" for key in ("scope", "defaults")]
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
    given: object = value
    if callable(given):
        value = reference_of(given)
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
