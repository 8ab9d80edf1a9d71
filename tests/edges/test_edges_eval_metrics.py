"""The metrics of an evaluation agree with the scores of its evaluators."""

from __future__ import annotations

import json
from collections import Counter

import pytest

import fieldmark as fm
from edges.llm_server import NONCE, isolate, serving, status
from fieldmark.compare.semantic import Semantic
from fieldmark.judges.similarity_providers import PythonProvider
from fieldmark.model.rule import Rule, Rules
from fieldmark.runs.eval_file import load_eval
from fieldmark.runs.eval_setup import eval_settings
from fieldmark.runs.stored_run import open_run


@pytest.fixture(autouse=True)
def _isolated(monkeypatch, tmp_path):
    isolate(monkeypatch, tmp_path / "cache")


def case(name, expected, candidate, *evaluators, **more):
    own = {"evaluators": list(evaluators)} if evaluators else {}
    return {"id": name, "expected": expected, "candidate": candidate, **own, **more}


def accuracy(*fields, name="own", **options):
    return {"name": name, "type": "field_accuracy", "fields": list(fields), **options}


def total(tolerance):
    return {"path": "total", "match": "numeric_tolerance", "tolerance": tolerance}


def evaluate(cases, *evaluators, out=None, resume=False, progress=None, **more):
    spec = {"cases": cases, "evaluators": list(evaluators), **more}
    return fm.evaluate(spec, out=out, resume=resume, progress=progress)


def counts(run):
    """Return TP, TN, FP and FN of each attribute."""
    return {path: (own.tp, own.tn, own.fp, own.fn) for path, own in run.attributes.items()}


# --- metrics per attribute --------------------------------------------------------------------------

SWAPPED = {"l": [{"x": 1}, {"x": 2}]}, {"l": [{"x": 2}, {"x": 1}]}


@pytest.mark.parametrize(
    ("cases", "evaluators", "expected"),
    [
        pytest.param(
            [
                case("a", {"total": 10}, {"total": 10}, accuracy({"path": "total"})),
                case("b", {"total": 10}, {"total": 11}, accuracy(total(1))),
                case("c", {"total": 10}, {"total": 15}, accuracy(total(5))),
            ],
            [],
            {"total": (3, 0, 0, 0)},
            id="each-case-has-its-own-tolerance",
        ),
        pytest.param(
            [
                case("a", {"total": 1}, {"total": 1}, accuracy({"path": "total"}, {"path": "a..b"})),
                case("b", {"total": 1}, {"total": 1}, accuracy({"path": "total"})),
                case("c", {"total": 1}, {"total": 1}, accuracy({"path": "c..d", "required": False})),
            ],
            [],
            {"total": (2, 0, 0, 0), "a..b": (0, 0, 0, 1)},
            id="malformed-path-is-missing-in-its-case-only",
        ),
        pytest.param(
            [case("a", {"total": 1}, {"total": 1, "po": 7})],
            [accuracy({"path": "total"}, {"path": "po"}, absent_truth="skip")],
            {"total": (1, 0, 0, 0)},
            id="field-that-the-truth-lacks-is-skipped",
        ),
        pytest.param(
            [case("a", {"total": 1}, {"total": 1, "po": 7})],
            [accuracy({"path": "total"}, {"path": "po"})],
            {"total": (1, 0, 0, 0), "po": (0, 0, 1, 0)},
            id="field-that-the-truth-lacks-is-a-miss",
        ),
        pytest.param(
            [case("a", {"total": 1, "note": "x"}, {"total": 1})],
            [accuracy({"path": "total"}, {"path": "note", "required": False})],
            {"total": (1, 0, 0, 0), "note": (0, 0, 0, 1)},
            id="missing-optional-field-is-missing",
        ),
        pytest.param(
            [case("a", *SWAPPED)],
            [accuracy({"path": "l[*].x"})],
            {"l[].x": (0, 0, 2, 2)},
            id="items-are-aligned-like-those-of-the-evaluator",
        ),
        pytest.param(
            [case("a", {"l": [{"x": 1}]}, {"l": [{"x": 1}, {"x": 2}]})],
            [accuracy({"path": "l[*].x"}, absent_truth="skip")],
            {"l[].x": (1, 0, 0, 0)},
            id="item-that-the-truth-lacks-is-skipped",
        ),
        pytest.param(
            [case("a", {"l": [{"x": 1}]}, {"l": [{"x": 1}, {"x": 2}]})],
            [accuracy({"path": "l[*].x"})],
            {"l[].x": (1, 0, 1, 0)},
            id="item-that-the-truth-lacks-is-extra",
        ),
        pytest.param(
            [case("a", {"l": [{"x": 1}], "m": [{"x": 1}]}, {"l": 5, "m": [{"x": 1}]}), case("b", {}, {"l": 5})],
            [{"type": "field_confusion", "fields": [{"path": "m[*].x"}]}, accuracy({"path": "l[*].x"})],
            {"l[].x": (0, 0, 0, 1), "m[].x": (1, 0, 0, 0)},
            id="other-type-in-the-place-of-a-list",
        ),
        pytest.param(
            [case("a", {**SWAPPED[0], "m": [{"x": 1}, {"x": 2}]}, {**SWAPPED[1], "m": [{"x": 2}, {"x": 1}]})],
            [{"type": "field_confusion", "fields": [{"path": "m[*].x"}]}, accuracy({"path": "l[*].x"})],
            {"m[].x": (2, 0, 0, 0), "l[].x": (0, 0, 2, 2)},
            id="items-of-several-evaluators",
        ),
        pytest.param(
            [case("a", {"x": None}, {"x": "N/A"})],
            [accuracy({"path": "x"}, empty_tokens=["N/A"])],
            {"x": (0, 1, 0, 0)},
            id="empty-tokens-of-the-evaluator",
        ),
        pytest.param(
            [case("a", {"x": "A", "y": "A"}, {"x": "a", "y": "a"})],
            [accuracy({"path": "x"}), accuracy({"path": "y"}, name="other", match="normalized_text")],
            {"x": (0, 0, 1, 1), "y": (1, 0, 0, 0)},
            id="default-comparators-of-the-evaluators",
        ),
        pytest.param(
            [
                case("a", {"x": 1}, {"x": 1}, accuracy({"path": "x"})),
                case("b", {"x": 1}, {"x": 2}, {"type": "json_schema", "schema": True}),
            ],
            [],
            {"x": (1, 0, 0, 0)},
            id="case-whose-evaluators-compare-no-fields",
        ),
        pytest.param(
            [case("a", {"x": "A b", "y": 1}, {"x": "a  B", "y": 2})],
            [{"type": "extraction_metrics"}],
            {"x": (1, 0, 0, 0), "y": (0, 0, 1, 1)},
            id="extraction-metrics-alone",
        ),
        pytest.param(
            [case("a", {"x": {"y": 1}, "z": 1}, {"x": {"y": 1}, "z": 2})],
            [{"type": "response_quality", "strategies": {"z": "IGNORE"}}],
            {"x": (1, 0, 0, 0), "z": (0, 0, 0, 0)},
            id="response-quality-alone",
        ),
    ],
)  # fmt: skip
def test_metrics_per_attribute_use_the_rules_of_the_evaluators_of_a_case(cases, evaluators, expected):  # fmt: skip
    assert counts(evaluate(cases, *evaluators)) == expected


def test_rules_of_the_file_replace_those_of_the_evaluators():
    cases = [case("a", {"total": 10}, {"total": 11}, accuracy(total(1)))]
    run = evaluate(cases, rules={"fields": [{"path": "total"}]})
    assert counts(run) == {"total": (0, 0, 1, 1)}
    assert run.mean_score == 1


def test_first_evaluator_of_a_path_counts_and_a_warning_names_both():
    cases = [case("a", {"total": 10}, {"total": 11}), case("b", {"total": 1}, {"total": 1})]
    one, two = accuracy({"path": "total"}, name="one"), accuracy(total(1), name="two")
    run = evaluate(cases, one, {"name": "box", "type": "composite", "evaluators": [two]})
    assert counts(run) == {"total": (1, 0, 1, 1)}
    (warning,) = run.summary.warnings
    message = "one and box.two compare 'total' differently; the metrics per attribute use one"
    assert message in warning


REGIONS = (
    {
        "r": [{"b": [0, 0, 9, 9], "t": "x"}, {"b": [20, 20, 29, 29], "t": "y"}],
        "n": 1,
        "size": [1, 1],
    },
    {
        "r": [{"b": [20, 20, 29, 28], "t": "y"}, {"b": [0, 0, 9, 8], "t": "x"}],
        "n": 1,
        "size": [1, 1],
    },
)
BOXES = {"name": "boxes", "type": "iou_score", "path": "r[].b", "matching": "optimal"}


@pytest.mark.parametrize(
    ("evaluators", "expected", "warning"),
    [
        pytest.param([BOXES, accuracy({"path": "n"})], {"n": 1, "r[].b": 2}, "", id="beside-other-fields"),
        pytest.param(
            [BOXES, {"type": "field_confusion", "fields": [{"path": "r[*].t"}]}], {"r[].t": 2, "r[].b": 2},
            "field_confusion and boxes align 'r' differently; the metrics per attribute use field_confusion",
            id="items-that-another-evaluator-aligns",
        ),
        pytest.param(
            [{**BOXES, "matching": "index"}, accuracy({"path": "r[*].t"})], {"r[].t": 0, "r[].b": 0}, "",
            id="items-aligned-alike",
        ),
        pytest.param(
            [accuracy({"path": "r[*].b"}, {"path": "n"}), {**BOXES, "matching": "index"}], {"n": 1, "r[].b": 0},
            "boxes and own compare 'r[].b' differently; the metrics per attribute use boxes",
            id="path-of-another-evaluator",
        ),
        pytest.param(
            [{**BOXES, "matching": "index"}, {**BOXES, "matching": "index", "name": "strict", "threshold": 0.9}],
            {"r[].b": 0, "r[].t": 0, "n": 1, "size[]": 2},
            "boxes and strict compare 'r[].b' differently; the metrics per attribute use boxes",
            id="two-evaluators-of-boxes",
        ),
        pytest.param(
            [{"type": "composite", "evaluators": [BOXES]}, accuracy({"path": "n"})], {"n": 1, "r[].b": 2}, "",
            id="in-a-composite",
        ),
        pytest.param(
            [{**BOXES, "candidate_scale": "size"}, accuracy({"path": "n"})], {"n": 1, "r[].b": 0},
            "boxes: 'r[].b' is scaled by a size in the documents; the metrics per attribute leave it out",
            id="scaled-by-the-documents",
        ),
        pytest.param(
            [BOXES, {"type": "extraction_metrics"}], {"r[].b": 2, "r[].t": 2, "n": 1, "size[]": 2}, "",
            id="whole-documents",
        ),
    ],
)  # fmt: skip
def test_evaluators_of_boxes_decide_how_these_are_compared(evaluators, expected, warning):
    run = evaluate([case("a", *REGIONS)], *evaluators)
    assert {path: own.tp for path, own in run.attributes.items()} == expected
    mistakes = {path: own.fp + own.fn for path, own in run.attributes.items()}
    assert set(mistakes.values()) <= {0, 4}
    assert [text for text in run.summary.warnings if "boxes" in text] == (
        [warning] if warning else []
    )


def test_cases_may_compare_a_path_differently():
    cases = [
        case("a", {"total": 10}, {"total": 10}, accuracy({"path": "total"})),
        case("b", {"total": 10}, {"total": 11}, accuracy(total(1))),
    ]
    assert evaluate(cases).summary.warnings == ()


def test_cases_with_equal_evaluators_share_their_rules(tmp_path):
    cases = [case(name, {"x": 1}, {"x": 1}, accuracy({"path": "x"})) for name in "abc"]
    path = tmp_path / "a.eval.yaml"
    path.write_text(json.dumps({"cases": cases}, indent=1), "utf-8")
    settings = eval_settings(load_eval(path))
    assert len({id(rules) for rules in settings.own_rules.values()}) == 1
    assert sorted(settings.own_rules) == ["a", "b", "c"]


def test_weights_of_a_path_belong_to_their_case():
    light = [{"path": "x"}, {"path": "y"}]
    heavy = [{"path": "x", "weight": 3}, {"path": "y"}]
    documents = {"x": 1, "y": 1}, {"x": 1, "y": 2}
    cases = [
        case("a", *documents, accuracy(*light, weight=0)),
        case("b", *documents, accuracy(*heavy, weight=0)),
    ]
    run = evaluate(cases, convention="field_accuracy")
    assert run.mean_score == (0.5 + 0.75) / 2
    assert counts(run) == {"x": (2, 0, 0, 0), "y": (0, 0, 2, 2)}


# --- quality metrics and means by case --------------------------------------------------------------

TWO = [
    case("a", {"x": "A b", "y": 1, "z": 3}, {"x": "a B", "y": 2, "z": 4, "q": 1}),
    case("b", {"x": "one"}, {"x": "hell"}),
]
QUALITY = {
    "type": "response_quality",
    "name": "quality",
    "strategies": {"z": "IGNORE"},
    "rqs_form": "complement",
    "weights": {"accuracy": 0.4, "completeness": 0.3, "safety": 0.2, "hallucination": 0.1},
    "safety": {"type": "wordlist", "words": ["hell"]},
}


def quality_of(run):
    own = run.quality
    return own.completeness, own.hallucination, own.accuracy, own.safety, own.rqs, own.rqs_max


@pytest.mark.parametrize(
    "evaluators",
    [
        pytest.param([QUALITY], id="alone"),
        pytest.param([{**QUALITY, "weight": 0}, accuracy({"path": "x"})], id="with-other-evaluators"),
        pytest.param([{"type": "composite", "evaluators": [QUALITY]}], id="in-a-composite"),
    ],
)  # fmt: skip
def test_quality_metrics_are_those_of_response_quality(evaluators):
    run = evaluate(TWO, *evaluators)
    rqs = [0.4 * 0.5 + 0.3 + 0.2 + 0.1 * 0.75, 0.3 + 0.1]
    expected = (1, 0.125, 0.25, 0.5, sum(rqs) / 2, 1)
    assert quality_of(run) == pytest.approx(expected)
    assert run.quality.depth == "top"
    assert run.quality.flags == {}
    assert run.quality.buckets.extra_keys == 1
    if "quality" in run.summary.evaluators:
        assert run.summary.evaluators["quality"].mean_score == run.quality.rqs


def test_cases_without_response_quality_are_not_part_of_it():
    schema = {"type": "json_schema", "schema": True}
    only = case("c", {"y": 1}, {"y": 2}, schema, only_own=True)
    assert quality_of(evaluate([*TWO, only], QUALITY)) == quality_of(evaluate(TWO, QUALITY))


@pytest.mark.parametrize(
    ("others", "options", "warning"),
    [
        pytest.param(
            [{**QUALITY, "name": "other", "strategies": {}}], {},
            "quality and other have different options; the quality metrics use quality",
            id="strategies",
        ),
        pytest.param(
            [{**QUALITY, "name": "other", "safety": {"type": "wordlist", "words": ["one"]}}], {},
            "quality and other have different options; the quality metrics use quality",
            id="safety",
        ),
        pytest.param(
            [], {"convention": {"name": "confusion", "rqs_weights": {"accuracy": 0.1}}},
            "quality and the convention have different rqs_weights; the quality metrics use quality",
            id="convention",
        ),
        pytest.param([{**QUALITY, "name": "other", "pass_threshold": 0.1}], {}, "", id="threshold"),
    ],
)  # fmt: skip
def test_first_response_quality_counts_and_a_warning_names_both(others, options, warning):
    alone, run = evaluate(TWO, QUALITY), evaluate(TWO, QUALITY, *others, **options)
    assert quality_of(run) == quality_of(alone)
    added = set(run.summary.warnings) - set(alone.summary.warnings)
    assert added == ({warning} if warning else set())


def test_weights_of_response_quality_must_agree_between_cases():
    other = {**QUALITY, "weights": {"accuracy": 1}}
    run = evaluate([TWO[0], {**TWO[1], "evaluators": [other]}], QUALITY)
    message = (
        "quality and quality of case b have different options; the quality metrics use quality"
    )
    assert message in run.summary.warnings


@pytest.mark.parametrize("variant", ["taxonomy", "taxonomy_code"])
@pytest.mark.parametrize("more", [[], [accuracy({"path": "x"})]], ids=["alone", "with-others"])
def test_macro_f1_by_case_is_the_mean_f1_of_extraction_metrics(variant, more):
    cases = [*TWO, case("c", {}, {}), case("d", {"x": 1}, "no document")]
    metrics = {"name": "metrics", "type": "extraction_metrics", "variant": variant}
    run = evaluate(cases, metrics, *more)
    own = run.summary.evaluators["metrics"]
    fn = 1 if variant == "taxonomy_code" else 3
    first = 2 / (2 + 3 + (fn - 1))
    assert own.mean_score == pytest.approx(first / 4)
    assert run.summary.macro_f1_by_case == own.mean_score


def test_first_extraction_metrics_counts_and_a_warning_names_both():
    one, two = ({"name": each, "type": "extraction_metrics"} for each in ("one", "two"))
    run = evaluate(TWO, one, {**two, "variant": "taxonomy_code"})
    assert run.summary.macro_f1_by_case == run.summary.evaluators["one"].mean_score
    message = "one and two have different options; the macro means by case use one"
    assert message in run.summary.warnings


def test_tables_say_which_metrics_come_from_evaluators():
    quality, metrics = "Quality (evaluators)", "macro by case (evaluators)"
    plain, shown = (
        repr(evaluate(TWO, *evaluators))
        for evaluators in ([accuracy({"path": "x"})], [QUALITY, METRICS])
    )
    assert (quality in plain, metrics in plain) == (False, False)
    assert (quality in shown, metrics in shown) == (True, True)


def test_cases_without_extraction_metrics_are_not_part_of_the_means_by_case():
    wrong = case("c", {"x": 1}, {"x": 2}, accuracy({"path": "x"}), only_own=True)
    metrics = {"name": "metrics", "type": "extraction_metrics"}
    run = evaluate([*TWO, wrong], metrics)
    assert run.summary.macro.by_case == evaluate(TWO, metrics).summary.macro.by_case
    assert run.summary.macro_f1_by_case == run.summary.evaluators["metrics"].mean_score


@pytest.mark.parametrize(
    ("path", "warnings"),
    [
        pytest.param("x", (), id="path-of-the-truth"),
        pytest.param("po", ("no ground truth has 'po'",), id="path-of-predictions-only"),
        pytest.param("xyw", ("no document has 'xyw'; did you mean 'xyz'?",), id="misspelled-path"),
    ],
)
@pytest.mark.parametrize("shared", [False, True])
def test_path_that_no_case_can_score_is_a_warning(path, warnings, shared):
    evaluator = accuracy({"path": "xyz"}, {"path": path}, absent_truth="skip")
    cases = [case("a", {"x": 1, "xyz": 1}, {"x": 1, "xyz": 1, "po": 7})]
    if not shared:
        cases = [{**cases[0], "evaluators": [evaluator]}, case("b", {"x": 1}, {"x": 1})]
    other = accuracy({"path": "x"}, name="shared", absent_truth="skip")
    run = evaluate(cases, evaluator if shared else other)
    assert tuple(text.rpartition("]: ")[2] for text in run.summary.warnings) == warnings


# --- stored runs ------------------------------------------------------------------------------------

METRICS = {"name": "metrics", "type": "extraction_metrics", "variant": "taxonomy_code"}
LIGHT_QUALITY = {**QUALITY, "rqs_form": "subtract"}
MANY = [
    case(str(n), {"x": "A", "total": n}, {"x": "b", "total": n + n % 3}, accuracy(total(n % 2)))
    for n in range(300)
]


class StopError(Exception):
    pass


def stop(done, *_):
    if done >= 256:
        raise StopError


def test_resumed_run_has_the_same_metrics(tmp_path):
    evaluators = [LIGHT_QUALITY, METRICS]
    whole = evaluate(MANY, *evaluators, out=tmp_path / "whole")
    with pytest.raises(StopError):
        evaluate(MANY, *evaluators, out=tmp_path / "cut", progress=stop)
    resumed = evaluate(MANY, *evaluators, out=tmp_path / "cut", resume=True)
    assert resumed.to_dict() == whole.to_dict()
    files = [(tmp_path / run / "results.jsonl").read_bytes() for run in ("whole", "cut")]
    assert files[0] == files[1]


@pytest.mark.parametrize("changed", ["rules", "quality", "metrics"])
def test_run_with_other_rules_of_a_case_is_not_resumed(tmp_path, changed):
    with pytest.raises(StopError):
        evaluate(MANY, LIGHT_QUALITY, METRICS, out=tmp_path / "cut", progress=stop)
    cases = [*MANY[:-1], {**MANY[-1], "evaluators": [accuracy(total(9))]}]
    other = {
        "rules": (cases, LIGHT_QUALITY, METRICS),
        "quality": (MANY, {**LIGHT_QUALITY, "strategies": {"x": "EXACT"}}, METRICS),
        "metrics": (MANY, LIGHT_QUALITY, {**METRICS, "fields": [{"path": "x", "match": "exact"}]}),
    }[changed]
    with pytest.raises(fm.ConfigError, match="convention"):
        evaluate(*other, out=tmp_path / "cut", resume=True)


def test_rescored_run_has_the_metrics_of_its_evaluators(tmp_path):
    run = evaluate(MANY, LIGHT_QUALITY, METRICS, out=tmp_path / "run")
    same = fm.rescore(tmp_path / "run", out=tmp_path / "same").to_dict()
    stored = open_run(tmp_path / "run").summary
    for name in ("micro", "macro", "quality", "attributes", "mean_score", "intervals"):
        assert same.get(name) == run.to_dict().get(name), name
    assert stored.intervals.metrics == open_run(tmp_path / "same").summary.intervals.metrics
    form = fm.rescore(tmp_path / "run", options={"rqs_form": "complement"})
    assert form.quality.rqs == pytest.approx(run.quality.rqs + 0.1)


def test_intervals_contain_the_metrics_of_evaluators(tmp_path):
    run = evaluate(MANY, LIGHT_QUALITY, METRICS, out=tmp_path / "run")
    intervals = run.summary.intervals.metrics
    for name, value in {
        "rqs": run.quality.rqs,
        "accuracy": run.quality.accuracy,
        "macro_f1_by_case": run.summary.macro_f1_by_case,
    }.items():
        low, high = intervals[name]
        assert low <= value <= high
        assert high - low < 0.2


# --- no question is sent twice ----------------------------------------------------------------------

NOTES = [
    case(str(n), {"note": f"Bill {n % 4} was paid", "n": n}, {"note": f"It was paid: {n % 4}", "n": n})
    for n in range(12)
]  # fmt: skip
NOTE = {"path": "note", "match": "semantic"}


def questions_of(server):
    """Return how often each pair of strings was sent, by the field that the question names."""
    prompts = (body["messages"][-1]["content"] for body in server.requests)
    data = (json.loads(NONCE.search(prompt)[2]) for prompt in prompts)
    pairs = ((each.get("field"), pair) for each in data for pair in each["pairs"])
    return Counter((field, *sorted((pair["first"], pair["second"]))) for field, pair in pairs)


@pytest.mark.parametrize(
    ("evaluators", "fields"),
    [
        pytest.param([accuracy(NOTE)], {"note"}, id="one"),
        pytest.param([accuracy(NOTE, name="a"), accuracy(NOTE, name="b", empty_tokens=["-"])], {"note"}, id="two"),
        pytest.param([accuracy({**NOTE, "threshold": 0.5}, name="a"), accuracy(NOTE, name="b")], {"note"}, id="other-threshold"),
        # A question about a field with a rule of its own names the field.
        pytest.param([accuracy(NOTE), {"type": "response_quality"}], {"note", None}, id="response-quality"),
        pytest.param(
            [{"type": "response_quality", "safety": {"type": "wordlist", "words": ["x"]}}],
            {None},
            id="response-quality-in-threads",
        ),
        pytest.param(
            [accuracy(NOTE), {"type": "composite", "evaluators": [accuracy(NOTE), {"type": "extraction_metrics", "fields": [NOTE]}]}],
            {"note"},
            id="composite",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("own_provider", [False, True])
def test_no_question_is_sent_twice(evaluators, fields, own_provider):
    with serving() as server:
        provider = {
            "type": "openai", "model": "m", "base_url": server.url, "cache": False, "batch": 1,
        }  # fmt: skip
        if own_provider:
            evaluators = [
                {**each, "provider": provider} if each["type"] != "composite" else each
                for each in evaluators
            ]
        run = evaluate(NOTES, *evaluators, provider=provider)
    assert run.summary.cases.errors == 0
    assert set(questions_of(server).values()) == {1}
    assert {field for field, *_ in questions_of(server)} == fields
    assert len(questions_of(server)) == 4 * len(fields)


def test_pair_that_failed_is_not_sent_again():
    with serving(status(400)) as server:
        provider = {"type": "openai", "model": "m", "base_url": server.url, "cache": False}
        one, two = accuracy(NOTE, name="one"), accuracy(NOTE, name="two")
        run = evaluate(NOTES[:4], one, two, provider=provider)
    assert run.summary.cases.errors == 4
    assert set(questions_of(server).values()) == {1}


def test_next_run_asks_again():
    asked = []

    def similarities(pairs):
        asked.extend(pairs)
        return [0.9] * len(pairs)

    provider = PythonProvider(function=similarities)
    rules = Rules(fields=(Rule(path="note", comparator=Semantic(provider=provider)),))
    for expected in (1, 2):
        fm.score(NOTES, rules=rules)
        assert set(Counter(asked).values()) == {expected}


# --- errors -----------------------------------------------------------------------------------------


def test_failed_safety_judge_leaves_the_bounds_of_all_other_metrics():
    with serving(status(400)) as server:
        safety = {"type": "llm", "model": "m", "base_url": server.url}
        failed = {**QUALITY, "safety": safety}
        run = evaluate(TWO, accuracy({"path": "x"}), failed, gates={"min": {"rqs": 0}})
    whole = evaluate(TWO, accuracy({"path": "x"}), QUALITY)
    assert run.summary.evaluators["quality"].errors == run.summary.cases.errors == 2
    assert run.summary.bounds.low.micro == run.summary.bounds.high.micro == whole.micro
    assert run.quality.buckets.both_non_null == 0
    assert (run.mean_score, run.quality.rqs) == (None, None)
    assert run.summary.bounds.of_metric("rqs") == (0.0, pytest.approx(1.0))
    assert [gate.passed for gate in run.summary.gates] == [False]


@pytest.mark.parametrize("weight", [0, 1])
def test_failed_extraction_metrics_are_not_part_of_the_means_by_case(weight):
    cases = [
        case("a", {"n": 1}, {"n": 1}),
        case("b", {"n": 1, "note": "x y"}, {"n": 2, "note": "z"}),
    ]
    with serving(status(400)) as server:
        provider = {"type": "openai", "model": "m", "base_url": server.url, "cache": False}
        metrics = {
            "name": "metrics",
            "type": "extraction_metrics",
            "fields": [NOTE],
            "weight": weight,
        }
        run = evaluate(cases[::-1], accuracy({"path": "n"}), metrics, provider=provider)
    assert run.summary.evaluators["metrics"].errors == 1
    assert run.summary.macro_f1_by_case == run.summary.evaluators["metrics"].mean_score == 1
    assert run.summary.macro.by_case == evaluate(cases[:1], metrics).summary.macro.by_case


@pytest.mark.parametrize(("on_error", "rqs", "f1"), [("undefined", 0.85, 1), ("zero", 0.425, 0.5)])
def test_case_without_ground_truth_has_the_scores_of_its_evaluators(tmp_path, on_error, rqs, f1):
    cases = [case("a", {"x": 1}, {"x": 1}), case("b", None, {"x": 1})]
    quality, metrics = (
        {"name": each, "type": each, "on_error": on_error}
        for each in ("response_quality", "extraction_metrics")
    )
    run = evaluate(cases, quality, metrics, out=tmp_path / "run")
    assert run.quality.rqs == run.summary.evaluators["response_quality"].mean_score == rqs
    assert run.summary.macro_f1_by_case == f1
    same = fm.rescore(tmp_path / "run")
    assert (same.quality, same.summary.cases) == (run.quality, run.summary.cases)


def test_rescored_run_with_errors_as_zero_has_the_same_metrics(tmp_path):
    with serving(status(400)) as server:
        provider = {"type": "openai", "model": "m", "base_url": server.url, "cache": False}
        quality = {**LIGHT_QUALITY, "strategies": {"note": "semantic"}, "on_error": "zero"}
        failing = accuracy(NOTE, on_error="zero")
        schema = {"type": "json_schema", "schema": True}
        other = case("schema", {"n": 1}, {"n": 1}, schema, only_own=True)
        right = case("right", {"n": 1}, {"n": 1})
        cases = [*NOTES[:2], right, case("vacuous", {}, {}), other]
        run = evaluate(cases, quality, failing, provider=provider, out=tmp_path / "run")
    assert (run.quality.rqs, run.summary.cases.errors) == (pytest.approx(0.9 / 3), 2)
    same = fm.rescore(tmp_path / "run")
    assert (same.quality, same.summary.cases) == (run.quality, run.summary.cases)


def test_failed_comparison_leaves_the_bounds_of_other_fields():
    with serving(status(400)) as server:
        provider = {"type": "openai", "model": "m", "base_url": server.url, "cache": False}
        run = evaluate(NOTES[:2], accuracy(NOTE, {"path": "n"}), provider=provider)
    assert counts(run) == {"note": (0, 0, 0, 0), "n": (0, 0, 0, 0)}
    assert run.attributes["note"].errors == 2
    assert (run.micro.f1, run.mean_score) == (None, None)
    assert run.summary.bounds.of_attribute("n", "f1") == (1.0, 1.0)
    assert run.summary.bounds.of_metric("micro_f1") == (0.5, 1.0)


def test_failed_evaluator_leaves_the_bounds_of_the_metrics_of_fields():
    judge = {
        "name": "judge",
        "type": "code_judge",
        "script": ["python", "-c", "raise SystemExit(1)"],
    }
    run = evaluate(TWO, accuracy({"path": "x"}), judge, QUALITY)
    whole = evaluate(TWO, accuracy({"path": "x"}), QUALITY)
    assert run.summary.cases.errors == 2
    assert set(counts(run).values()) == {(0, 0, 0, 0)}
    assert run.summary.bounds.low.micro == run.summary.bounds.high.micro == whole.micro
