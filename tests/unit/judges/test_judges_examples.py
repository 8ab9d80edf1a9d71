"""The example judges agree with the built-in evaluators on the same cases."""

from __future__ import annotations

import json
import random
import re
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from fieldmark.compare.fuzzy import Algorithm, Fuzzy
from fieldmark.evaluators.base import Status
from fieldmark.evaluators.constraints import Constraint, Constraints
from fieldmark.evaluators.field_evaluators import FieldAccuracy, FieldConfusion
from fieldmark.evaluators.line_items import LineItems
from fieldmark.judges.code_judge import CodeJudge
from fieldmark.model.case import Case, CaseContext, CaseInput
from fieldmark.model.json import MISSING
from fieldmark.model.rule import Rule
from waiting import TIMEOUT

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "judges"
INVOICES = ROOT / "tests" / "data" / "agentv-document-extraction"
SCRIPTS = sorted(EXAMPLES.glob("*.*"))
WITHOUT_PACKAGES = {".py": (sys.executable, "-IS"), ".js": ("node",)}
WITH_PACKAGES = {".py": (sys.executable,), ".js": ("node",)}

HEADER = ("invoice_number", "invoice_date", "currency", "supplier.name", "importer.name", "gross_total")  # fmt: skip
UNREADABLE = "not JSON"


def example(name, **options):
    """Return an example as a judge; it runs without packages if it says that it needs none."""
    script = EXAMPLES / name
    alone = "needs no packages" in script.read_text("utf-8")
    command = (WITHOUT_PACKAGES if alone else WITH_PACKAGES)[script.suffix]
    return CodeJudge(script=(*command, str(script)), timeout=TIMEOUT, **options)


def case_of(expected, candidate):
    """Return a case; `UNREADABLE` is model output that could not be parsed."""
    if candidate is UNREADABLE:
        context = CaseContext(text="I cannot read this.")
        return Case("a", expected, MISSING, CaseInput.PARSE_ERROR, context=context)
    kind = CaseInput.MISSING if candidate is MISSING else CaseInput.OK
    return Case("a", expected, candidate, kind)


@pytest.fixture(scope="module", autouse=True)
def running():
    """Keep one process for each example and configuration, until all tests have used it."""
    with ExitStack() as stack:
        RUNNING.stack = stack
        yield
    RUNNING.scorers.clear()


RUNNING = SimpleNamespace(stack=None, scorers={})


def score_with(name, expected, candidate, protocol="lines", **config):
    case = case_of(expected, candidate)
    judge = example(name, protocol=protocol, config=config)
    if protocol == "process":
        assert judge.unready() is None
        with judge.opened() as score_case:
            return score_case(case)
    key = name, json.dumps(config)
    if key not in RUNNING.scorers:
        assert judge.unready() is None
        RUNNING.scorers[key] = RUNNING.stack.enter_context(judge.opened())
    return RUNNING.scorers[key](case)


def built_in_score(evaluator, expected, candidate):
    unreadable = candidate is UNREADABLE
    return evaluator.evaluate(expected, MISSING if unreadable else candidate, unreadable=unreadable)


def paths(texts):
    """Return the paths of hits or misses; `[1→2]` is the expected item 1."""
    bare = (text.partition(" (")[0].partition(":")[0] for text in texts)
    return sorted(re.sub(r"\[(\d*)→(\d+)\]", lambda m: f"[{m[1] or m[2]}]", text) for text in bare)


def assert_same(own, built_in):
    """Assert that two scores agree in score, hits, misses, and whether anything was scored."""
    assert own.status is Status.OK, own.reasoning
    assert own.score == pytest.approx(built_in.score)
    assert paths(own.hits) == paths(built_in.hits)
    assert paths(own.misses) == paths(built_in.misses)
    assert own.vacuous == built_in.vacuous


def totals(metrics, keys=("tp", "tn", "fp", "fn")):
    return {key: sum(own[key] for own in metrics.values()) for key in keys}


def rows(name):
    lines = (INVOICES / name).read_text("utf-8").splitlines()
    return {row["id"]: row for row in map(json.loads, lines)}


# --- all examples ---------------------------------------------------------------------------------


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_example_documents_its_use(script):
    text = script.read_text("utf-8")
    assert "type: code_judge" in text
    assert f"judges/{script.name}" in text


@pytest.mark.parametrize("protocol", ["process", "lines"])
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_example_supports_both_protocols(script, protocol):
    document = {"line_items": [{"description": "a", "amount": 2}], "total": 2}
    config = {"fields": [{"path": "line_items[0].description"}], "path": "line_items"}
    score = score_with(script.name, document, document, protocol, **config)
    assert score.score == 1.0


@pytest.mark.parametrize("candidate", [MISSING, UNREADABLE], ids=["missing", "unreadable"])
@pytest.mark.parametrize("expected", [{}, {"total": "two"}], ids=["empty", "values"])
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_case_without_a_document_is_a_miss(script, expected, candidate):
    config = {"fields": [{"path": "total"}], "path": "line_items"}
    score = score_with(script.name, expected, candidate, **config)
    assert score.score == 0.0
    assert score.misses
    assert not score.hits


@pytest.mark.parametrize(
    ("name", "config", "message"),
    [
        pytest.param("header_confusion.py", {}, "header_confusion: fields is required", id="header-no-fields"),
        pytest.param("header_confusion.py", {"fields": [{"name": "a"}]}, 'header_confusion: {"name": "a"} needs a path', id="header-no-path"),
        pytest.param("header_confusion.py", {"fields": [{"path": "a..b"}]}, "needs a path such as", id="header-invalid-path"),
        pytest.param("header_confusion.py", {"fields": [{"path": "a[].b"}]}, "needs a path such as", id="header-wildcard"),
        pytest.param("line_items.py", {"match_fields": []}, "line_items: match_fields must contain paths", id="items-no-fields"),
        pytest.param("line_items.py", {"match_fields": "description"}, "line_items: match_fields must", id="items-string"),
        pytest.param("line_items.py", {"path": "pages[].rows"}, "line_items: path must contain paths", id="items-wildcard"),
        pytest.param("line_items.py", {"score_fields": [{"path": "a"}]}, "line_items: score_fields must", id="items-objects"),
        pytest.param("multi_field_fuzzy.py", {}, "multi_field_fuzzy: fields is required", id="fuzzy-no-fields"),
        pytest.param("multi_field_fuzzy.py", {"fields": [{"name": "a"}]}, "'path' is required", id="fuzzy-no-path"),
    ],
)  # fmt: skip
def test_an_invalid_setting_is_an_error_with_a_message(name, config, message):
    score = score_with(name, {"a": 1}, {"a": 1}, "process", **config)
    assert score.status is Status.ERROR
    assert message in score.reasoning
    assert "Traceback" not in score.reasoning


# --- judges of fields ----------------------------------------------------------------------------

LINES = {"lines": [{"amount": 1}, {"amount": 2}]}
NAMES = {"a": "Acme Shipping", "b": "Global Trade Co"}


def fuzzy(algorithm, paths):
    """Return an example that compares fields by similarity, with different thresholds."""
    limits = dict(zip(paths, (0.85, 0.9), strict=False))
    rules = tuple(
        Rule(path=path, comparator=Fuzzy(threshold=limit, algorithm=Algorithm(algorithm)))
        for path, limit in limits.items()
    )
    fields = [{"path": path, "threshold": limit} for path, limit in limits.items()]
    config = {"fields": fields, "algorithm": algorithm}
    return "multi_field_fuzzy.py", config, FieldAccuracy(fields=rules)


def confusion(paths):
    built_in = FieldConfusion(fields=tuple(Rule(path=path) for path in paths))
    return "header_confusion.py", {"fields": [{"path": path} for path in paths]}, built_in


@pytest.mark.parametrize(
    "make",
    [confusion, partial(fuzzy, "levenshtein"), partial(fuzzy, "jaro_winkler")],
    ids=["header-confusion", "levenshtein", "jaro-winkler"],
)
@pytest.mark.parametrize(
    ("expected", "candidate", "fields"),
    [
        pytest.param({"a": 1, "b": "x"}, {"a": 1, "b": "y"}, "a b", id="wrong-value"),
        pytest.param({"a": 1}, {"a": 2}, "a", id="nothing-matches"),
        pytest.param({"a": 1, "b": 2}, {"a": 1}, "a b", id="missing-value"),
        pytest.param({"a": 1}, {"a": 1, "b": 2}, "a b", id="extra-value"),
        pytest.param({"a": 1, "b": None}, {"a": 1, "b": " "}, "a b", id="both-empty"),
        pytest.param({"a": 1}, {"a": 1}, "a b", id="both-absent"),
        pytest.param({"a": 1}, {"a": 1, "b": None}, "a b", id="null-without-expected-key"),
        pytest.param({"a": None}, {"a": ""}, "a", id="only-empty"),
        pytest.param({"a": True}, {"a": 1}, "a", id="true-is-not-one"),
        pytest.param({"a": [True, {"x": 1}]}, {"a": [1, {"x": 1}]}, "a", id="nested-true-is-not-one"),
        pytest.param({"a": {"x": 1, "y": 2}}, {"a": {"y": 2.0, "x": 1}}, "a", id="objects"),
        pytest.param({"a": []}, {"a": []}, "a", id="empty-lists"),
        pytest.param({"a": {"x": 1}}, {"a": 5}, "a", id="other-type"),
        pytest.param(LINES, {"lines": [{"amount": 1}, {"amount": 3}]}, "lines[1].amount", id="index-wrong"),
        pytest.param(LINES, LINES, "lines[1].amount", id="index-equal"),
        pytest.param(LINES, {"lines": []}, "lines[0].amount", id="index-missing"),
        pytest.param({"a": {"b": 1}}, {"a": {"b": 2}}, "a.b", id="nested-wrong"),
        pytest.param({"a.b": 1}, {"a": {"b": 1}}, "a.b", id="key-with-a-dot"),
        pytest.param({"a": 1, "b": None}, MISSING, "a b", id="missing-document"),
        pytest.param({"a": 1, "b": None}, UNREADABLE, "a b", id="unreadable-document"),
        pytest.param({"a": None}, MISSING, "a", id="missing-document-nothing-expected"),
        pytest.param({"a": 1}, "text", "a", id="string-document"),
        pytest.param({"a": 1}, [1], "a", id="list-document"),
        pytest.param(NAMES, NAMES, "a b", id="equal-texts"),
        pytest.param(NAMES, {"a": "Acme - Shipping", "b": "Global Co"}, "a b", id="similar-texts"),
        pytest.param(NAMES, {"a": 7, "b": " "}, "a b", id="number-and-blank-for-texts"),
        pytest.param({"a": None}, {"a": "x"}, "a", id="unexpected-value"),
        pytest.param({}, {}, "a b", id="not-in-the-ground-truth"),
        pytest.param({"a": ""}, UNREADABLE, "a", id="unreadable-document-nothing-expected"),
    ],
)  # fmt: skip
def test_judge_of_fields_agrees_with_its_evaluator(expected, candidate, fields, make):
    name, config, built_in = make(fields.split())
    reference = built_in_score(built_in, expected, candidate)
    own = score_with(name, expected, candidate, **config)
    assert_same(own, reference)
    if make is confusion:
        assert totals(own.details["metrics"]) == totals(reference.details["metrics"])


def test_header_confusion_agrees_on_real_invoices():
    expected, candidate = rows("truth.jsonl"), rows("candidate.jsonl")
    name, config, built_in = confusion(HEADER)
    with example(name, protocol="lines", config=config).opened() as score_case:
        for name, row in expected.items():
            documents = row["expected"], candidate[name]["candidate"]
            assert_same(score_case(Case(name, *documents)), built_in.evaluate(*documents))


# --- line_items -----------------------------------------------------------------------------------

WIDGET, BOLT = {"description": "Widget", "amount": 1}, {"description": "Bolt", "amount": 2}
ITEMS = LineItems(path="rows", score_fields=("description", "amount"))
ITEMS_CONFIG = {"path": "rows", "score_fields": ["description", "amount"]}


def assert_same_items(own, reference):
    assert_same(own, reference)
    assert totals(own.details["metrics"]) == totals(reference.details["metrics"])
    for key in ("alignment_total", "unmatched_expected_total", "unmatched_parsed_total"):
        assert own.details[key] == reference.details[key]


@pytest.mark.parametrize(
    ("expected", "candidate"),
    [
        pytest.param([WIDGET, BOLT], [BOLT, WIDGET], id="other-order"),
        pytest.param([WIDGET, BOLT], [{**WIDGET, "description": "Widgets"}], id="missing-and-similar"),
        pytest.param([WIDGET], [WIDGET, WIDGET], id="duplicate"),
        pytest.param([WIDGET], [{"description": "Something else", "amount": 1}], id="dissimilar"),
        pytest.param([WIDGET], [{"description": " WIDGET ", "amount": 1.0}], id="case-and-white-space"),
        pytest.param([WIDGET, {**WIDGET, "amount": 5}], [{**WIDGET, "amount": 5}, {**WIDGET, "amount": 6}], id="ties-by-equal-values"),
        pytest.param([WIDGET], [{"description": "Widget", "amount": None}], id="null-value"),
        pytest.param([{"description": "Widget"}], [{"description": "Widget", "amount": ""}], id="blank-without-expected-key"),
        pytest.param([{"description": "Widget"}], [{"description": "Widget"}], id="field-absent-on-both-sides"),
        pytest.param([{"amount": 1}], [{"amount": 1}], id="equal-without-match-field"),
        pytest.param([{"amount": 1}], [{"amount": 2}], id="no-match-field"),
        pytest.param([{"description": 7, "amount": True}], [{"description": 7.0, "amount": 1}], id="numbers-and-true"),
        pytest.param([{"description": "2024-01-01", "amount": 1}], [{"description": "2024-01-02", "amount": 1}], id="dates"),
        pytest.param([3, WIDGET], [WIDGET, 3, None], id="rows-that-are-no-objects"),
        pytest.param([], [], id="two-empty-lists"),
        pytest.param([], [WIDGET], id="only-extra"),
    ],
)  # fmt: skip
def test_line_items_agree_with_the_evaluator(expected, candidate):
    sides = {"rows": expected}, {"rows": candidate}
    own = score_with("line_items.py", *sides, **ITEMS_CONFIG)
    assert_same_items(own, ITEMS.evaluate(*sides))


@pytest.mark.parametrize(
    ("expected", "candidate", "misses"),
    [
        pytest.param([{"other": 2}], [], ("rows[0] (missing)",), id="missing-row-without-scored-value"),
        pytest.param([], [7], ("rows[→0] (extra)",), id="extra-row-without-scored-value"),
        pytest.param([], "text", ("rows (not a list)",), id="not-a-list"),
        pytest.param(
            [WIDGET], {"a": 1}, ("rows[0].description (missing)", "rows[0].amount (missing)", "rows (not a list)"),
            id="object-instead-of-a-list",
        ),
    ],
)  # fmt: skip
def test_rows_that_cannot_be_compared_are_misses(expected, candidate, misses):
    score = score_with("line_items.py", {"rows": expected}, {"rows": candidate}, **ITEMS_CONFIG)
    assert (score.score, score.misses, score.vacuous) == (0.0, misses, False)


@pytest.mark.parametrize("path", ["invoice.rows", "pages[1].rows"])
def test_line_items_agree_on_lists_within_a_document(path):
    expected, candidate = (
        {"invoice": {"rows": rows}, "pages": [{}, {"rows": rows}]}
        for rows in ([WIDGET, BOLT], [{**BOLT, "amount": 7}])
    )
    own = score_with("line_items.py", expected, candidate, **{**ITEMS_CONFIG, "path": path})
    built_in = LineItems(path=path, score_fields=("description", "amount"))
    assert_same_items(own, built_in.evaluate(expected, candidate))


@pytest.mark.parametrize("candidate", [MISSING, UNREADABLE, "text", {}, []], ids=repr)
@pytest.mark.parametrize(
    "expected", [{"rows": [WIDGET]}, {"rows": []}, {}], ids=["row", "no-row", "no-list"]
)
def test_line_items_agree_without_a_list(expected, candidate):
    own = score_with("line_items.py", expected, candidate, **ITEMS_CONFIG)
    assert_same_items(own, built_in_score(ITEMS, expected, candidate))


@pytest.mark.parametrize(
    ("config", "options"),
    [
        pytest.param({}, {}, id="all-fields"),
        pytest.param({"match_fields": ["sku", "description"]}, {"match_fields": ("sku", "description")}, id="two-match-fields"),
        pytest.param({"threshold": 0.5}, {"threshold": 0.5}, id="low-threshold"),
    ],
)  # fmt: skip
def test_line_items_agree_on_random_lists(config, options):
    randomness = random.Random(7)
    texts = ["bolt", "bolts", "Bolt", "steel bolt", "steal bolt", "nut", "washer"]

    def random_rows():
        return [
            {"sku": randomness.choice("AB"), "description": randomness.choice(texts),
             "amount": randomness.choice([1, 2, 3, None, ""])}
            for _ in range(randomness.randrange(7))
        ]  # fmt: skip

    built_in = LineItems(path="rows", **options)
    settings = {"path": "rows", **config}
    with example("line_items.py", protocol="lines", config=settings).opened() as score_case:
        for number in range(150):
            sides = {"rows": random_rows()}, {"rows": random_rows()}
            own, reference = score_case(Case(str(number), *sides)), built_in.evaluate(*sides)
            assert own.score == pytest.approx(reference.score), sides
            counts = [
                totals(each.details["metrics"], ("tp", "fp", "fn")) for each in (own, reference)
            ]
            assert counts[0] == counts[1], sides


def test_line_items_bound_their_output_and_say_how_many_there_are():
    count = 400
    sides = [
        {
            "rows": [
                {"description": f"{prefix} {number:06d}", "a": prefix, "b": prefix, "c": number}
                for number in range(count)
            ]
        }
        for prefix in ("Item number", "Item numbr")
    ]
    score = score_with("line_items.py", *sides, path="rows")
    assert score.details["alignment_total"] == count
    assert len(score.details["alignment"]) == 100
    assert len(score.hits) == count
    assert len(score.misses) == 1_001
    assert score.misses[-1] == f"$ ({3 * count} in all)"


# --- fuzzy comparison -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "candidate"),
    [
        pytest.param("Acme Corp", " ACME corp ", id="case-and-white-space"),
        pytest.param("Acme Corp", "Acme Corq", id="similar"),
        pytest.param("Acme Corp", "Bolt", id="dissimilar"),
        pytest.param("Straße", "STRASSE", id="casefold"),
        pytest.param("\ufb01x", "fix", id="ligature"),
        pytest.param("", "", id="both-blank"),
        pytest.param("a", "", id="blank-candidate"),
        pytest.param("", "x", id="blank-expected"),
        pytest.param("a", MISSING, id="missing"),
        pytest.param("", MISSING, id="missing-nothing-expected"),
        pytest.param("ab" * 3_000, "ba" * 3_000, id="long"),
    ],
)
def test_fuzzy_match_agrees_with_field_accuracy(expected, candidate):
    built_in = FieldAccuracy(fields=(Rule(path="$", comparator=Fuzzy(threshold=0.85)),))
    own = score_with("fuzzy_match.py", expected, candidate, threshold=0.85)
    assert_same(own, built_in_score(built_in, expected, candidate))


def test_multi_field_fuzzy_bounds_its_details():
    document = {"rows": [{"name": str(number)} for number in range(150)]}
    score = score_with("multi_field_fuzzy.py", document, document, fields=[{"path": "rows[].name"}])
    assert len(score.details["similarity"]) == 100
    assert score.details["similarity_total"] == 150


# --- total_adds_up --------------------------------------------------------------------------------


def with_total(total, *amounts):
    return {"line_items": [{"amount": amount} for amount in amounts], "total": total}


@pytest.mark.parametrize(
    "candidate",
    [
        pytest.param(with_total(30, 10, "20.00"), id="numeric-string"),
        pytest.param(with_total("30", 10, 20), id="total-as-string"),
        pytest.param(with_total(30.01, 10, 20), id="within-tolerance"),
        pytest.param(with_total(30.02, 10, 20), id="outside-tolerance"),
        pytest.param(with_total(0.3, 0.1, 0.2), id="decimals"),
        pytest.param(with_total("much", 10), id="total-not-a-number"),
        pytest.param(with_total(3, "abc"), id="amount-not-a-number"),
        pytest.param(with_total(16, "0x10"), id="hexadecimal"),
        pytest.param(with_total(1000, "1,000.00"), id="grouping"),
        pytest.param({"line_items": [{"amount": True}], "total": 1}, id="true-amount"),
        pytest.param({"line_items": [{"amount": 1}], "total": True}, id="true-total"),
        pytest.param(with_total(10, 10, None), id="null-amount"),
        pytest.param(with_total(10, 10, " "), id="blank-amount"),
        pytest.param(with_total(None, 1), id="null-total"),
        pytest.param({"line_items": [{"amount": 1}]}, id="no-total"),
        pytest.param({"total": 0}, id="no-rows"),
        pytest.param(with_total(0), id="empty-rows"),
        pytest.param(with_total(1), id="empty-rows-with-total"),
        pytest.param({"line_items": "x", "total": 1}, id="rows-not-a-list"),
        pytest.param({"line_items": [3], "total": 3}, id="row-not-an-object"),
        pytest.param("text", id="string-document"),
        pytest.param([1], id="list-document"),
        pytest.param(MISSING, id="missing-document"),
        pytest.param(UNREADABLE, id="unreadable-document"),
    ],
)
def test_total_adds_up_agrees_with_constraints(candidate):
    check = Constraint(check="sum(line_items[].amount) == total ± 0.01", name="total")
    built_in = Constraints(rules=(check,))
    own = score_with("total_adds_up.js", {}, candidate, max_gap=0.01)
    assert_same(own, built_in_score(built_in, {}, candidate))
