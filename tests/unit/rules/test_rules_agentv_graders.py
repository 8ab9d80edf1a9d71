"""AgentV graders and the evaluators that replace them."""

from __future__ import annotations

from pathlib import Path

import pytest

from fieldmark.analyses.evaluate import evaluate
from fieldmark.compare.fuzzy import Algorithm, Fuzzy
from fieldmark.model.json import MISSING
from fieldmark.rules.agentv import COUNTERPARTS, counterpart, import_agentv
from fieldmark.runs.eval_file import load_eval
from unit.rules.agentv_files import CASE, FILE, project
from unit.rules.test_rules_agentv_suite import problems_of

PAGE = Path(__file__).parents[3] / "docs" / "agentv.md"


def grader_of(tmp_path, grader, **options):
    """Return the evaluator that replaces a grader."""
    (member,) = load_eval(
        project(tmp_path, graders=[{"name": "own", **grader}], **options)
    ).evaluators
    return member


def script(name, **settings):
    return {"type": "code-grader", "command": ["bun", "run", f"../graders/{name}.ts"], **settings}


@pytest.mark.parametrize(
    ("kind", "word", "command"),
    [
        pytest.param("code_judge", "script", ["bun", "run", "../judges/header_confusion_metrics.ts"], id="early-version"),
        pytest.param("code-judge", "command", ["node", "graders\\header_confusion_metrics.mjs"], id="backslashes"),
        pytest.param("code_grader", "command", "bun run ../judges/header_confusion_metrics.ts", id="command-as-string"),
        pytest.param("code-grader", "script", ["bun", "header_confusion_metrics.ts"], id="later-version"),
        pytest.param("script", "script", ["bun", "header_confusion_metrics.ts"], id="script"),
    ],
)  # fmt: skip
def test_a_script_is_recognized_by_its_name(tmp_path, kind, word, command):
    grader = {"type": kind, word: command, "fields": [{"path": "total"}]}
    assert grader_of(tmp_path, grader).type == "field_confusion"


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        pytest.param(
            ["bun", "header_confusion_metrics.ts"], "field_confusion", id="header-confusion"
        ),
        pytest.param(["bun", "line_item_matching.ts"], "line_items", id="line-items"),
        pytest.param(["bun", "multi_field_fuzzy.ts"], "field_confusion", id="multi-field-fuzzy"),
        pytest.param(["bun", "fuzzy_match.ts"], "field_accuracy", id="fuzzy-match"),
        pytest.param(["bun", "line_item_matching"], None, id="word-without-extension"),
        pytest.param(["bun", "my_line_item_matching.ts"], None, id="different-name"),
        pytest.param([], None, id="no-command"),
    ],
)
def test_scripts_have_counterparts(words, kind):
    found = counterpart(words)
    assert (found and found.type) == kind


@pytest.mark.parametrize(
    ("file", "settings", "kind"),
    [
        pytest.param("graders/multi_field_fuzzy.ts", {}, "code_judge", id="existing"),
        pytest.param("graders/multi_field_fuzzy.js", {}, "field_confusion", id="another-extension"),
        pytest.param("multi_field_fuzzy.ts", {}, "field_confusion", id="another-directory"),
        pytest.param(
            "work/multi_field_fuzzy.ts", {"command": ["bun", "multi_field_fuzzy.ts"], "cwd": "../work"},
            "code_judge", id="existing-in-cwd",
        ),
        pytest.param(
            "evals/multi_field_fuzzy.ts", {"command": ["bun", "multi_field_fuzzy.ts"], "cwd": "../graders"},
            "field_confusion", id="missing-in-cwd",
        ),
    ],
)  # fmt: skip
def test_an_existing_script_is_never_replaced(tmp_path, file, settings, kind):
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).touch()
    grader = {**script("multi_field_fuzzy", fields=[{"path": "total"}]), **settings}
    (tmp_path / "graders").mkdir(exist_ok=True)
    assert grader_of(tmp_path, grader).type == kind


def test_a_replaced_script_is_a_warning(tmp_path):
    grader = {"name": "own", **script("multi_field_fuzzy", fields=[{"path": "total"}])}
    (warning,) = load_eval(project(tmp_path, graders=[grader])).warnings
    assert warning.message == "script ../graders/multi_field_fuzzy.ts not found"
    assert warning.hint == "the built-in evaluator field_confusion replaces it"


def test_counterparts_are_documented():
    page = PAGE.read_text("utf-8")
    for name, known in COUNTERPARTS.items():
        assert f"| `{name}` | `{known.type}` |" in page


# --- settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        pytest.param({}, {}, id="defaults"),
        pytest.param(
            {"line_items_path": "rows", "match_fields": ["sku"], "score_fields": ["a"], "threshold": 0.5},
            {"path": "rows", "match_fields": ("sku",), "score_fields": ("a",), "threshold": 0.5},
            id="all",
        ),
    ],
)  # fmt: skip
def test_line_items_settings(tmp_path, settings, options):
    defaults = {
        "path": "line_items",
        "match_fields": ("description",),
        "score_fields": ("description", "quantity", "line_total"),
        "threshold": 0.8,
    }
    made = grader_of(tmp_path, script("line_item_matching", weight=3.0, **settings))
    assert made.weight == 3.0
    for name, value in {**defaults, **options}.items():
        assert getattr(made.evaluator, name) == value


@pytest.mark.parametrize(
    ("settings", "field", "threshold", "algorithm"),
    [
        pytest.param({}, {}, 0.85, "levenshtein", id="defaults"),
        pytest.param({"threshold": 0.7}, {}, 0.7, "levenshtein", id="common-threshold"),
        pytest.param(
            {"threshold": 0.7}, {"threshold": 0.9}, 0.9, "levenshtein", id="field-threshold"
        ),
        pytest.param(
            {"algorithm": "jaro_winkler"}, {}, 0.85, "jaro_winkler", id="another-algorithm"
        ),
    ],
)
def test_multi_field_fuzzy_settings(tmp_path, settings, field, threshold, algorithm):
    grader = script("multi_field_fuzzy", fields=[{"path": "name", **field}], **settings)
    (rule,) = grader_of(tmp_path, grader).evaluator.fields
    assert rule.comparator == Fuzzy(threshold=threshold, algorithm=Algorithm(algorithm))


def test_fuzzy_fields_score_one_or_zero(tmp_path):
    grader = script("multi_field_fuzzy", fields=[{"path": "name"}, {"path": "city"}])
    evaluation = grader_of(tmp_path, grader).evaluator.evaluate(
        {"name": "Acme Shipping", "city": "Oslo"}, {"name": "Acme - Shipping", "city": "Rome"}
    )
    assert evaluation.score == 0.5
    assert evaluation.hits == ("name",)


def test_a_string_is_compared_as_a_whole(tmp_path):
    cases = [{"id": "a", "expected_output": "Acme Shipping", "input": FILE}]
    path = {"a.json": '"Acme - Shipping"'}
    judge = grader_of(tmp_path, script("fuzzy_match"), cases=cases, fixtures=path).evaluator
    assert judge.evaluate("Acme Shipping", "Acme - Shipping").score == pytest.approx(
        0.867, abs=5e-4
    )
    assert judge.evaluate("Acme Shipping", "Beta").score == 0.0


@pytest.mark.parametrize(
    "where",
    [
        pytest.param(lambda own: {"graders": [own]}, id="by-file"),
        pytest.param(lambda own: {"cases": [{**CASE, "assertions": [own]}]}, id="by-case"),
    ],
)
def test_comparing_documents_as_strings_is_a_problem(tmp_path, where):
    own = {"name": "own", **script("fuzzy_match")}
    (problem,) = problems_of(project(tmp_path, **where(own)))
    assert "case 'a' expects a document, but one of its graders compares strings" in problem


@pytest.mark.parametrize(
    ("grader", "message"),
    [
        pytest.param(script("line_item_matching", treshold=0.5), "did you mean 'threshold'?", id="line-items"),
        pytest.param(
            script("multi_field_fuzzy", fields=[{"path": "a", "treshold": 1}]), "did you mean 'threshold'?",
            id="in-field",
        ),
        pytest.param(script("header_confusion_metrics"), "option 'fields' is required for field_confusion", id="no-fields"),
        pytest.param({"type": "field-accuracy", "fields": [{"path": "a", "match": "exakt"}]}, "did you mean 'exact'?", id="match"),
    ],
)  # fmt: skip
def test_a_typo_in_the_settings_is_a_problem(tmp_path, grader, message):
    problems = problems_of(project(tmp_path, graders=[{"name": "own", **grader}]))
    assert any(message in problem for problem in problems), problems


# --- unsupported graders --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        pytest.param("llm_judge", "it uses AgentV's own prompts", id="llm-judge"),
        pytest.param("llm-rubric", "it uses AgentV's own prompts", id="llm-rubric"),
        pytest.param("rubric", "it uses AgentV's own prompts", id="rubric"),
        pytest.param("latency", "it measures the run of an agent", id="latency"),
        pytest.param("cost", "it measures the run of an agent", id="cost"),
        pytest.param("tool_trajectory", "it measures the run of an agent", id="tool-trajectory"),
        pytest.param("contains", "it checks text", id="contains"),
    ],
)
def test_an_unsupported_grader_is_a_problem_with_the_reason(tmp_path, kind, reason):
    (problem, *_) = problems_of(project(tmp_path, graders=[{"name": "own", "type": kind}]))
    assert f"unsupported grader {kind!r}: {reason}" in problem


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        pytest.param("llm-grader", "and add an evaluator with type: llm_judge", id="llm-grader"),
        pytest.param("latency", "predictions are read from files", id="latency-instead"),
        pytest.param("equals", "use type: field_accuracy with match: exact", id="equals-instead"),
        pytest.param("quux", "unknown grader 'quux'", id="unknown-type"),
        pytest.param("feild-accuracy", "did you mean 'field_accuracy'?", id="typo"),
    ],
)
def test_problem_of_a_grader_says_what_to_do(tmp_path, kind, message):
    (problem, *_) = problems_of(project(tmp_path, graders=[{"name": "own", "type": kind}]))
    assert message in problem


@pytest.mark.parametrize(
    ("command", "message"),
    [
        pytest.param(
            ["bun", "run", "../graders/own.ts"],
            "script ../graders/own.ts not found; set script: to your own judge",
            id="missing-script",
        ),
        pytest.param(
            "cat x | bun own.ts", "grader: a valid command is required", id="shell-pipeline"
        ),
        pytest.param("bun 'own.ts", "grader: a valid command is required", id="unclosed-quote"),
        pytest.param([], "grader: a valid command is required", id="no-words"),
        pytest.param(["bun", 1], "grader: a valid command is required", id="number-in-command"),
    ],
)
def test_an_invalid_command_is_a_problem(tmp_path, command, message):
    grader = {"name": "own", "type": "code-grader", "command": command}
    (problem, *_) = problems_of(project(tmp_path, graders=[grader]))
    assert message in problem
    assert "has no graders" not in problem


def test_a_custom_script_becomes_a_code_judge_with_its_settings(tmp_path):
    grader = {"name": "own", "type": "code-grader", "command": ["python", "own.py"], "maxGap": 3}
    path = project(tmp_path, graders=[grader])
    (path.parent / "own.py").touch()
    (member,) = load_eval(path).evaluators
    assert member.type == "code_judge"
    assert tuple(member.evaluator.script) == ("python", "own.py")
    assert member.evaluator.config == {"maxGap": 3}


# --- verdicts -------------------------------------------------------------------------------------

FIELDS = {"type": "field-accuracy", "fields": [{"path": "total"}, {"path": "date"}]}
OWN_SCRIPT = {"type": "code-grader", "command": ["python", "own.py"]}


@pytest.mark.parametrize(
    ("settings", "threshold"),
    [
        pytest.param({}, None, id="neither"),
        pytest.param({"min_score": 0.6}, 0.6, id="min-score"),
        pytest.param({"required": 0.7}, 0.7, id="required-number"),
        pytest.param({"required": True}, 0.8, id="required"),
        pytest.param({"required": True, "min_score": 0.6}, 0.6, id="required-and-min-score"),
        pytest.param({"required": 0.7, "min_score": 0.6}, 0.6, id="min-score-first"),
        pytest.param({"required": False, "negate": False}, None, id="false"),
        pytest.param({"required": True, "pass_threshold": 0.9}, 0.9, id="native-key"),
    ],
)
def test_minimum_score_becomes_the_pass_threshold(tmp_path, settings, threshold):
    member = grader_of(tmp_path, {**FIELDS, **settings})
    assert member.evaluator.pass_threshold == threshold


@pytest.mark.parametrize(
    "kind", [FIELDS, OWN_SCRIPT, {"type": "is-json"}], ids=lambda kind: kind["type"]
)
def test_minimum_score_is_supported_by_every_grader(tmp_path, kind):
    path = project(tmp_path, graders=[{"name": "own", **kind, "min_score": 0.6}])
    (path.parent / "own.py").touch()
    (member,) = load_eval(path).evaluators
    assert member.evaluator.pass_threshold == 0.6
    assert not getattr(member.evaluator, "config", {})


@pytest.mark.parametrize(
    "where",
    [
        pytest.param(lambda own: {"graders": [own]}, id="by-file"),
        pytest.param(lambda own: {"cases": [{**CASE, "assertions": [own]}]}, id="by-case"),
    ],
)
def test_a_failing_required_grader_fails_the_run(tmp_path, where):
    own = {"name": "own", **FIELDS, "fields": [{"path": "total"}], "required": True}
    path = project(tmp_path, **where(own), fixtures={"a.json": '{"total": 2}'})
    result = evaluate(path)
    assert not result.passed
    (gate,) = load_eval(path).gates
    assert "evaluators.own.verdicts.fail" in str(gate)
    assert evaluate(project(tmp_path, **where(own))).passed


def test_a_required_grader_that_no_case_uses_has_no_gate(tmp_path):
    own = {"name": "own", **FIELDS, "fields": [{"path": "total"}], "required": True}
    cases = [{**CASE, "assertions": [TOTAL]}]
    path = project(tmp_path, graders=[own], cases=cases, era="evalcases")
    assert not load_eval(path).gates


def test_a_script_in_a_composite_is_a_warning_of_the_import(tmp_path):
    composite = {
        "name": "own",
        "type": "composite",
        "assertions": [TOTAL, {"name": "s", **OWN_SCRIPT}],
    }
    path = project(tmp_path, graders=[composite])
    (path.parent / "own.py").touch()
    (warning,) = import_agentv(path).warnings
    assert "script paths are relative" in str(warning)


def test_a_required_grader_is_a_warning(tmp_path):
    own = {"name": "own", **FIELDS, "fields": [{"path": "total"}], "required": True}
    (warning,) = import_agentv(project(tmp_path, graders=[own])).warnings
    assert "a case that fails this grader keeps its score; AgentV sets it to 0" in str(warning)


@pytest.mark.parametrize(
    ("grader", "message"),
    [
        pytest.param({**FIELDS, "negate": True}, "negate is not supported: scores are never inverted", id="negate"),
        pytest.param({**OWN_SCRIPT, "negate": True}, "negate is not supported", id="negate-of-script"),
        pytest.param({**FIELDS, "min_score": 80}, "expected a score above 0 and up to 1, got 80", id="percentage"),
        pytest.param({**FIELDS, "required": "yes"}, "expected a score above 0 and up to 1, got", id="required-string"),
        pytest.param({**FIELDS, "min_score": 0.5, "pass_threshold": 0.5}, "cannot be combined", id="two-thresholds"),
        pytest.param({**FIELDS, "name": None, "required": True}, "a required grader must have a name", id="no-name"),
        pytest.param({**OWN_SCRIPT, "target": {"max_calls": 3}}, "target of a grader is not supported: it gives the script access", id="target"),
        pytest.param({**OWN_SCRIPT, "preprocessors": []}, "preprocessors of a grader is not supported", id="preprocessors"),
    ],
)  # fmt: skip
def test_unsupported_settings_are_a_problem_with_the_reason(tmp_path, grader, message):
    (problem, *_) = problems_of(project(tmp_path, graders=[{"name": "own", **grader}]))
    assert message in problem


@pytest.mark.parametrize("key", ["required", "min_score", "negate"])
@pytest.mark.parametrize(
    ("where", "place"),
    [
        pytest.param(lambda own: own, "", id="file"),
        pytest.param(lambda own: {"execution": own}, "execution.", id="execution"),
        pytest.param(lambda own: {"cases": [{**CASE, **own}]}, "", id="case"),
    ],
)
def test_keys_of_graders_are_refused_elsewhere(tmp_path, key, where, place):
    (problem, *_) = problems_of(project(tmp_path, **where({key: True})))
    assert f"{place}{key} is only supported as a key of a grader; move it to a grader" in problem


# --- is-json and composites -----------------------------------------------------------------------


def test_is_json_accepts_any_document(tmp_path):
    judge = grader_of(tmp_path, {"type": "is-json"}).evaluator
    assert judge.evaluate({}, {"a": 1}).score == 1.0
    assert judge.evaluate({}, MISSING, unreadable=True).score == 0.0


def test_is_json_with_a_schema(tmp_path):
    judge = grader_of(tmp_path, {"type": "is-json", "value": {"required": ["a"]}}).evaluator
    assert judge.evaluate({}, {}).score == 0.0


TOTAL = {"name": "total", "type": "field-accuracy", "fields": [{"path": "total"}]}
JSON = {"name": "json", "type": "is-json"}


@pytest.mark.parametrize(
    ("grader", "aggregator", "weights", "limit"),
    [
        pytest.param({"type": "composite", "assertions": [TOTAL, JSON]}, "weighted_average", [1, 1], 0.8, id="default"),
        pytest.param({"type": "composite", "evaluators": [TOTAL, JSON]}, "weighted_average", [1, 1], 0.8, id="early-version"),
        pytest.param(
            {"type": "composite", "assertions": [TOTAL, JSON],
             "aggregator": {"type": "weighted_average", "weights": {"json": 3}}},
            "weighted_average", [1, 3], 0.8, id="weights",
        ),
        pytest.param(
            {"type": "composite", "assertions": [TOTAL, JSON], "aggregator": {"type": "threshold", "threshold": 0.5}},
            "threshold", [1, 1], 0.8, id="threshold",
        ),
        pytest.param({"type": "assert-set", "assert": [TOTAL, JSON], "threshold": 0.5}, "weighted_average", [1, 1], 0.5, id="assert-set"),
        pytest.param({"type": "composite", "assertions": [TOTAL, JSON], "min_score": 0.3}, "weighted_average", [1, 1], 0.3, id="min-score"),
    ],
)  # fmt: skip
def test_a_composite_becomes_a_native_composite(tmp_path, grader, aggregator, weights, limit):
    composite = grader_of(tmp_path, grader).evaluator
    assert [member.type for member in composite.evaluators] == ["field_accuracy", "json_schema"]
    assert [member.weight for member in composite.evaluators] == weights
    assert (composite.aggregator, composite.pass_threshold) == (aggregator, limit)
    assert composite.threshold == (0.5 if aggregator == "threshold" else None)


@pytest.mark.parametrize(
    ("grader", "message"),
    [
        pytest.param({}, "composite: a list of graders is required", id="no-members"),
        pytest.param({"assertions": [TOTAL, {"type": "latency"}]}, "unsupported grader 'latency'", id="unsupported-member"),
        pytest.param({"assertions": [TOTAL, "Is it polite?"]}, "composite: text for a language model cannot be graded", id="text"),
        pytest.param({"assertions": [{**TOTAL, "required": True}]}, "required is not supported in a composite", id="required-member"),
        pytest.param(
            {"assertions": [TOTAL], "aggregator": {"type": "llm-grader"}},
            "unsupported aggregator 'llm-grader': it runs a script or a language model; use", id="aggregator",
        ),
        pytest.param(
            {"assertions": [TOTAL], "aggregator": {"type": "weighted_average", "weights": {"totl": 1}}},
            "weights: unknown grader 'totl'; did you mean 'total'?", id="weights",
        ),
        pytest.param({"assertions": [TOTAL], "aggregator": {"type": "threshold", "x": 1}}, "unknown key 'x'", id="unknown-key"),
        pytest.param({"assertions": [TOTAL], "config": {}}, "unknown key 'config'", id="config"),
    ],
)  # fmt: skip
def test_an_unsupported_composite_is_a_problem(tmp_path, grader, message):
    own = {"name": "own", "type": "composite", **grader}
    problems = problems_of(project(tmp_path, graders=[own]))
    assert any(message in problem for problem in problems), problems
