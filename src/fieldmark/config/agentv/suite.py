"""Reads a whole AgentV file, whichever version wrote it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from fieldmark.config.agentv.cases import AgentvCase, graders_of, read_case, tags_of
from fieldmark.config.agentv.dialect import SUITE, Era, check_keys, first_of
from fieldmark.config.agentv.fixtures import Fixtures
from fieldmark.config.agentv.graders import Graders
from fieldmark.config.context import Context
from fieldmark.config.marked import Marked
from fieldmark.config.option_values import describe
from fieldmark.errors import Location, Problem
from fieldmark.model.json import JsonObject

__all__ = ["Suite", "cases_without_candidate", "read_suite"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A file of AgentV in native words."""

    name: str
    description: str
    metadata: JsonObject
    tags: tuple[str, ...]
    graders: Graders
    cases: tuple[AgentvCase, ...]
    location: Location


def read_suite(marked: Marked, context: Context) -> Suite:
    """The cases and graders of a file; all that cannot be used goes to the problems."""
    check_keys(marked, SUITE, context)
    graders, _ = graders_of(marked, context)
    fixtures = Fixtures(context)
    cases = tuple(
        read_case(each, marked, fixtures, context) for each in _case_objects(marked, context)
    )
    _tell_of_ungraded(
        [*graders.criteria, *(text for case in cases for text in case.graders.criteria)], context
    )
    _refuse_repeated_ids(cases, context)
    for case in cases:
        _check_graders(case, graders, context)
    return Suite(
        name=_name(marked),
        description=_text(marked, "description"),
        metadata=_metadata(marked),
        tags=tags_of(marked),
        graders=graders,
        cases=cases,
        location=marked.location,
    )


def cases_without_candidate(suite: Suite) -> Iterator[Problem]:
    """Each case whose candidate nobody would produce."""
    for case in suite.cases:
        if case.files != 1:
            named = f"{case.files} JSON files" if case.files else "no JSON file"
            said = f"The case {case.id} has no candidate: its input names {named}."
            hint = "Import the file, and give the case candidate:, or all candidates: or target:."
            yield Problem(said, case.location, hint)


def _case_objects(marked: Marked, context: Context) -> Sequence[Marked]:
    given = first_of(marked, *Era)
    if given is None:
        return ()
    if not isinstance(given.value, list) or not given.items:
        hint = "Cases in files of their own are not read: put them here."
        context.problems.add(f"Not a list of cases: {describe(given.value)}.", given.location, hint)
        return ()
    for each in given.items:
        if not isinstance(each.value, dict):
            context.problems.add(f"Not a case: {describe(each.value)}.", each.location)
    return [each for each in given.items if isinstance(each.value, dict)]


def _tell_of_ungraded(texts: Sequence[Marked], context: Context) -> None:
    if texts:
        said = f"{len(texts)} of the graders are texts, for a language model to judge by."
        hint = "They are not graded; a case keeps its own as criteria in its metadata."
        context.problems.warn(said, texts[0].location, hint)


def _refuse_repeated_ids(cases: Sequence[AgentvCase], context: Context) -> None:
    first: dict[str, AgentvCase] = {}
    for case in cases:
        earlier = first.setdefault(case.id, case)
        if earlier is not case and case.id:
            hint = f"It is first given on line {earlier.location.line}."
            context.problems.add(f"Duplicate id: {case.id}.", case.location, hint)


def _check_graders(case: AgentvCase, common: Graders, context: Context) -> None:
    sources = (case.graders,) if case.only_own else (case.graders, common)
    if not any(source.written for source in sources):
        hint = "AgentV would ask a language model; add graders that compare fields."
        context.problems.add(f"Nothing grades the case {case.id}.", case.location, hint)
    text_only = any(grader.text_only for source in sources for grader in source.graders)
    if text_only and isinstance(case.expected, dict | list):
        hint = "Name the fields: type: field_accuracy, with match: fuzzy for each."
        said = f"The case {case.id} expects a document, and one of its graders compares texts."
        context.problems.add(said, case.location, hint)


def _name(marked: Marked) -> str:
    """The name that the file gives itself, or its own without the endings."""
    name = PurePath(marked.location.file).stem.removesuffix(".eval")
    return _text(marked, "name") or name or "agentv"


def _text(marked: Marked, key: str) -> str:
    given = marked.entries.get(key)
    return given.value if given is not None and isinstance(given.value, str) else ""


def _metadata(marked: Marked) -> JsonObject:
    given = marked.entries.get("metadata")
    return given.value if given is not None and isinstance(given.value, dict) else {}
