"""Warnings about cases and rules, and notes about the alignment of lists."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fieldmark as fm
from fieldmark.align.exact_methods import Index, Key
from fieldmark.align.greedy import Greedy
from fieldmark.align.optimal import Optimal
from fieldmark.compare.date import DateMatch
from fieldmark.compare.exact import Exact
from fieldmark.compare.semantic import Semantic
from fieldmark.compare.token_sets import Name
from fieldmark.metrics.conventions import find_convention
from fieldmark.model.case import Case, CaseInput
from fieldmark.model.json import MISSING
from fieldmark.model.rule import Depth, Rule, Rules
from fieldmark.plan import compile_plan
from fieldmark.runs import warnings
from fieldmark.runs.case_processor import CaseProcessor, RunTotals
from fieldmark.runs.stored_run import open_run
from fieldmark.runs.warnings import DocumentPaths, list_notes, unused_rules
from interrupted_runs import interrupted_at_segment
from json_strategies import documents as any_documents

DOCUMENTS = [({"lines": [{"d": "a", "taxes": [1]}]}, {"lines": [{"d": "a", "taxes": [1]}]})]
CONFUSION = find_convention("confusion")


def counted(cases, rules):
    """Return the totals of cases that were compared under rules."""
    plan = compile_plan(CONFUSION.rules_for(rules))
    totals = RunTotals(plan.table, values=True, sampled=False, rule_sets=[rules])
    totals.add(CaseProcessor(plan, CONFUSION).process(cases))
    return totals


@pytest.mark.parametrize(
    ("aligner", "words"),
    [
        pytest.param(Greedy(), "list items aligned by similarity (greedy, all fields, threshold 0.5)", id="greedy-all-fields"),
        pytest.param(Greedy(match_fields=("sku",)), "list items aligned by similarity (greedy, sku, threshold 0.8)", id="greedy-match-fields"),
        pytest.param(Optimal(threshold=0.7), "list items aligned by similarity (optimal, all fields, threshold 0.7)", id="optimal"),
        pytest.param(Key(key=("sku", "line")), "list items aligned by key sku and line", id="key"),
        pytest.param(Index(), "list items aligned by position", id="index"),
    ],
)  # fmt: skip
def test_list_notes_name_the_alignment(aligner, words):
    assert list_notes({"lines": aligner}) == [f"{words}: lines"]


def test_list_notes_count_further_lists():
    lists = dict.fromkeys("abcde", Greedy())
    assert list_notes(lists)[0].endswith(": a, b, c and 2 more")


def test_aligners_of_lists_are_in_notes_and_manifest(tmp_path):
    run = fm.score(DOCUMENTS, align="optimal", out=tmp_path / "run")
    assert run.notes[-1].endswith("(optimal, all fields, threshold 0.5): lines, lines[].taxes")
    stored = json.loads((tmp_path / "run" / "manifest.json").read_text("utf-8"))["lists"]
    assert {path: item["name"] for path, item in stored.items()} == {
        "lines": "optimal",
        "lines[].taxes": "optimal",
    }


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param({}, id="defaults"),
        pytest.param({"fields": [{"path": "items", "align": "index"}]}, id="aligner"),
        pytest.param({"fields": [{"path": "orders", "align": "entries"}]}, id="entries"),
        pytest.param({"fields": [{"path": "items", "match": "exact"}, {"path": "tags", "align": "whole"}]}, id="single-values"),
        pytest.param({"fields": [{"path": "items[0].x", "match": "fuzzy"}]}, id="index"),
        pytest.param({"scope": "configured", "fields": [{"path": "items[*].x"}, {"path": "tags[0]"}]}, id="configured"),
    ],
)  # fmt: skip
def test_resumed_run_names_the_lists_of_all_cases(tmp_path, rules):
    document = {
        "items": [{"x": "a", "parts": [1, 2]}, {"x": "b", "parts": [3]}],
        "tags": ["red", "blue"],
        "orders": {"o1": {"rows": [{"y": 1}, {"y": 2}]}},
    }
    pairs = [([{"z": 1}], [{"z": 2}]), *[(document, document)] * 511, ({"last": [1]}, {})]
    whole = fm.score(pairs, rules=rules, out=tmp_path / "whole")
    with interrupted_at_segment(2):
        fm.score(pairs, rules=rules, out=tmp_path / "cut")
    assert (tmp_path / "cut" / "results.jsonl").read_bytes().count(b"\n") == 512
    resumed = fm.score(pairs, rules=rules, out=tmp_path / "cut", resume=True)
    assert resumed.notes == whole.notes
    lists = [open_run(tmp_path / run).manifest.lists for run in ("whole", "cut")]
    assert lists[0] == lists[1]


@pytest.mark.parametrize(
    ("path", "warnings"),
    [
        pytest.param("total", [], id="field"),
        pytest.param("items", [], id="parent-of-a-field"),
        pytest.param("items[*].amount", [], id="pattern"),
        pytest.param("items[0].amount", [], id="list-index"),
        pytest.param("**.amount", [], id="any-depth"),
        pytest.param("note", [], id="field-of-the-candidate"),
        pytest.param("totl", ["no document has 'totl'; did you mean 'total'?"], id="misspelled-path"),
        pytest.param("items[*].amont", ["no document has 'items[*].amont'; did you mean 'items[].amount'?"], id="misspelled-path-in-a-list"),
        pytest.param("zzz", ["no document has 'zzz'"], id="no-similar-path"),
        pytest.param("a..b", [], id="malformed-path"),
    ],
)  # fmt: skip
def test_rule_without_a_matching_field_is_a_warning(path, warnings):
    rules = Rules(fields=(Rule(path=path),))
    cases = [Case("1", {"total": 1, "items": [{"amount": 1}]}, {"total": 1, "note": "x"})]
    totals = counted(cases, rules)
    unused = unused_rules(rules, totals.tally.facts(), totals.warnings.unseen)
    assert [path.text for path in unused] == warnings


@pytest.mark.parametrize(
    ("document", "rules"),
    [
        pytest.param({"a.b": 1}, {"a.b": "exact"}, id="key-with-a-dot"),
        pytest.param({"v": {"n": 1}}, {"v": "ignore", "v.n": "exact"}, id="below-an-ignored-field"),
        pytest.param({"v": {"n": 1}}, {"v": "exact", "v.n": "exact"}, id="below-a-compared-object"),
        pytest.param({"l": [{"a": 1}]}, {"l.0.a": "exact"}, id="index-without-brackets"),
        pytest.param({"l": ["a"]}, {"l": {"match": "set"}, "l[]": "exact"}, id="item-of-a-set"),
        pytest.param({"b": [1, 2, 3, 4]}, {"b": "iou", "b[0]": "exact"}, id="item-of-a-box"),
    ],
)
def test_existing_path_is_never_called_missing(document, rules):
    for workers in (1, 2):
        run = fm.score([(document, document)], rules=rules, workers=workers)
        assert not [text for text in run.summary.warnings if "no document has" in text], workers


def test_path_outside_the_scope_exists():
    run = fm.score([({"x": 1}, {"x": 1, "z": 2})], rules={"z": "exact"}, scope="truth")
    assert run.summary.warnings == ()


def test_failed_target_says_nothing_about_the_documents():
    rules = Rules(fields=(Rule(path="total"),))
    failed = Case("1", {"total": 1}, input=CaseInput.FAILED, note="down")
    totals = counted([failed], rules)
    assert unused_rules(rules, totals.tally.facts(), totals.warnings.unseen) == []


@pytest.mark.parametrize("also", [[], [{"path": "total"}]])
def test_path_that_only_predictions_have_is_a_warning_even_if_nothing_is_compared(also):
    fields = [{"path": "po"}, *also]
    evaluator = {"type": "field_accuracy", "fields": fields, "absent_truth": "skip"}
    case = {"id": "1", "expected": {"total": 1}, "candidate": {"total": 1, "po": 2}}
    run = fm.evaluate({"evaluators": [evaluator], "cases": [case]})
    assert [text for text in run.summary.warnings if "'po'" in text] == ["no ground truth has 'po'"]


NOTHING_IN_COMMON = "ground truth and predictions have no attribute in common"
LISTS = (
    "lists in ground truth, but single values in predictions: tags; "
    "if one item of a list is enough, set any_of: true on these fields"
)


@pytest.mark.parametrize(
    ("truth", "candidate", "warnings"),
    [
        pytest.param({"a": 1}, {"a": 2}, (), id="common-attribute"),
        pytest.param({"a": 1, "b": 2}, {}, ("no prediction has any of the expected fields (a, b)",), id="empty-predictions"),
        pytest.param({"a": 1, "b": 2}, {"c": 1}, (f"{NOTHING_IN_COMMON} (ground truth: a, b; predictions: c)",), id="no-common-attribute"),
        pytest.param({"n": 1, "tags": ["a", "b"]}, {"n": 1, "tags": "a"}, (LISTS,), id="lists"),
        pytest.param({"n": 1, "tags": ["a"]}, {"n": 1, "tags": ["b"]}, (), id="lists-on-both-sides"),
        pytest.param({"n": 1, "refs": ["x 1"]}, {"n": 1, "refs": [{"a.b": "x", "year": 1}]}, (
            "single values in ground truth, but objects in predictions: refs[]",
        ), id="objects-in-a-list-of-values"),
        pytest.param({"n": 1, "refs": [{"a": "x"}]}, {"n": 1, "refs": ["x"]}, (
            "objects in ground truth, but single values in predictions: refs[]",
        ), id="values-in-a-list-of-objects"),
        pytest.param({"n": 1, "vendor": {"name": "x"}}, {"n": 1, "vendor": "x"}, (
            "objects in ground truth, but single values in predictions: vendor",
        ), id="value-instead-of-an-object"),
        pytest.param({"n": 1, "vendor": None}, {"n": 1, "vendor": {"name": "x"}}, (), id="null"),
        pytest.param({"n": 1, "a": ["x", {"b": 1}]}, {"n": 1, "a": [{"b": 1}]}, (), id="mixed-list"),
    ],
)  # fmt: skip
def test_structural_warnings_come_first(truth, candidate, warnings):
    run = fm.score([(truth, candidate)])
    assert run.summary.structural_warnings == warnings
    assert run.summary.warnings[: len(warnings)] == warnings
    assert repr(run).startswith("".join(f"warning: {text}\n" for text in warnings))


def test_wrapper_is_named_even_if_the_first_documents_differ():
    truth = [{f"a{n}": 1, f"b{n}": 2} for n in range(3)]
    run = fm.score(truth, [{"data": row, "ms": 1} for row in reversed(truth)])
    assert run.summary.structural_warnings[0].endswith("; set the candidate key to 'data'")


@pytest.mark.parametrize(
    "gate", ["hallucination", "errors_by_type.wrong_value", "attributes.a.fp", "micro.fp"]
)
@pytest.mark.parametrize(
    "candidate",
    [
        pytest.param([{"id": "1", "b": 1}], id="no-common-attribute"),
        pytest.param([{"id": "1", "result": {"a": 1}}], id="wrapped"),
        pytest.param([{"id": "1", "output": "nothing"}], id="unparseable"),
    ],
)
def test_no_gate_passes_if_nothing_was_compared(candidate, gate):
    run = fm.score([{"id": "1", "a": 1}], candidate, max={gate: 1})
    assert run.summary.structural_warnings
    assert [item.note for item in run.summary.gates if not item.passed] == [
        "no expected value was compared with a prediction"
    ]
    assert not run.passed


@pytest.mark.parametrize(
    ("path", "warnings"),
    [
        pytest.param("vendor.name", [], id="path-inside-a-top-level-key"),
        pytest.param("vendor.nam", ["no document has 'vendor.nam'; did you mean 'vendor'?"], id="misspelled-path-inside-a-top-level-key"),
        pytest.param("vendr.name", ["no document has 'vendr.name'"], id="misspelled-key"),
    ],
)  # fmt: skip
def test_rule_inside_a_value_that_is_compared_as_a_whole(path, warnings):
    rules = Rules(fields=(Rule(path=path),), depth=Depth.TOP)
    document = {"vendor": {"name": "Acme"}, "total": 1}
    totals = counted([Case("1", document, document)], rules)
    unused = unused_rules(rules, totals.tally.facts(), totals.warnings.unseen)
    assert [path.text for path in unused] == warnings


def test_rule_below_a_field_with_its_own_rule_is_not_said_to_be_absent():
    rules = Rules(fields=(Rule(path="vendor", comparator=Exact()), Rule(path="vendor.name")))
    document = {"vendor": {"name": "Acme"}}
    totals = counted([Case("1", document, document)], rules)
    (unused,) = unused_rules(rules, totals.tally.facts(), totals.warnings.unseen)
    assert unused.text == "'vendor.name' was not compared: 'vendor' was compared as one value"
    assert not unused.is_missing


def test_uncertain_comparisons_are_counted():
    rules = Rules(
        fields=(
            Rule(path="day", comparator=DateMatch()),
            Rule(path="text", comparator=Semantic()),
            Rule(path="**.name", comparator=Name()),
        )
    )
    pair = (
        {"day": "01/02/2024", "text": "net 30 days", "name": "Acme", "buyer": {"name": "Farnon"}},
        {
            "day": "2024-01-02",
            "text": "30 days net",
            "name": "Acme Ltd",
            "buyer": {"name": "Fernon"},
        },
    )
    totals = counted([Case("1", *pair), Case("2", *pair)], rules)
    assert totals.warnings.uncertain() == [
        (
            "2 string comparisons used the built-in lexical provider, which approximates meaning "
            "without a model; configure a provider for semantic comparison"
        ),
        (
            "4 comparisons of names or addresses matched although a title, a legal form, an "
            "initial or a letter of a long word differs"
        ),
        (
            "2 ambiguous values could also be another date (read as month first), number or "
            "currency, or a time in another time zone; set `order` or `formats`, `number_format`, "
            "or `currency` on the field"
        ),
    ]
    assert counted([], rules).warnings.uncertain() == []


@given(st.lists(any_documents, max_size=8), st.integers(0, 8))
def test_document_paths_of_two_parts_merge_into_those_of_the_whole(documents, cut):
    def paths_of(part):
        paths = DocumentPaths(["a", "b", "missing"])
        for document in part:
            paths.add(Case("", document, MISSING))
        return paths

    whole, merged = paths_of(documents), paths_of(documents[:cut])
    merged.merge(paths_of(documents[cut:]))
    assert [*map(merged.lacks, "ab")] == [*map(whole.lacks, "ab")]
    assert [*merged._attributes] == [*whole._attributes]


def test_document_paths_are_limited_in_the_order_of_the_documents(monkeypatch):
    monkeypatch.setattr(warnings, "_MAX_ATTRIBUTES", 3)
    first, second, whole = (DocumentPaths(["missing"]) for _ in range(3))
    documents = {"a": 1, "b": 2}, {"b": 1, "c": 2, "d": 3}
    first.add(Case("", documents[0], MISSING))
    second.add(Case("", documents[1], MISSING))
    for document in documents:
        whole.add(Case("", document, MISSING))
    first.merge(second)
    assert [*first._attributes] == [*whole._attributes] == ["a", "b", "c"]
