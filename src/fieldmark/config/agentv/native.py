"""An AgentV file in the native form, for people who leave AgentV's form behind."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from fieldmark.config.agentv.dialects import Era
from fieldmark.config.agentv.graders import Graders
from fieldmark.config.agentv.suite import (
    AgentvCase,
    Suite,
    cases_without_candidate,
    is_agentv,
    members_of,
    read_suite,
)
from fieldmark.config.context import Context
from fieldmark.config.files import MAX_BYTES, load_file
from fieldmark.errors import ConfigError, Location, Problem
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing

if TYPE_CHECKING:
    from ruamel.yaml.nodes import ScalarNode
    from ruamel.yaml.representer import RoundTripRepresenter

__all__ = ["Imported", "import_agentv", "native_form", "yaml_text"]


class Imported(NamedTuple):
    """The text of a native eval file, and what to know about it."""

    text: str
    cases: int
    warnings: tuple[Problem, ...]


def import_agentv(path: Path | str) -> Imported:
    """The native form of an AgentV file, with the documents that its cases name inside it."""
    file = str(path)
    located = load_file(path)
    if not is_agentv(located):
        hint = f"Its cases are called {' or '.join(Era)}."
        raise ConfigError.of("Not an eval file of AgentV.", Location(file), hint)
    context = Context(folder=Path(path).parent)
    suite = read_suite(located, context)
    for graders in (suite.graders, *(case.graders for case in suite.cases)):
        members_of(graders, suite.location, context)
        _tell_of_scripts(graders, context)
    for missing in cases_without_candidate(suite):
        context.warn(missing.message, missing.location)
    context.problems.raise_any()
    text = yaml_text(native_form(suite))
    if len(text.encode()) > MAX_BYTES:
        hint = "Run it as it is, or put its cases into a JSONL file."
        said = f"In the native form it would be larger than {MAX_BYTES:,} bytes."
        raise ConfigError.of(said, Location(file), hint)
    return Imported(text, len(suite.cases), context.problems.warnings)


def native_form(suite: Suite) -> JsonObject:
    """The same evaluation as an eval file says it; what is not said there is left out."""
    return _said(
        {
            "name": suite.name,
            "description": suite.description or MISSING,
            "metadata": suite.metadata or MISSING,
            "tags": list(suite.tags) or MISSING,
            "evaluators": [grader.entry.value for grader in suite.graders.graders] or MISSING,
            "cases": [_case(case) for case in suite.cases],
        }
    )


def _case(case: AgentvCase) -> JsonObject:
    return _said(
        {
            "id": case.id,
            "tags": list(case.tags) or MISSING,
            "metadata": case.metadata or MISSING,
            "input": case.input,
            "expected": case.expected,
            "candidate": case.candidate,
            "evaluators": [grader.entry.value for grader in case.graders.graders] or MISSING,
            "only_own": True if case.only_own else MISSING,
        }
    )


def _said(entries: dict[str, JsonValue | Missing]) -> JsonObject:
    return {key: value for key, value in entries.items() if value is not MISSING}


def _tell_of_scripts(graders: Graders, context: Context) -> None:
    for grader in graders.graders:
        script = grader.entry.get("script")
        if script is not None:
            said = "A script is looked for from the folder of the eval file."
            context.warn(said, script.location, "Keep the new file beside the old one.")


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
