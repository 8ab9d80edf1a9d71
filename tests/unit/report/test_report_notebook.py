"""The view of a run in a notebook: headline, gates, warnings, worst attributes."""

from __future__ import annotations

import re

import fieldmark as fm

PAIRS = [
    ({f"f{n}": 1 for n in range(12)}, {f"f{n}": 2 if n in (3, 5) else 1 for n in range(12)}),
    ({f"f{n}": 1 for n in range(12)}, {f"f{n}": 2 if n == 3 else 1 for n in range(12)}),
    ({f"f{n}": 1 for n in range(12)}, {f"f{n}": 1 for n in range(12)}),
]


def rows(html):
    return re.findall(r"<tr><td>(.*?)</td>", html)


def test_the_worst_attributes_come_first_and_the_rest_is_counted():
    html = fm.score(PAIRS)._repr_html_()
    assert rows(html)[:2] == ["f3", "f5"]
    assert len(rows(html)) == 8
    assert "… and 4 more attributes; run.attributes shows all" in html
    assert "more attributes" not in fm.score([({"a": 1}, {"a": 1})])._repr_html_()


def test_plain_view_is_compact_too():
    text = repr(fm.score(PAIRS))
    assert "… and 4 more attributes; run.attributes shows all" in text
    assert "--top" not in text


def test_headline_has_the_primary_metric_and_the_cases():
    html = fm.score(PAIRS, intervals=True)._repr_html_()
    assert re.search(r"<b>Macro F1 by attribute 0\.917 \(95% CI 0\.\d+ to 1\.000\)</b>", html)
    assert "3 of 3 cases scored, 1 perfect, convention confusion" in html
    assert "CI" not in fm.score(PAIRS)._repr_html_()


def test_failed_gates_are_shown_and_others_counted():
    run = fm.score(PAIRS, min={"micro.f1": 0.99, "macro_f1_by_case": 0.1})
    html = run._repr_html_()
    assert "<b>gate failed: micro.f1 is 0.9167, must be at least 0.99</b>" in html
    assert "<p>1 gate passed</p>" in html


def test_structural_warnings_come_first_and_others_are_counted():
    html = fm.score([({"a": 1}, {"b": 1})])._repr_html_()
    assert html.startswith("<p><b>warning:</b> ground truth and predictions have no attribute in")
    rules = {"fields": [{"path": "typo", "match": "exact"}]}
    html = fm.score([*PAIRS, ({}, {})], rules=rules)._repr_html_()
    assert html.startswith("<p><b>warning:</b> no document has &#x27;typo&#x27;</p><p><b>Macro F1")
    assert "<p>1 warning</p>" in html
    assert "nothing to score" not in html


def test_errors_and_vacuous_metrics_are_named():
    run = fm.evaluate(
        {
            "cases": [{"id": "a", "expected": {"x": 1}, "candidate": {"x": 1}}],
            "evaluators": [{"name": "<b>", "type": "field_accuracy", "fields": [{"path": "y"}]}],
        }
    )
    assert "<b>error:</b> &lt;b&gt;: no document has any of its paths" in run._repr_html_()
    assert ", vacuous, " in fm.score([({}, {})])._repr_html_()


def test_hostile_paths_are_text():
    name = "<script>alert(1)</script>" + "x" * 1_000
    html = fm.score([({name: 1}, {name: 2})])._repr_html_()
    assert "<script" not in html
    assert "x" * 300 not in html
