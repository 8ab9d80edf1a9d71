"""`--no-values`: exports contain paths and scores, but no values."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from exported_text import exported_text
from fieldmark import registry
from fieldmark.evaluators.base import EvaluatorResult, Score
from fieldmark.metrics.summary import summary_from_json
from fieldmark.model.case import Verdict
from fieldmark.model.json import MISSING
from fieldmark.model.outcomes import Outcomes
from fieldmark.registry import Plugin
from fieldmark.report.exports.json import Json
from unit.report.exported import ordinary_run

QUOTE = "Acme twelve"
SECRETS = ("Acme", "Gmbh", "twelve", "Gone", "Bolt", "12.5")


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


@pytest.mark.parametrize("kind", registry.names(Plugin.EXPORTERS))
def test_no_export_quotes_a_document(run, tmp_path, kind):
    write = registry.create(registry.load(Plugin.EXPORTERS, kind), {}).write
    out = tmp_path / "out"
    write(run.without_values(), out)
    text = exported_text(out)
    assert [secret for secret in SECRETS if secret in text] == []
    assert ("quality_rqs" if kind == "csv-cases" else "vendor") in text
    write(run, out)
    if kind not in ("csv", "markdown-short"):
        assert any(secret in exported_text(out) for secret in SECRETS)


def test_scores_and_paths_are_unchanged(run):
    hidden = run.without_values()
    for case, plain in zip(hidden.cases(), run.cases(), strict=True):
        assert (case.id, case.score, case.verdict) == (plain.id, plain.score, plain.verdict)
        assert case.expected is case.candidate is MISSING
        assert [attribute.path for attribute in case.outcomes.records(case.attributes)] == [
            attribute.path for attribute in plain.outcomes.records(plain.attributes)
        ]
        assert case.evaluator_results[0].score.score == 0.5
        assert QUOTE not in repr(case)
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
