"""The comparison of two runs as JSON, which tables must agree with."""

from __future__ import annotations

import pytest

import fieldmark as fm


@pytest.fixture(scope="module")
def difference(tmp_path_factory):
    directory = tmp_path_factory.mktemp("runs")
    truth = [{"id": str(n), "total": n, "vendor": "Acme"} for n in range(20)]
    worse = [{**row, "vendor": "Acne"} for row in truth]
    before = fm.score(truth, truth, out=directory / "before")
    after = fm.score(truth, worse, out=directory / "after")
    return fm.diff(before, after, max_drop={"mean_score": 0.1})


def test_json_contains_all_changes(difference):
    document = difference.to_dict()
    assert document["conclusion"]["word"] == "worse"
    assert document["conclusion"]["primary"] == "macro_f1_by_attribute"
    assert document["before"]["convention"] == document["after"]["convention"] == "confusion"
    assert document["comparable"] is True
    assert len(document["worse"]) == 20
    assert document["worse"][0]["fields"] == [
        {"path": "vendor", "before": "match", "after": "wrong_value"}
    ]
    assert document["improved"] == []
    vendor = document["attributes"]["vendor"]
    assert (vendor["improved"], vendor["worse"]) == (0, 20)
    assert document["cases"] == {
        "paired": 20, "only_before": 0, "only_after": 0,
        "improved": 0, "worse": 20, "unchanged": 0, "not_scored": 0, "mixed": 0,
    }  # fmt: skip
    assert document["errors_by_type"]["wrong_value"] == {"before": 0, "after": 20}
    assert document["shifts"] == [{"before": "match", "after": "wrong_value", "fields": 20}]
    assert [change["cases"] for change in document["verdicts"]["changes"]] == [20]
    assert [gate["name"] for gate in document["gates"]] == ["drop of mean_score"]
