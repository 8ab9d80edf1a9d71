"""Write proposed rules as a rules file, with a comment that gives the reason for each rule."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from fieldmark.model.json import JsonValue
from fieldmark.plan.infer import InferredRule
from fieldmark.values.text import plural

__all__ = ["render_proposal"]

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
_WORDS: Final = frozenset({"true", "false", "null"})


def render_proposal(proposals: Iterable[InferredRule], *, cases: int) -> str:
    """Return the text of a rules file."""
    lines = [
        f"# Proposed from {plural(cases, 'case')}. The comment above each rule gives the reason.",
        "# Review the rules before you use them.",
        "scope: union",
        "defaults: {match: exact}",
    ]
    fields = list(proposals)
    if fields:
        lines.append("fields:")
    for proposal in fields:
        reason = "".join(each if each.isprintable() else " " for each in proposal.reason)
        lines.append(f"  # {reason}")
        lines.append(f"  - {_flow_style({'path': proposal.path, **proposal.settings})}")
    return "\n".join(lines) + "\n"


def _flow_style(value: JsonValue) -> str:
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
