"""An AgentV file as an evaluation that can be run."""

from __future__ import annotations

from pathlib import Path

from fieldmark.config.agentv.cases import AgentvCase
from fieldmark.config.agentv.dialect import era_of
from fieldmark.config.agentv.graders import Graders
from fieldmark.config.agentv.shaping import listed
from fieldmark.config.agentv.suite import cases_without_candidate, read_suite
from fieldmark.config.context import Context
from fieldmark.config.eval_spec import EvalSpec, InlineCase
from fieldmark.config.marked import Marked
from fieldmark.config.members import read_members
from fieldmark.errors import Location
from fieldmark.evaluators.base import ConfiguredEvaluator
from fieldmark.metrics.conventions import DEFAULT_CONVENTION

__all__ = ["is_agentv", "members_of", "read_agentv"]


def is_agentv(marked: Marked) -> bool:
    """Whether a file is one of AgentV's: its cases are called `evalcases` or `tests`."""
    return era_of(marked) is not None


def read_agentv(marked: Marked, context: Context) -> EvalSpec:
    """The evaluation that a file of AgentV describes; problems go to the context."""
    suite = read_suite(marked, context)
    for missing in cases_without_candidate(suite):
        context.problems.add(missing.message, missing.location, missing.hint)
    return EvalSpec(
        name=suite.name,
        description=suite.description,
        location=suite.location,
        folder=context.folder or Path(),
        cases=tuple(_case(case, context) for case in suite.cases),
        convention=DEFAULT_CONVENTION,
        evaluators=members_of(suite.graders, suite.location, context),
        tags=suite.tags,
        metadata=suite.metadata,
        warnings=context.problems.warnings,
    )


def _case(case: AgentvCase, context: Context) -> InlineCase:
    return InlineCase(
        id=case.id,
        expected=case.expected,
        candidate=case.candidate,
        input=case.input,
        metadata=case.metadata or None,
        tags=case.tags,
        evaluators=members_of(case.graders, case.location, context),
        only_own=case.only_own,
        location=case.location,
    )


def members_of(
    graders: Graders, location: Location, context: Context
) -> tuple[ConfiguredEvaluator, ...]:
    """The evaluators of some graders; what they cannot take goes to the problems."""
    entries = (grader.entry for grader in graders.graders)
    return read_members(listed(entries, location), context)
