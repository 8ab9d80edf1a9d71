"""Three systems on 23 documents: the published scores, and which differences they support."""

from __future__ import annotations

import gzip
import json

import pytest

import fieldmark as fm
from fieldmark.metrics.difference import DiffVerdict
from published import docubench_rule
from published.command_line import DATA, ROOT
from reference import rank_oracle

DOCUBENCH = DATA / "docubench"
SCORES = json.loads((DOCUBENCH / "published_scores.json").read_text("utf-8"))
SCHEMAS = json.loads((DOCUBENCH / "schemas.json").read_text("utf-8"))
SAMPLE = ROOT / "src" / "fieldmark" / "sample"


def document_score(expected, candidate):
    """Score a document as the authors do; its id selects the schema."""
    return docubench_rule.score(SCHEMAS[expected["id"]], expected["data"], candidate["data"])


def rows(file, key):
    content = file.read_bytes()
    content = gzip.decompress(content) if file.suffix == ".gz" else content
    read = map(json.loads, content.splitlines())
    return [
        {"id": row["id"], key: {"document": {"id": row["id"], "data": row[key]}}} for row in read
    ]


def test_three_systems_are_ranked_as_published():
    scored = fm.score_many(
        rows(SAMPLE / "truth.jsonl", "expected"),
        {
            "gpt": rows(SAMPLE / "candidate.jsonl", "candidate"),
            "claude": rows(SAMPLE / "candidate-claude.jsonl", "candidate"),
            "gemini": rows(DOCUBENCH / "candidate-gemini.jsonl.gz", "candidate"),
        },
        rules={"document": {"match": document_score, "threshold": 0}},
        convention="field_accuracy",
        metric="mean_score",
    )
    ranking = scored.ranking
    assert [(run.name, run.value) for run in ranking.runs] == [
        (name, pytest.approx(SCORES["macro_average_of_these_documents"][name], abs=1e-9))
        for name in ("gemini", "gpt", "claude")
    ]
    names = [run.name for run in ranking.runs]
    published = {
        name: [(row[name], {}) for row in SCORES["per_document"].values()] for name in names
    }
    p_values = {
        pair: _documents_p(*(published[names[place]] for place in pair)) for pair in ranking.pairs
    }
    assert {pair: each.p for pair, each in ranking.pairs.items()} == pytest.approx(
        p_values, abs=0.03
    )
    # The mean of gpt is higher than that of claude, but claude is better in more documents.
    assert [run.name for run in ranking.best] == ["gemini", "claude"]
    pair = ranking.pair(names.index("gpt"), names.index("claude"))
    assert (pair.improved, pair.worse) == (5, 9)
    assert pair.word is DiffVerdict.NOT_PROVEN
    low, high = pair.interval
    assert low < -0.05 < 0.05 < high


def _documents_p(one, other):
    """The exact p-value; documents with equal scores make no difference when they are swapped."""
    differing = [pair for pair in zip(one, other, strict=True) if pair[0][0] != pair[1][0]]
    first, second = zip(*differing, strict=True)
    return rank_oracle.exact_p(first, second, rank_oracle.mean_score)


def test_three_systems_have_the_published_order_by_the_fields_too():
    scored = fm.score_many(
        SAMPLE / "truth.jsonl",
        {
            "gpt": SAMPLE / "candidate.jsonl",
            "claude": SAMPLE / "candidate-claude.jsonl",
            "gemini": DOCUBENCH / "candidate-gemini.jsonl.gz",
        },
        metric="mean_score",
    )
    assert [run.name for run in scored.ranking.runs] == ["gemini", "gpt", "claude"]
    assert sum(each.decided for each in scored.ranking.attributes) == 76
