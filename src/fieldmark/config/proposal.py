"""Writes proposed rules as a rules file in which each choice stands below its reason."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from fieldmark.model.json import JsonValue
from fieldmark.plan.infer import InferredRule

__all__ = ["render_proposal"]

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
_WORDS: Final = frozenset({"true", "false", "null"})
_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_WIDTHS: Final = ((0xFF, "x", 2), (0xFFFF, "u", 4), (0x10FFFF, "U", 8))


def render_proposal(proposals: Iterable[InferredRule], *, cases: int) -> str:
    """The text of a rules file, the same for the same proposals."""
    lines = [
        f"# Proposed from {cases} {'case' if cases == 1 else 'cases'}; the reason for each choice",
        "# stands above it. Change whatever you know better.",
        "scope: union",
        "defaults: {match: exact}",
    ]
    fields = list(proposals)
    if fields:
        lines.append("fields:")
    for proposal in fields:
        lines.append(f"  # {_one_line(proposal.reason)}")
        lines.append(f"  - {_flow({'path': proposal.path, **proposal.settings})}")
    return "\n".join(lines) + "\n"


def _flow(value: JsonValue) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_flow(key)}: {_flow(inner)}' for key, inner in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_flow, value))}]"
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) and value not in _WORDS else _quoted(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f"{value:f}".rstrip("0") if isinstance(value, float) else str(value)


def _quoted(text: str) -> str:
    return f'"{"".join(map(_character, text))}"'


def _character(character: str) -> str:
    """A character as it may stand between double quotes in YAML."""
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    sign, width = next((sign, width) for top, sign, width in _WIDTHS if code <= top)
    return f"\\{sign}{code:0{width}x}"


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)
