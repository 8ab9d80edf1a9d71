"""AgentV's eval files load as they are; what cannot work here says so, where it stands."""

from __future__ import annotations

import pytest

from fieldmark.config.agentv import is_agentv
from fieldmark.config.context import Context
from fieldmark.config.eval_file import load_eval
from fieldmark.config.files import load_file
from fieldmark.config.located import locate
from fieldmark.errors import ConfigError
from fieldmark.model.json import MISSING
from unit.config.agentv_files import CASE, DATA, EVAL_FILES, FILE, HEADER, project

OWN = {"name": "own", "type": "field-accuracy", "fields": [{"path": "total"}]}


def evaluators_of(spec, index=0):
    """The names of all who judge a case."""
    case = spec.cases[index]
    shared = () if case.only_own else spec.evaluators
    return [member.name for member in (*case.evaluators, *shared)]


def refused(path):
    """Each problem of a file, without the file's name."""
    with pytest.raises(ConfigError) as caught:
        load_eval(path)
    return [str(problem).removeprefix(f"{path}:") for problem in caught.value.problems]


# --- which files ----------------------------------------------------------------------------------


@pytest.mark.parametrize("file", EVAL_FILES)
def test_recorded_files_load_unchanged(file):
    spec = load_eval(DATA / file)
    assert len(spec.cases) in {5, 6}
    assert all(case.candidate is not MISSING for case in spec.cases)
    assert spec.description.startswith(("Header field confusion", "Field accuracy"))


@pytest.mark.parametrize(
    ("document", "theirs"),
    [
        pytest.param({"evalcases": []}, True, id="cases-of-the-design-era"),
        pytest.param({"tests": []}, True, id="cases-since-4.x"),
        pytest.param({"cases": []}, False, id="native-cases"),
        pytest.param({"cases": [], "tests": []}, False, id="both-is-a-slip-in-a-native-file"),
        pytest.param({"evaluators": []}, False, id="no-cases"),
        pytest.param([{"tests": []}], False, id="no-object"),
    ],
)
def test_a_file_is_known_by_what_it_calls_its_cases(document, theirs):
    assert is_agentv(locate(document, Context().problems)) is theirs


@pytest.mark.parametrize(
    ("suite", "name"),
    [
        pytest.param({"name": "headers"}, "headers", id="its-own"),
        pytest.param({}, "invoices", id="the-file-without-endings"),
    ],
)
def test_an_evaluation_has_a_name(tmp_path, suite, name):
    assert load_eval(project(tmp_path, **suite)).name == name


# --- who grades a case ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("era", "case", "judges"),
    [
        pytest.param("evalcases", {}, ["header"], id="early-the-files-own"),
        pytest.param("evalcases", {"evaluators": [OWN]}, ["own"], id="early-the-cases-replace-them"),
        pytest.param(
            "evalcases", {"execution": {"evaluators": [OWN]}}, ["own"], id="early-under-execution"
        ),
        pytest.param("tests", {}, ["header"], id="late-the-files-own"),
        pytest.param("tests", {"assertions": [OWN]}, ["own", "header"], id="late-the-cases-join-them"),
        pytest.param("tests", {"assert": [OWN]}, ["own", "header"], id="late-under-the-shorter-word"),
        pytest.param(
            "tests", {"assertions": [OWN], "execution": {"skip_defaults": True}}, ["own"],
            id="late-unless-the-case-skips-them",
        ),
        pytest.param(
            "tests", {"execution": {"skip_defaults": False}}, ["header"], id="late-skipping-is-asked-for"
        ),
    ],
)  # fmt: skip
def test_graders_of_a_case_stand_to_the_files_as_their_version_says(tmp_path, era, case, judges):
    spec = load_eval(project(tmp_path, era=era, cases=[{**CASE, **case}]))
    assert evaluators_of(spec) == judges


@pytest.mark.parametrize(
    "suite",
    [
        pytest.param({"assertions": [HEADER]}, id="assertions"),
        pytest.param({"assert": [HEADER]}, id="assert"),
        pytest.param({"evaluators": [HEADER]}, id="evaluators"),
        pytest.param({"execution": {"evaluators": [HEADER]}}, id="under-execution"),
    ],
)
def test_graders_of_a_file_stand_where_its_version_keeps_them(tmp_path, suite):
    path = project(tmp_path, graders=[], **suite)
    if "assertions" not in suite:
        text = path.read_text("utf-8").replace("assertions: []\n", "")
        path.write_text(text, "utf-8")
    assert evaluators_of(load_eval(path)) == ["header"]


def test_a_late_grader_is_named_by_its_metric(tmp_path):
    grader = {**HEADER, "metric": "totals"}
    del grader["name"]
    assert evaluators_of(load_eval(project(tmp_path, graders=[grader]))) == ["totals"]


def test_texts_among_the_graders_are_kept_as_criteria_and_told_once(tmp_path):
    cases = [{**CASE, "id": name, "assert": ["All is well."]} for name in "ab"]
    spec = load_eval(project(tmp_path, cases=cases))
    assert [case.metadata for case in spec.cases] == [{"criteria": "All is well."}] * 2
    assert [evaluators_of(spec, index) for index in (0, 1)] == [["header"]] * 2
    assert ["2 of the graders are texts" in str(told) for told in spec.warnings] == [True]


# --- what a case holds ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        pytest.param({"expected_output": {"total": 1}}, {"total": 1}, id="a-document"),
        pytest.param({"expected_output": [{"total": 1}]}, [{"total": 1}], id="a-list-of-rows"),
        pytest.param(
            {"expected_messages": [{"role": "assistant", "content": {"total": 1}}]}, {"total": 1},
            id="the-answer-in-a-message",
        ),
        pytest.param(
            {
                "expected_output": [
                    {"role": "assistant", "content": {"total": 1}},
                    {"role": "assistant", "content": {"total": 2}},
                    {"role": "user", "content": "Thanks."},
                ]
            },
            {"total": 2},
            id="the-last-answer-of-a-conversation",
        ),
        pytest.param(
            {"expected_output": {"role": "assistant", "content": {"total": 1}}}, {"total": 1},
            id="one-message-alone",
        ),
        pytest.param({"expected_output": '{"total": 1}'}, {"total": 1}, id="json-as-text"),
        pytest.param({"expected_output": "1889"}, "1889", id="other-text-stays-text"),
        pytest.param(
            {"expected_output": [{"role": "assistant", "content": [{"type": "text", "value": "[1]"}]}]},
            [1],
            id="json-in-a-block-of-text",
        ),
        pytest.param({"expected_output": FILE[0] | {"role": "assistant"}}, {"total": 1}, id="a-file"),
        pytest.param({"vars": {"expected_output": {"total": 1}}}, {"total": 1}, id="a-variable"),
    ],
)  # fmt: skip
def test_the_truth_is_what_the_assistant_should_have_answered(tmp_path, case, expected):
    spec = load_eval(project(tmp_path, cases=[{"id": "a", "input": FILE, **case}]))
    assert spec.cases[0].expected == expected


@pytest.mark.parametrize(
    "case",
    [
        pytest.param({"input": FILE}, id="a-file-in-a-message"),
        pytest.param({"input_messages": FILE}, id="in-the-words-of-the-design-era"),
        pytest.param({"input": FILE[0]}, id="in-one-message"),
        pytest.param({"vars": {"input": FILE}}, id="in-a-variable"),
        pytest.param(
            {"input": "Read.", "input_files": ["../fixtures/a.json"]}, id="beside-the-text"
        ),
        pytest.param({"input": FILE, "input_files": ["../fixtures/a.json"]}, id="named-twice"),
        pytest.param(
            {"input": "Read.", "input_files": ["b.pdf", "../fixtures/a.json"]}, id="with-a-page"
        ),
    ],
)
def test_the_candidate_is_the_json_file_that_the_input_names(tmp_path, case):
    cases = [{"id": "a", "expected_output": {"total": 1}, **case}]
    assert load_eval(project(tmp_path, cases=cases)).cases[0].candidate == {"total": 1}


def test_a_file_for_all_cases_serves_those_without_one(tmp_path):
    cases = [{"id": "a", "expected_output": {"total": 1}, "input": "Read."}]
    path = project(tmp_path, cases=cases, input_files=["../fixtures/a.json"])
    assert load_eval(path).cases[0].candidate == {"total": 1}


def test_words_about_a_case_become_its_metadata(tmp_path):
    words = {
        "criteria": "Good.\n",
        "conversation_id": "c",
        "metadata": {"page": 1},
        "tags": ["new"],
    }
    case = load_eval(project(tmp_path, cases=[{**CASE, **words}])).cases[0]
    assert case.metadata == {"criteria": "Good.", "conversation_id": "c", "page": 1}
    assert case.tags == ("new",)
    assert case.input == FILE


# --- what is dropped, and what is refused ---------------------------------------------------------


@pytest.mark.parametrize(
    ("suite", "told"),
    [
        pytest.param(
            {"execution": {"target": "mock"}}, "execution.target is not used", id="a-target"
        ),
        pytest.param({"providers": ["mock"]}, "providers is not used", id="a-provider"),
        pytest.param({"prompts": ["{{ input }}"]}, "prompts is not used", id="a-prompt"),
        pytest.param({"quux": 1}, "quux is not used", id="a-key-that-nobody-knows"),
        pytest.param({"version": "1", "$schema": "x"}, None, id="labels-are-dropped-in-silence"),
    ],
)
def test_what_has_no_meaning_here_is_told(tmp_path, suite, told):
    warnings = load_eval(project(tmp_path, **suite)).warnings
    assert [warning.message for warning in warnings] == ([] if told is None else [f"{told}."])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        pytest.param(
            {"asertions": []}, "Unknown key: asertions. Did you mean assertions?", id="a-slip"
        ),
        pytest.param(
            {"cases": [{**CASE, "expectd_output": 1}]},
            "Did you mean expected_output?",
            id="in-a-case",
        ),
        pytest.param(
            {"cases": "cases.jsonl"},
            "Cases in files of their own are not read",
            id="cases-elsewhere",
        ),
        pytest.param({"cases": []}, "Not a list of cases", id="no-cases"),
        pytest.param(
            {"cases": ["file://a.yaml"]}, 'Not a case: "file://a.yaml"', id="a-case-elsewhere"
        ),
        pytest.param(
            {"cases": [{**CASE, "id": None}]}, "A case needs an id that is text", id="no-id"
        ),
        pytest.param(
            {"cases": [CASE, CASE]}, "Duplicate id: a. It is first given on line", id="one-id-twice"
        ),
        pytest.param(
            {"cases": [{"id": "a", "input": FILE}]},
            "A case without an expected answer",
            id="no-truth",
        ),
        pytest.param(
            {"cases": [{"id": "a", "expected_output": 1, "input": "Read."}]},
            "The case a has no candidate: its input names no JSON file.",
            id="no-candidate",
        ),
        pytest.param(
            {"cases": [{**CASE, "input_files": ["b.json"]}]},
            "The case a has no candidate: its input names 2 JSON files.",
            id="several-candidates",
        ),
        pytest.param({"graders": []}, "Nothing grades the case a.", id="no-grader"),
        pytest.param(
            {"graders": "all"}, 'Not a list of graders: "all"', id="graders-that-are-text"
        ),
    ],
)
def test_what_cannot_be_evaluated_is_refused(tmp_path, changes, said):
    problems = refused(project(tmp_path, **changes))
    assert any(said in problem for problem in problems), problems


def test_every_problem_is_told_with_its_line(tmp_path):
    path = project(
        tmp_path, graders=[{"type": "latency"}, {"name": "x"}], cases=[{**CASE, "id": ""}]
    )
    places = [problem.split(" ")[0] for problem in refused(path)]
    assert len(places) == 3
    assert all(place.count(":") == 2 for place in places)


def test_loading_reads_the_file_and_runs_nothing(tmp_path, monkeypatch):
    judge = {"name": "own", "type": "script", "command": ["python", "judge.py"]}
    path = project(tmp_path, graders=[HEADER, judge])
    (path.parent / "judge.py").write_text("raise SystemExit(1)", "utf-8")
    monkeypatch.setattr("subprocess.Popen", lambda *_, **__: pytest.fail("something was run"))
    assert is_agentv(load_file(path))
