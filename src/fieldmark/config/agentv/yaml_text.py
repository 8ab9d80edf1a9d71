"""Writes a JSON value as YAML that people like to read and that reads back as the same value."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fieldmark.model.json import JsonObject

if TYPE_CHECKING:
    from ruamel.yaml.nodes import ScalarNode
    from ruamel.yaml.representer import RoundTripRepresenter

__all__ = ["yaml_text"]

_PLAIN: Final = re.compile(r"[A-Za-z_](?:[\w .,/()&+'$-]*[\w.)$])?", re.ASCII)
_WORDS: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
"""Words that some reader of YAML takes for something else than text."""
_LINE: Final = r"[!-~\xa1-\u167f](?:[ -~\xa1-\u167f]*[!-~\xa1-\u167f])?"
_BLOCK: Final = re.compile(rf"(?:{_LINE}\n)+(?:{_LINE})?")
"""Lines of which each begins and ends with a letter or sign that every reader can see."""
_TEXT: Final = "tag:yaml.org,2002:str"
_NULL: Final = "tag:yaml.org,2002:null"
_NEVER_FOLDED: Final = 1_000_000_000


def yaml_text(value: JsonObject) -> str:
    """An object as a YAML document: its keys in their order, no line folded, no alias.

    >>> print(yaml_text({"total": 10, "id": "007", "notes": None}), end="")
    total: 10
    id: "007"
    notes: null
    """
    # The YAML library takes longer to import than most files take to write.
    from io import StringIO

    from ruamel.yaml import YAML

    writer = YAML()
    writer.Representer = _representer()
    writer.indent(mapping=2, sequence=4, offset=2)
    writer.width = _NEVER_FOLDED
    stream = StringIO()
    writer.dump(value, stream)
    return stream.getvalue()


def _representer() -> type[RoundTripRepresenter]:
    from ruamel.yaml.representer import RoundTripRepresenter

    class Plain(RoundTripRepresenter):
        """Texts quoted unless they cannot be anything else, and nothing said by reference."""

        def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - the library's signature
            return True

        def text(self, data: str) -> ScalarNode:
            return self.represent_scalar(_TEXT, data, style=_style(data))

        def nothing(self, data: None) -> ScalarNode:  # noqa: ARG002
            return self.represent_scalar(_NULL, "null")

    Plain.add_representer(str, Plain.text)
    Plain.add_representer(type(None), Plain.nothing)
    return Plain


def _style(text: str) -> str | None:
    """How a text is written: bare, as lines of its own, or in double quotes."""
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return None
    return "|" if _BLOCK.fullmatch(text) else '"'
