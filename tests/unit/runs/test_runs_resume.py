"""The results of cases that an interrupted run has saved."""

from __future__ import annotations

import pytest

import fieldmark as fm
from fieldmark.errors import DataError
from fieldmark.model.case import Case
from fieldmark.model.json import MISSING
from fieldmark.model.rule import Rules
from fieldmark.plan import compile_plan
from fieldmark.runs.resume import StoredResults
from fieldmark.runs.stored_run import open_run

SAVED = {"total": 1, "vendor": "Acme"}
EXPECTED = {"total": 1, "vendor": "Acne"}


def stored_results(directory, *, values):
    """Return the stored results of a run of two cases."""
    cases = [{"id": name, "expected": EXPECTED, "candidate": SAVED} for name in "ab"]
    fm.score(cases, out=directory, values=values)
    return StoredResults(open_run(directory), compile_plan(Rules()), {}, segments=1)


@pytest.mark.parametrize(
    ("values", "candidate", "restored"),
    [
        pytest.param(True, SAVED, SAVED, id="saved"),
        pytest.param(True, MISSING, SAVED, id="saved-and-produced-by-a-target"),
        pytest.param(False, SAVED, SAVED, id="only-in-the-input"),
        pytest.param(False, MISSING, MISSING, id="nowhere"),
    ],
)
def test_candidate_is_the_saved_one_or_else_that_of_the_input(
    tmp_path, values, candidate, restored
):
    stored = stored_results(tmp_path / "run", values=values)
    cases = [Case(name, EXPECTED, candidate) for name in "ab"]
    results = stored.restore(0, cases)
    assert [(result.id, result.expected, result.candidate) for result in results] == [
        ("a", EXPECTED, restored),
        ("b", EXPECTED, restored),
    ]
    assert [result.score for result in results] == [0.5, 0.5]
    assert stored.restore(1, cases) is None


@pytest.mark.parametrize(
    ("names", "message"),
    [
        pytest.param("ax", "case 'x' instead of 'b'", id="another-case"),
        pytest.param("a", "segment with 1 cases instead of 2", id="fewer-cases"),
        pytest.param("abc", "segment with 3 cases instead of 2", id="more-cases"),
    ],
)
def test_segment_with_other_cases_is_an_error(tmp_path, names, message):
    stored = stored_results(tmp_path / "run", values=True)
    with pytest.raises(DataError, match=message):
        stored.restore(0, [Case(name, EXPECTED, SAVED) for name in names])
