"""Candidates made while a run goes on: some cases ahead, in the order of the cases."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future
from functools import partial
from typing import Final, NamedTuple, cast

from fieldmark.config.eval_spec import Target
from fieldmark.data.inputs import Role
from fieldmark.data.json_documents import to_json_value
from fieldmark.data.json_parser import JsonDialect
from fieldmark.data.model_text import parse_model_text
from fieldmark.errors import DataError
from fieldmark.judges.request import request_of as judge_request
from fieldmark.model.case import Case, CaseContext, CaseInput
from fieldmark.model.json import MISSING, JsonObject
from fieldmark.run.targets.asking import Asking, Produced, Source
from fieldmark.run.targets.cache import AnswerCache
from fieldmark.run.targets.crew import Crew, crew_of
from fieldmark.run.targets.patience import PAUSES, Pauses, patient

__all__ = ["Asked", "produced", "request_of"]

_AHEAD: Final = 4
"""So many cases for each thread are under way or wait for their turn."""
_TOLD: Final = ("case_id", "input", "question", "metadata")
_WANTING: Final = frozenset({CaseInput.OK, CaseInput.MISSING})


class Asked(NamedTuple):
    """A case with its candidate; or without, and why the target could not make one.

    A failure is a fault of the machinery: its case is an error, never an omission.
    """

    case: Case
    failure: str = ""


def produced(
    target: Target,
    cases: Iterable[Case],
    *,
    warn: Callable[[str], None] = lambda _: None,
    dialect: JsonDialect | None = None,
    pauses: Pauses = PAUSES,
) -> Generator[Asked, None, None]:
    """Every case with a candidate of the target, in their order; only a few are held at a time.

    Cases that have a candidate keep it, and a case whose truth cannot be read is passed on as it
    is. `warn` is told what deserves a word, from any thread.
    """
    source = cast("Source", target.source)
    taken = JsonDialect(role=Role.CANDIDATE) if dialect is None else dialect
    size = max(1, target.concurrency)
    with source.opened(target.timeout) as ask, crew_of(size) as crew:
        answering = _answering(target, ask, crew, pauses, warn)
        waiting: deque[tuple[Case, Future[Produced] | None]] = deque()
        for case in cases:
            task = partial(answering, request_of(case)) if _wants(case) else None
            waiting.append((case, None if task is None else crew.start(task)))
            if len(waiting) >= size * _AHEAD:
                yield _asked(*waiting.popleft(), taken)
        while waiting:
            yield _asked(*waiting.popleft(), taken)


def _answering(
    target: Target, ask: Asking, crew: Crew, pauses: Pauses, warn: Callable[[str], None]
) -> Asking:
    again = patient(ask, max(0, target.retries), pauses, crew.interrupted)
    if target.cache is None:
        return again
    identity: JsonObject = {target.type: cast("Source", target.source).identity()}
    return AnswerCache(target.cache, identity, warn).asking(again)


def request_of(case: Case) -> JsonObject:
    """What a target is told of a case: never the truth.

    >>> request_of(Case("a", {"total": 1}))
    {'case_id': 'a', 'input': None, 'question': '', 'metadata': {}}
    """
    told = judge_request(case, {})
    return {key: told[key] for key in _TOLD}


def _wants(case: Case) -> bool:
    return case.candidate is MISSING and case.input in _WANTING


def _asked(case: Case, answer: Future[Produced] | None, dialect: JsonDialect) -> Asked:
    """A case as its answer leaves it."""
    if answer is None:
        return Asked(case)
    got = answer.result()
    if got.failure:
        return Asked(case, got.failure)
    context = (case.context or CaseContext())._replace(text=got.text)
    case = case._replace(input=CaseInput.OK, note="", context=context)
    if got.text is None:
        value = MISSING if got.value is MISSING else to_json_value(got.value, dialect)
        return Asked(case._replace(candidate=value))
    if isinstance(case.expected, str):
        return Asked(case._replace(candidate=got.text))
    try:
        found = parse_model_text(got.text, dialect)
    except DataError as error:
        return Asked(case._replace(input=CaseInput.PARSE_ERROR, note=error.message))
    return Asked(case._replace(candidate=found.value, parsed_from=found.parsed_from))
