"""AgentV's eval files load as they are; what cannot work here says so, where it stands."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fieldmark.config.agentv import is_agentv
from fieldmark.config.agentv import suite as own
from fieldmark.config.agentv.suite import Fixtures
from fieldmark.config.context import Context
from fieldmark.config.eval_file import load_eval
from fieldmark.config.files import MAX_BYTES, load_file
from fieldmark.config.located import Located, locate
from fieldmark.errors import ConfigError, Location
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
    assert ["2 of the graders are texts" in str(warning) for warning in spec.warnings] == [True]


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
    ("suite", "message"),
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
def test_keys_without_effect_are_reported(tmp_path, suite, message):
    warnings = load_eval(project(tmp_path, **suite)).warnings
    assert [warning.message for warning in warnings] == ([] if message is None else [f"{message}."])


@pytest.mark.parametrize(
    ("changes", "message"),
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
def test_what_cannot_be_evaluated_is_refused(tmp_path, changes, message):
    problems = refused(project(tmp_path, **changes))
    assert any(message in problem for problem in problems), problems


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


def read(folder, name):
    """The document, and the problems with it."""
    context = Context(folder=folder)
    document = Fixtures(context).document(Located(value=name, location=Location("e.yaml", 3, 7)))
    problems = context.problems.error().problems
    assert all(problem.location == Location("e.yaml", 3, 7) for problem in problems)
    return document, " ".join(map(str, problems))


@pytest.fixture
def evals(tmp_path):
    """`work/evals` beside `work/fixtures`, and a secret outside of `work`."""
    (tmp_path / "secret.json").write_text('"secret"', "utf-8")
    for name in ("evals", "fixtures"):
        folder = tmp_path / "work" / name
        folder.mkdir(parents=True)
        (folder / "a.json").write_text('{"total": 1}', "utf-8")
    return tmp_path / "work" / "evals"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("a.json", id="beside-the-eval-file"),
        pytest.param("../fixtures/a.json", id="in-a-folder-beside-its-folder"),
        pytest.param("./../evals/../fixtures/a.json", id="however-it-is-spelled"),
    ],
)
def test_files_of_the_project_are_read(evals, name):
    assert read(evals, name) == ({"total": 1}, "")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("../../secret.json", "A file elsewhere", id="above-the-project"),
        pytest.param("{root}/secret.json", "A file elsewhere", id="an-absolute-name"),
        pytest.param("{root}/work/evals/a.json", "A file elsewhere", id="absolute-though-inside"),
        pytest.param("C:\\secret.json", "A file elsewhere", id="a-drive"),
        pytest.param("\\\\host\\secret.json", "A file elsewhere", id="another-machine"),
        pytest.param("link.json", "A file elsewhere", id="a-link-that-leads-out"),
        pytest.param("../linked/secret.json", "A file elsewhere", id="a-linked-folder"),
        pytest.param("none.json", "No such file: none.json", id="a-file-that-is-not-there"),
        pytest.param("folder.json", "No such file", id="a-folder"),
        pytest.param("pipe.json", "No such file", id="a-pipe-that-would-never-end"),
        pytest.param("a.json\0", "Not the name of a file", id="a-name-that-no-file-has"),
        pytest.param("", "Not the name of a file", id="no-name"),
        pytest.param("large.json", "Larger than 1,000,000 bytes", id="a-file-too-large"),
        pytest.param("latin.json", "Not UTF-8 text", id="another-encoding"),
    ],
)
def test_other_files_are_not_read(evals, tmp_path, name, message):
    (evals / "link.json").symlink_to(tmp_path / "secret.json")
    (evals.parent / "linked").symlink_to(tmp_path)
    (evals / "folder.json").mkdir()
    os.mkfifo(evals / "pipe.json")
    (evals / "large.json").write_text(f'"{"x" * MAX_BYTES}"', "utf-8")
    (evals / "latin.json").write_bytes(b'"\xe9"')
    document, problems = read(evals, name.replace("{root}", str(tmp_path)))
    assert document is MISSING
    assert message in problems
    assert "secret" not in problems.replace("secret.json", "")


def test_below_the_root_of_the_file_system_only_the_own_folder_is_read(tmp_path):
    top = Path(tmp_path.anchor) / tmp_path.parts[1]
    document, problems = read(top, "../etc/secret.json")
    assert document is MISSING
    assert "A file elsewhere" in problems


def test_all_files_together_have_a_limit(evals, monkeypatch):
    monkeypatch.setattr(own, "MAX_ALL_BYTES", 20)
    context = Context(folder=evals)
    fixtures = Fixtures(context)
    names = ["a.json", "a.json", "../fixtures/a.json"]
    found = [fixtures.document(Located(value=name)) for name in names]
    assert found == [{"total": 1}, {"total": 1}, MISSING]
    assert "more than 20 bytes together" in str(context.problems.error())


@pytest.mark.parametrize(
    ("content", "candidate"),
    [
        pytest.param('{"total": 1}', {"total": 1}, id="json"),
        pytest.param("[1, 2]", [1, 2], id="a-list"),
        pytest.param('```json\n{"total": 1}\n```', '```json\n{"total": 1}\n```', id="model-text"),
        pytest.param('{"total": NaN}', '{"total": NaN}', id="a-number-that-json-lacks"),
        pytest.param('{"a": 1, "a": 2}', '{"a": 1, "a": 2}', id="a-key-twice"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_what_is_no_json_is_left_to_the_reader_of_answers(tmp_path, content, candidate):
    path = project(tmp_path, fixtures={"a.json": content})
    assert load_eval(path).cases[0].candidate == candidate
