"""Graders of AgentV and the evaluators that do their work, script by script."""

from __future__ import annotations

from pathlib import Path

import pytest

from fieldmark.compare.fuzzy import Algorithm, Fuzzy
from fieldmark.config.agentv.graders import COUNTERPARTS, counterpart
from fieldmark.config.eval_file import load_eval
from unit.config.agentv_files import CASE, FILE, project
from unit.config.test_config_agentv_suite import refused

PAGE = Path(__file__).parents[3] / "docs" / "agentv.md"


def grader_of(tmp_path, grader, **how):
    """The evaluator that a grader becomes."""
    (member,) = load_eval(project(tmp_path, graders=[{"name": "own", **grader}], **how)).evaluators
    return member


def script(name, **settings):
    return {"type": "code-grader", "command": ["bun", "run", f"../graders/{name}.ts"], **settings}


@pytest.mark.parametrize(
    "kind", ["code_judge", "code-judge", "code_grader", "code-grader", "script"]
)
@pytest.mark.parametrize("word", ["script", "command"])
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(
            ["bun", "run", "../judges/header_confusion_metrics.ts"], id="of-the-design-era"
        ),
        pytest.param(["node", "graders\\header_confusion_metrics.mjs"], id="with-other-slashes"),
        pytest.param("bun run ../judges/header_confusion_metrics.ts", id="as-one-line"),
    ],
)
def test_a_script_is_known_by_its_name_however_it_is_called(tmp_path, kind, word, command):
    grader = {"type": kind, word: command, "fields": [{"path": "total"}]}
    assert grader_of(tmp_path, grader).type == "field_confusion"


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        pytest.param(
            ["bun", "header_confusion_metrics.ts"], "field_confusion", id="header-confusion"
        ),
        pytest.param(["bun", "line_item_matching.ts"], "line_items", id="line-items"),
        pytest.param(["bun", "multi_field_fuzzy.ts"], "field_confusion", id="several-fuzzy-fields"),
        pytest.param(["bun", "fuzzy_match.ts"], "field_accuracy", id="one-fuzzy-text"),
        pytest.param(["bun", "line_item_matching"], None, id="a-word-is-no-script"),
        pytest.param(
            ["bun", "my_line_item_matching.ts"], None, id="another-name-is-another-script"
        ),
        pytest.param([], None, id="no-command"),
    ],
)
def test_scripts_have_counterparts(words, kind):
    found = counterpart(words)
    assert (found and found.type) == kind


def test_every_counterpart_is_told_in_the_documents():
    page = PAGE.read_text("utf-8")
    for name, known in COUNTERPARTS.items():
        assert f"| `{name}` | `{known.type}` |" in page


# --- settings -------------------------------------------------------------------------------------


def test_line_items_score_the_fields_that_the_script_scores(tmp_path):
    plain = grader_of(tmp_path, script("line_item_matching")).evaluator
    assert plain.path == "line_items"
    assert plain.match_fields == ("description",)
    assert plain.score_fields == ("description", "quantity", "line_total")
    assert plain.threshold == 0.8


def test_line_items_take_the_settings_of_the_script(tmp_path):
    settings = {
        "line_items_path": "rows",
        "match_fields": ["sku"],
        "score_fields": ["sku"],
        "threshold": 0.5,
    }
    own = grader_of(tmp_path, script("line_item_matching", **settings)).evaluator
    assert (own.path, own.match_fields, own.score_fields, own.threshold) == (
        "rows",
        ("sku",),
        ("sku",),
        0.5,
    )


@pytest.mark.parametrize(
    ("settings", "field", "threshold", "algorithm"),
    [
        pytest.param({}, {}, 0.85, "levenshtein", id="usual"),
        pytest.param({"threshold": 0.7}, {}, 0.7, "levenshtein", id="a-threshold-for-all"),
        pytest.param(
            {"threshold": 0.7}, {"threshold": 0.9}, 0.9, "levenshtein", id="a-field-has-its-own"
        ),
        pytest.param(
            {"algorithm": "jaro_winkler"}, {}, 0.85, "jaro_winkler", id="another-algorithm"
        ),
    ],
)
def test_fields_are_compared_fuzzily_as_the_script_is_told(
    tmp_path, settings, field, threshold, algorithm
):
    grader = script("multi_field_fuzzy", fields=[{"path": "name", **field}], **settings)
    (rule,) = grader_of(tmp_path, grader).evaluator.fields
    assert rule.comparator == Fuzzy(threshold=threshold, algorithm=Algorithm(algorithm))


def test_fuzzy_fields_earn_all_or_nothing_each(tmp_path):
    grader = script("multi_field_fuzzy", fields=[{"path": "name"}, {"path": "city"}])
    evaluation = grader_of(tmp_path, grader).evaluator.evaluate(
        {"name": "Acme Shipping", "city": "Oslo"}, {"name": "Acme - Shipping", "city": "Rome"}
    )
    assert evaluation.score == 0.5
    assert evaluation.hits == ("name",)


def test_a_text_is_compared_as_a_whole(tmp_path):
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
        pytest.param(lambda own: {"graders": [own]}, id="by-the-file"),
        pytest.param(lambda own: {"cases": [{**CASE, "assertions": [own]}]}, id="by-the-case"),
    ],
)
def test_comparing_documents_as_texts_is_refused(tmp_path, where):
    own = {"name": "own", **script("fuzzy_match")}
    (problem,) = refused(project(tmp_path, **where(own)))
    assert "The case a expects a document, and one of its graders compares texts." in problem


@pytest.mark.parametrize(
    ("grader", "message"),
    [
        pytest.param(script("line_item_matching", treshold=0.5), "Did you mean threshold?", id="line-items"),
        pytest.param(
            script("multi_field_fuzzy", fields=[{"path": "a", "treshold": 1}]), "Did you mean threshold?",
            id="in-a-field",
        ),
        pytest.param(script("header_confusion_metrics"), "needs the option fields", id="no-fields"),
        pytest.param({"type": "field-accuracy", "fields": [{"path": "a", "match": "exakt"}]}, "Did you mean exact?", id="match"),
    ],
)  # fmt: skip
def test_a_slip_in_the_settings_is_refused(tmp_path, grader, message):
    problems = refused(project(tmp_path, graders=[{"name": "own", **grader}]))
    assert any(message in problem for problem in problems), problems


def test_weights_stay(tmp_path):
    assert grader_of(tmp_path, script("line_item_matching", weight=3.0)).weight == 3.0


# --- graders that cannot work here ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        pytest.param("llm_judge", "llm_judge asks a language model", id="a-model-judges"),
        pytest.param("llm-rubric", "llm-rubric asks a language model", id="a-model-reads-a-rubric"),
        pytest.param("rubric", "rubric asks a language model", id="a-rubric"),
        pytest.param("latency", "latency measures the agent's run", id="time"),
        pytest.param("cost", "cost measures the agent's run", id="money"),
        pytest.param("tool_trajectory", "tool_trajectory measures the agent's run", id="steps"),
        pytest.param(
            "contains", "contains checks the answer as text", id="a-text-inside-the-answer"
        ),
        pytest.param(
            "composite", "composite combines graders in a way of AgentV's own", id="several-in-one"
        ),
        pytest.param("quux", "No such grader here: quux.", id="an-unknown-type"),
        pytest.param("feild-accuracy", "Did you mean field_accuracy?", id="a-slip"),
    ],
)
def test_a_grader_that_cannot_work_here_says_why(tmp_path, kind, message):
    (problem, *_) = refused(project(tmp_path, graders=[{"name": "own", "type": kind}]))
    assert message in problem


@pytest.mark.parametrize(
    ("command", "message"),
    [
        pytest.param(
            ["bun", "run", "../graders/own.ts"],
            "The script ../graders/own.ts is not here. Point script: to a judge of yours.",
            id="a-script-that-is-not-here",
        ),
        pytest.param("cat x | bun own.ts", "no command that can be run", id="a-line-for-a-shell"),
        pytest.param("bun 'own.ts", "no command that can be run", id="an-open-quote"),
        pytest.param([], "no command that can be run", id="no-words"),
        pytest.param(["bun", 1], "no command that can be run", id="a-word-that-is-no-text"),
    ],
)
def test_a_judge_that_cannot_be_run_is_refused_before_anything_runs(tmp_path, command, message):
    grader = {"name": "own", "type": "code-grader", "command": command}
    (problem, *_) = refused(project(tmp_path, graders=[grader]))
    assert message in problem
    assert "Nothing grades" not in problem


def test_a_judge_of_ones_own_runs_with_its_settings(tmp_path):
    grader = {"name": "own", "type": "code-grader", "command": ["python", "own.py"], "maxGap": 3}
    path = project(tmp_path, graders=[grader])
    (path.parent / "own.py").touch()
    (member,) = load_eval(path).evaluators
    assert member.type == "code_judge"
    assert tuple(member.evaluator.script) == ("python", "own.py")
    assert member.evaluator.config == {"maxGap": 3}
