"""A run without values: paths and scores are unchanged, and no text quotes a document."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from fieldmark.evaluators.base import EvaluatorResult, Score
from fieldmark.metrics.summary import summary_from_json
from fieldmark.model.case import Verdict
from fieldmark.model.json import MISSING
from fieldmark.model.outcomes import Outcomes
from fieldmark.report.exports.json import Json
from unit.report.exported import ordinary_run

QUOTE = "Acme twelve"


@pytest.fixture
def run(tmp_path):
    """A run in which every text that may quote a value does so."""
    plain = ordinary_run(tmp_path / "run", min={"micro.f1": 0.1})

    def with_quotes(case):
        comparisons = {
            index: item._replace(note=QUOTE) for index, item in case.outcomes.comparisons.items()
        }
        score = Score(
            score=0.5, verdict=Verdict.PARTIAL, reasoning=QUOTE, hits=(QUOTE,), misses=(QUOTE,),
            skipped=(QUOTE,), details={"quote": QUOTE},
        )  # fmt: skip
        judge = EvaluatorResult(name="judge", type="llm_judge", weight=1.0, score=score)
        return replace(
            case,
            case=case.case._replace(note=QUOTE),
            outcomes=Outcomes(case.outcomes.cells, comparisons, case.outcomes.items),
            evaluator_results=(judge,),
            overall=score,
        )

    return replace(
        plain,
        manifest=replace(plain.manifest, options={"rules": QUOTE}),
        summary=replace(plain.summary, warnings=(QUOTE, QUOTE)),
        cases=lambda: map(with_quotes, plain.cases()),
    )


def test_scores_and_paths_are_unchanged_and_no_text_quotes_a_document(run, tmp_path):
    hidden = run.without_values()
    Json().write(hidden, tmp_path / "hidden.json")
    written = (tmp_path / "hidden.json").read_text("utf-8")
    quoted = ("Acme", "Gmbh", "twelve", "Gone", "Bolt", "12.5")
    assert [text for text in quoted if text in written] == []
    for case, plain in zip(hidden.cases(), run.cases(), strict=True):
        assert (case.id, case.score, case.verdict) == (plain.id, plain.score, plain.verdict)
        assert case.expected is case.candidate is MISSING
        assert [attribute.path for attribute in case.outcomes.records(case.attributes)] == [
            attribute.path for attribute in plain.outcomes.records(plain.attributes)
        ]
        assert case.evaluator_results[0].score.score == 0.5
    assert hidden.summary.micro == run.summary.micro
    assert hidden.summary.warnings == ("2 warnings hidden, because warnings may quote values",)


def test_the_original_case_is_unchanged(run):
    before = next(iter(run.cases()))
    before.without_values()
    assert before.note == QUOTE


def test_json_contains_the_run_with_all_fields(run, tmp_path):
    Json().write(run, tmp_path / "run.json")
    document = json.loads((tmp_path / "run.json").read_text("utf-8"))
    assert list(document) == ["format", "name", "manifest", "summary", "cases"]
    assert summary_from_json(document["summary"]) == run.summary
    first, *_, last = document["cases"]
    assert first["evaluator_results"][0]["details"] == {"quote": QUOTE}
    assert first["outcomes"][0] == {
        "path": "vendor", "candidate_path": "vendor", "attribute": "vendor",
        "outcome": "wrong_value", "expected_presence": "value", "candidate_presence": "value",
        "score": 0.0, "similarity": None, "reason": "different", "comparator": "exact",
        "weight": 1.0, "required": True, "flags": [], "expected": "Acme GmbH",
        "candidate": "Acme Gmbh", "note": QUOTE,
    }  # fmt: skip
    assert "candidate" not in last["outcomes"][0]
    assert not {"cells", "comparisons", "items"} & set(first)
