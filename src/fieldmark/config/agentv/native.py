"""Convert an AgentV file into a native eval file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from fieldmark.config.agentv.graders import Graders
from fieldmark.config.agentv.suite import (
    Era,
    Suite,
    build_evaluators,
    cases_without_candidate,
    is_agentv,
    read_suite,
)
from fieldmark.config.context import Context
from fieldmark.config.files import MAX_BYTES, load_file
from fieldmark.errors import ConfigError, Location, Problem
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing

if TYPE_CHECKING:
    from ruamel.yaml.nodes import ScalarNode

__all__ = ["ImportedSuite", "import_agentv", "yaml_text"]


class ImportedSuite(NamedTuple):
    """The text of a native eval file, the number of its cases, and warnings about it."""

    text: str
    cases: int
    warnings: tuple[Problem, ...]


def import_agentv(path: Path | str) -> ImportedSuite:
    """Convert an AgentV file; the documents that its cases name are included."""
    file = str(path)
    located = load_file(path)
    if not is_agentv(located):
        hint = f"Its cases are called {' or '.join(Era)}."
        raise ConfigError.of("Not an eval file of AgentV.", Location(file), hint)
    context = Context(folder=Path(path).parent)
    suite = read_suite(located, context)
    for graders in (suite.graders, *(case.graders for case in suite.cases)):
        build_evaluators(graders, suite.spec.location, context)
        for grader in graders.graders:
            script = grader.entry.get("script")
            if script is not None:
                message = "A script is looked for from the folder of the eval file."
                context.warn(message, script.location, "Keep the new file beside the old one.")
    for missing in cases_without_candidate(suite):
        context.warn(missing.message, missing.location)
    context.problems.raise_any()
    text = yaml_text(_native_form(suite))
    if len(text.encode()) > MAX_BYTES:
        hint = "Run it as it is, or put its cases into a JSONL file."
        message = f"In the native form it would be larger than {MAX_BYTES:,} bytes."
        raise ConfigError.of(message, Location(file), hint)
    return ImportedSuite(text, len(suite.cases), context.problems.warnings)


def _native_form(suite: Suite) -> JsonObject:
    spec = suite.spec
    cases: list[JsonValue] = [
        _without_missing(
            {
                "id": case.id,
                "tags": list(case.tags) or MISSING,
                "metadata": case.metadata or MISSING,
                "input": case.input,
                "expected": case.expected,
                "candidate": case.candidate,
                "evaluators": _entries(graders),
                "only_own": True if case.only_own else MISSING,
            }
        )
        for case, graders, _ in suite.cases
    ]
    return _without_missing(
        {
            "name": spec.name,
            "description": spec.description or MISSING,
            "metadata": spec.metadata or MISSING,
            "tags": list(spec.tags) or MISSING,
            "evaluators": _entries(suite.graders),
            "cases": cases,
        }
    )


def _entries(graders: Graders) -> JsonValue | Missing:
    return [grader.entry.value for grader in graders.graders] or MISSING


def _without_missing(entries: dict[str, JsonValue | Missing]) -> JsonObject:
    return {key: value for key, value in entries.items() if value is not MISSING}


# --- writing YAML ---------------------------------------------------------------------------------

_PLAIN: Final = re.compile(r"[A-Za-z_](?:[\w .,/()&+'$-]*[\w.)$])?", re.ASCII)
_NOT_PLAIN: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
"""Words that some YAML parser does not read as text."""
_LINE: Final = r"[!-~\xa1-\u167f](?:[ -~\xa1-\u167f]*[!-~\xa1-\u167f])?"
_BLOCK: Final = re.compile(rf"(?:{_LINE}\n)+(?:{_LINE})?")
"""Lines of which each begins and ends with a visible character."""
_NO_WRAPPING: Final = 1_000_000_000


def yaml_text(value: JsonObject) -> str:
    """Write an object as readable YAML: keys in their order, no folded lines, no aliases.

    >>> print(yaml_text({"total": 10, "id": "007", "notes": None}), end="")
    total: 10
    id: "007"
    notes: null
    """
    # The YAML library takes longer to import than most files take to write.
    from io import StringIO

    from ruamel.yaml import YAML
    from ruamel.yaml.representer import RoundTripRepresenter

    class Representer(RoundTripRepresenter):
        """Quotes all texts but those that no parser can misread, and uses no aliases."""

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
