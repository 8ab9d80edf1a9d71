"""What evaluators said of a case, as part of its row in `results.jsonl`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from fieldmark.evaluators.base import EvaluatorResult, Score
from fieldmark.model.case import Case
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.values.json_text import finite_json

__all__ = ["failed_row", "with_results"]

_MAY_QUOTE: Final = frozenset({"details", "reasoning"})
_ALL_TEXTS: Final = _MAY_QUOTE | {"hits", "misses", "skipped"}
_QUOTING: Final = re.compile(r" \(([^():]+): .*\)\Z", re.DOTALL)
"""A remark behind a path that goes into particulars: an objection of a guard, an error."""


def with_results(
    row: bytes, score: Score, results: Sequence[EvaluatorResult], *, values: bool = True
) -> bytes:
    """A row with the lists of the case and with every evaluator's result.

    Details stay as the evaluator gave them: they are the user's. Without `values`, only what
    cannot quote a document is kept: the paths that evaluators by fields name, and all scores.
    """
    said: JsonObject = {"evaluator_results": [_result(each, values=values) for each in results]}
    if values:
        lists: JsonObject = {"hits": list(score.hits), "misses": list(score.misses)}
        said = {**lists, "reasoning": score.reasoning, **said}
    else:
        said |= {"hits_total": len(score.hits), "misses_total": len(score.misses)}
    return b"%s,%s\n" % (row.rstrip()[:-1], finite_json(said)[1:])


def _result(result: EvaluatorResult, *, values: bool) -> JsonObject:
    said = result.to_dict()
    if values:
        return said
    if not result.paths_only:
        return {key: value for key, value in said.items() if key not in _ALL_TEXTS}
    misses: list[JsonValue] = [_QUOTING.sub(r" (\1)", miss) for miss in result.score.misses]
    kept = {key: value for key, value in said.items() if key not in _MAY_QUOTE}
    return {**kept, "misses": misses}


def failed_row(case: Case, *, values: bool = True) -> bytes:
    """The row of a case for which no candidate could be produced: an error, and why.

    A reason may quote what the target was given, so it goes with the values.
    """
    said = {
        "case_id": case.id,
        "score": None,
        "verdict": None,
        "status": "error",
        "input": case.input.value,
        "reasoning": case.note if values else "",
        "evaluator_results": [],
        **({"tags": list(case.tags)} if case.tags else {}),
    }
    return finite_json(said) + b"\n"
