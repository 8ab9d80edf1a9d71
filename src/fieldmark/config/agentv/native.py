"""An AgentV file in the native form, for people who leave AgentV's form behind."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from fieldmark.config.agentv.cases import AgentvCase
from fieldmark.config.agentv.dialect import Era
from fieldmark.config.agentv.graders import Graders
from fieldmark.config.agentv.reading import is_agentv, members_of
from fieldmark.config.agentv.suite import Suite, cases_without_candidate, read_suite
from fieldmark.config.agentv.yaml_text import yaml_text
from fieldmark.config.context import Context
from fieldmark.config.files import MAX_BYTES, load_file
from fieldmark.errors import ConfigError, Location, Problem
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing

__all__ = ["Imported", "import_agentv", "native_form"]


class Imported(NamedTuple):
    """The text of a native eval file, and what to know about it."""

    text: str
    cases: int
    warnings: tuple[Problem, ...]


def import_agentv(path: Path | str) -> Imported:
    """The native form of an AgentV file, with the documents that its cases name inside it."""
    file = str(path)
    marked = load_file(path)
    if not is_agentv(marked):
        hint = f"Its cases are called {' or '.join(Era)}."
        raise ConfigError.of("Not an eval file of AgentV.", Location(file), hint)
    context = Context(folder=Path(path).parent)
    suite = read_suite(marked, context)
    for graders in (suite.graders, *(case.graders for case in suite.cases)):
        members_of(graders, suite.location, context)
        _tell_of_scripts(graders, context)
    for missing in cases_without_candidate(suite):
        context.problems.warn(missing.message, missing.location)
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
        script = grader.entry.entries.get("script")
        if script is not None:
            said = "A script is looked for from the folder of the eval file."
            context.problems.warn(said, script.location, "Keep the new file beside the old one.")
