"""Convert AgentV files to native eval files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ruamel.yaml import YAML
from ruamel.yaml.representer import RoundTripRepresenter

from fieldmark.errors import ConfigError, Location, Problem
from fieldmark.model.json import JsonObject
from fieldmark.rules.agentv.suite import Era, convert_suite, is_agentv
from fieldmark.rules.config_files import MAX_BYTES, load_file
from fieldmark.rules.config_values import Context, Located
from fieldmark.rules.evaluators import read_evaluators

if TYPE_CHECKING:
    from ruamel.yaml.nodes import ScalarNode


class ImportedSuite(NamedTuple):
    """The text of a native eval file, the number of its cases, and warnings."""

    text: str
    cases: int
    warnings: tuple[Problem, ...]


def import_agentv(path: Path | str) -> ImportedSuite:
    """Convert an AgentV file; the documents of its cases are included."""
    file = str(path)
    located = load_file(path)
    if not is_agentv(located):
        hint = f"expected the key {' or '.join(map(repr, map(str, Era)))}"
        raise ConfigError.of("not an AgentV eval file", Location(file), hint)
    context = Context(directory=Path(path).parent)
    native, without_candidate = convert_suite(located, context)
    cases = native.entries["cases"].items
    for evaluators in (owner.get("evaluators") for owner in (native, *cases)):
        if evaluators is None:
            continue
        read_evaluators(evaluators, context)
        for script in _scripts(evaluators):
            message = "script paths are relative to the directory of the eval file"
            context.warn(message, script.location, "save the new file in the same directory")
    for missing in without_candidate:
        context.warn(missing.message, missing.location)
    context.problems.raise_any()
    text = yaml_text(cast("JsonObject", native.value))
    if len(text.encode()) > MAX_BYTES:
        hint = "run it without converting it, or move its cases to a JSONL file"
        message = f"the converted file exceeds the limit of {MAX_BYTES:,} bytes"
        raise ConfigError.of(message, Location(file), hint)
    return ImportedSuite(text, len(cases), context.problems.warnings)


def _scripts(evaluators: Located) -> Iterator[Located]:
    """Yield the scripts of evaluators, also of those in composites."""
    for entry in evaluators.items:
        if "script" in entry.entries:
            yield entry.entries["script"]
        if "evaluators" in entry.entries:
            yield from _scripts(entry.entries["evaluators"])


# --- writing YAML ---------------------------------------------------------------------------------

_PLAIN: Final = re.compile(r"[A-Za-z_](?:[\w .,/()&+'$-]*[\w.)$])?", re.ASCII)
_NOT_PLAIN: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
"""Words that some YAML parsers do not read as strings."""
_LINE: Final = r"[!-~\xa1-\u167f](?:[ -~\xa1-\u167f]*[!-~\xa1-\u167f])?"
_BLOCK: Final = re.compile(rf"(?:{_LINE}\n)+(?:{_LINE})?")
"""Lines that start and end with a visible character."""
_NO_WRAPPING: Final = 1_000_000_000


def yaml_text(value: JsonObject) -> str:
    """Write an object as readable YAML, without folded lines and aliases.

    >>> print(yaml_text({"total": 10, "id": "007", "notes": None}), end="")
    total: 10
    id: "007"
    notes: null
    """
    # Importing the YAML library takes longer than writing most files.

    class Representer(RoundTripRepresenter):
        """Quotes strings that a parser could misread, and uses no aliases."""

        def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - the library's signature
            return True

        def represent_text(self, data: str) -> ScalarNode:
            is_plain = _PLAIN.fullmatch(data) and data.lower() not in _NOT_PLAIN
            quoted = "|" if _BLOCK.fullmatch(data) else '"'
            style = None if is_plain else quoted
            return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)

        def represent_null(self, data: None) -> ScalarNode:  # noqa: ARG002
            return self.represent_scalar("tag:yaml.org,2002:null", "null")

    Representer.add_representer(str, Representer.represent_text)
    Representer.add_representer(type(None), Representer.represent_null)

    writer = YAML()
    writer.Representer = Representer
    writer.indent(mapping=2, sequence=4, offset=2)
    writer.width = _NO_WRAPPING
    stream = StringIO()
    writer.dump(value, stream)
    return stream.getvalue()
