"""AgentV eval files and their problems."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fieldmark.errors import ConfigError, Location
from fieldmark.model.json import MISSING
from fieldmark.rules import agentv as own
from fieldmark.rules.agentv import Fixtures, is_agentv
from fieldmark.rules.config_files import MAX_BYTES, load_file
from fieldmark.rules.config_values import Context, Located, locate
from fieldmark.runs.eval_file import load_eval
from unit.rules.agentv_files import CASE, DATA, EVAL_FILES, FILE, HEADER, project

OWN = {"name": "own", "type": "field-accuracy", "fields": [{"path": "total"}]}


def evaluators_of(spec, index=0):
    """Return the names of the evaluators of a case."""
    case = spec.cases[index]
    shared = () if case.only_own else spec.evaluators
    return [member.name for member in (*case.evaluators, *shared)]


def problems_of(path):
    """Return the problems of a file, without its name."""
    with pytest.raises(ConfigError) as caught:
        load_eval(path)
    return [str(problem).removeprefix(f"{path}:") for problem in caught.value.problems]


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", EVAL_FILES)
def test_recorded_files_load(file):
    spec = load_eval(DATA / file)
    assert len(spec.cases) in {5, 6}
    assert all(case.candidate is not MISSING for case in spec.cases)
    assert spec.description.startswith(("Header field confusion", "Field accuracy"))


@pytest.mark.parametrize(
    ("document", "theirs"),
    [
        pytest.param({"evalcases": []}, True, id="evalcases"),
        pytest.param({"tests": []}, True, id="tests"),
        pytest.param({"cases": []}, False, id="native-cases"),
        pytest.param({"cases": [], "tests": []}, False, id="cases-and-tests"),
        pytest.param({"evaluators": []}, False, id="no-cases"),
        pytest.param([{"tests": []}], False, id="list-document"),
    ],
)
def test_an_agentv_file_is_recognized_by_the_key_of_its_cases(document, theirs):
    assert is_agentv(locate(document, Context().problems)) is theirs


@pytest.mark.parametrize(
    ("suite", "name"),
    [
        pytest.param({"name": "headers"}, "headers", id="explicit-name"),
        pytest.param({}, "invoices", id="file-name-without-extensions"),
    ],
)
def test_name_of_the_evaluation(tmp_path, suite, name):
    assert load_eval(project(tmp_path, **suite)).name == name


# --- graders --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("era", "case", "judges"),
    [
        pytest.param("evalcases", {}, ["header"], id="early-file-graders"),
        pytest.param("evalcases", {"evaluators": [OWN]}, ["own"], id="early-case-graders-replace"),
        pytest.param(
            "evalcases", {"execution": {"evaluators": [OWN]}}, ["own"], id="early-under-execution"
        ),
        pytest.param("tests", {}, ["header"], id="later-file-graders"),
        pytest.param("tests", {"assertions": [OWN]}, ["own", "header"], id="later-case-graders-are-added"),
        pytest.param("tests", {"assert": [OWN]}, ["own", "header"], id="later-assert"),
        pytest.param(
            "tests", {"assertions": [OWN], "execution": {"skip_defaults": True}}, ["own"],
            id="later-skip-defaults",
        ),
        pytest.param(
            "tests", {"execution": {"skip_defaults": False}}, ["header"], id="later-skip-defaults-false"
        ),
    ],
)  # fmt: skip
def test_graders_of_a_case_replace_or_extend_those_of_the_file(tmp_path, era, case, judges):
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
def test_keys_of_graders(tmp_path, suite):
    path = project(tmp_path, graders=[], **suite)
    if "assertions" not in suite:
        text = path.read_text("utf-8").replace("assertions: []\n", "")
        path.write_text(text, "utf-8")
    assert evaluators_of(load_eval(path)) == ["header"]


def test_the_name_of_a_grader_can_be_its_metric(tmp_path):
    grader = {**HEADER, "metric": "totals"}
    del grader["name"]
    assert evaluators_of(load_eval(project(tmp_path, graders=[grader]))) == ["totals"]


def test_text_graders_become_criteria_with_one_warning(tmp_path):
    cases = [{**CASE, "id": name, "assert": ["All is well."]} for name in "ab"]
    spec = load_eval(project(tmp_path, cases=cases))
    assert [case.metadata for case in spec.cases] == [{"criteria": "All is well."}] * 2
    assert [evaluators_of(spec, index) for index in (0, 1)] == [["header"]] * 2
    assert ["2 graders consist of text" in str(warning) for warning in spec.warnings] == [True]


# --- cases ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        pytest.param({"expected_output": {"total": 1}}, {"total": 1}, id="document"),
        pytest.param({"expected_output": [{"total": 1}]}, [{"total": 1}], id="list-of-objects"),
        pytest.param(
            {"expected_messages": [{"role": "assistant", "content": {"total": 1}}]}, {"total": 1},
            id="assistant-message",
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
            id="last-assistant-message",
        ),
        pytest.param(
            {"expected_output": {"role": "assistant", "content": {"total": 1}}}, {"total": 1},
            id="single-message",
        ),
        pytest.param({"expected_output": '{"total": 1}'}, {"total": 1}, id="json-as-text"),
        pytest.param({"expected_output": "1889"}, "1889", id="other-text-is-unchanged"),
        pytest.param(
            {"expected_output": [{"role": "assistant", "content": [{"type": "text", "value": "[1]"}]}]},
            [1],
            id="json-in-block-of-text",
        ),
        pytest.param({"expected_output": FILE[0] | {"role": "assistant"}}, {"total": 1}, id="file"),
        pytest.param({"vars": {"expected_output": {"total": 1}}}, {"total": 1}, id="variable"),
    ],
)  # fmt: skip
def test_expected_document(tmp_path, case, expected):
    spec = load_eval(project(tmp_path, cases=[{"id": "a", "input": FILE, **case}]))
    assert spec.cases[0].expected == expected


@pytest.mark.parametrize(
    "case",
    [
        pytest.param({"input": FILE}, id="file-in-message"),
        pytest.param({"input_messages": FILE}, id="input-messages"),
        pytest.param({"input": FILE[0]}, id="in-one-message"),
        pytest.param({"vars": {"input": FILE}}, id="in-variable"),
        pytest.param(
            {"input": "Read.", "input_files": ["../fixtures/a.json"]}, id="in-input-files"
        ),
        pytest.param({"input": FILE, "input_files": ["../fixtures/a.json"]}, id="duplicate-named"),
        pytest.param(
            {"input": "Read.", "input_files": ["b.pdf", "../fixtures/a.json"]},
            id="with-another-file-type",
        ),
    ],
)
def test_candidate_from_input(tmp_path, case):
    cases = [{"id": "a", "expected_output": {"total": 1}, **case}]
    assert load_eval(project(tmp_path, cases=cases)).cases[0].candidate == {"total": 1}


def test_input_files_of_the_suite_apply_to_cases_without_a_file(tmp_path):
    cases = [{"id": "a", "expected_output": {"total": 1}, "input": "Read."}]
    path = project(tmp_path, cases=cases, input_files=["../fixtures/a.json"])
    assert load_eval(path).cases[0].candidate == {"total": 1}


def test_input_files_are_metadata_for_judges(tmp_path):
    cases = [{"id": "a", "expected_output": {"total": 1}, "input": "Read."}]
    path = project(tmp_path, cases=cases, input_files=["../fixtures/a.json"])
    assert load_eval(path).cases[0].metadata == {"input_files": ["../fixtures/a.json"]}


def test_metadata_of_a_case(tmp_path):
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


# --- warnings and problems ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("suite", "message"),
    [
        pytest.param(
            {"execution": {"target": "mock"}}, "execution.target is not used", id="target"
        ),
        pytest.param({"providers": ["mock"]}, "providers is not used", id="provider"),
        pytest.param({"prompts": ["{{ input }}"]}, "prompts is not used", id="prompt"),
        pytest.param({"quux": 1}, "quux is not used", id="unknown-key"),
        pytest.param({"version": "1", "$schema": "x"}, None, id="labels-are-ignored"),
    ],
)
def test_unused_keys_are_warnings(tmp_path, suite, message):
    warnings = load_eval(project(tmp_path, **suite)).warnings
    assert [warning.message for warning in warnings] == ([] if message is None else [message])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param(
            {"asertions": []}, "unknown key 'asertions'; did you mean 'assertions'?", id="typo"
        ),
        pytest.param(
            {"cases": [{**CASE, "expectd_output": 1}]},
            "did you mean 'expected_output'?",
            id="in-case",
        ),
        pytest.param(
            {"cases": "cases.jsonl"},
            "cases in separate files are not supported",
            id="cases-outside-directory",
        ),
        pytest.param({"cases": []}, "expected a list of cases, got an empty list", id="no-cases"),
        pytest.param(
            {"cases": ["file://a.yaml"]},
            "case: expected an object, got 'file://a.yaml'",
            id="case-outside-directory",
        ),
        pytest.param(
            {"cases": [{**CASE, "id": None}]}, "id: expected a string, got null", id="no-id"
        ),
        pytest.param(
            {"cases": [CASE, CASE]},
            "duplicate case id 'a'; first defined at line",
            id="duplicate-id",
        ),
        pytest.param(
            {"cases": [{"id": "a", "input": FILE}]},
            "case: an expected output is required",
            id="no-expected",
        ),
        pytest.param(
            {"cases": [{"id": "a", "expected_output": 1, "input": "Read."}]},
            "case 'a' has no prediction: its input names no JSON file",
            id="no-candidate",
        ),
        pytest.param(
            {"cases": [{**CASE, "input_files": ["b.json"]}]},
            "case 'a' has no prediction: its input names 2 JSON files",
            id="several-candidates",
        ),
        pytest.param({"graders": []}, "case 'a' has no graders", id="no-grader"),
        pytest.param(
            {"graders": "all"}, "expected a list of graders, got 'all'", id="string-as-graders"
        ),
    ],
)
def test_invalid_suites(tmp_path, changes, message):
    problems = problems_of(project(tmp_path, **changes))
    assert any(message in problem for problem in problems), problems


def test_all_problems_have_a_line(tmp_path):
    path = project(
        tmp_path, graders=[{"type": "latency"}, {"name": "x"}], cases=[{**CASE, "id": ""}]
    )
    places = [problem.split(" ")[0] for problem in problems_of(path)]
    assert len(places) == 3
    assert all(place.count(":") == 2 for place in places)


def test_a_case_with_an_invalid_id_is_checked_completely(tmp_path):
    bad = {"type": "field_accuracy", "fields": [{"path": "total", "match": "exat"}]}
    cases = [CASE, {**CASE, "assertions": [bad]}, {**CASE, "id": None, "assertions": [bad]}]
    problems = problems_of(project(tmp_path, cases=cases))
    assert sum("duplicate case id 'a'" in problem for problem in problems) == 1
    assert sum("id: expected a string, got null" in problem for problem in problems) == 1
    assert sum("Invalid match type: exat" in problem for problem in problems) == 2
    assert len(problems) == 4


def test_loading_runs_nothing(tmp_path, monkeypatch):
    judge = {"name": "own", "type": "script", "command": ["python", "judge.py"]}
    path = project(tmp_path, graders=[HEADER, judge])
    (path.parent / "judge.py").write_text("raise SystemExit(1)", "utf-8")
    monkeypatch.setattr("subprocess.Popen", lambda *_, **__: pytest.fail("a program was started"))
    assert is_agentv(load_file(path))


def read(directory, name):
    """Return a document and its problems."""
    context = Context(directory=directory)
    document = Fixtures(context).document(Located(value=name, location=Location("e.yaml", 3, 7)))
    problems = context.problems.error().problems
    assert all(problem.location == Location("e.yaml", 3, 7) for problem in problems)
    return document, " ".join(map(str, problems))


@pytest.fixture
def evals(tmp_path):
    """Create `work/evals` and `work/fixtures`, and a secret outside `work`."""
    (tmp_path / "secret.json").write_text('"secret"', "utf-8")
    for name in ("evals", "fixtures"):
        directory = tmp_path / "work" / name
        directory.mkdir(parents=True)
        (directory / "a.json").write_text('{"total": 1}', "utf-8")
    return tmp_path / "work" / "evals"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("a.json", id="same-directory"),
        pytest.param("../fixtures/a.json", id="sibling-directory"),
        pytest.param("./../evals/../fixtures/a.json", id="unnormalized-path"),
    ],
)
def test_files_below_the_parent_directory_are_read(evals, name):
    assert read(evals, name) == ({"total": 1}, "")


OUTSIDE = "is outside the parent directory of the eval file's directory"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("../../secret.json", OUTSIDE, id="above-project"),
        pytest.param("{root}/secret.json", OUTSIDE, id="absolute-path"),
        pytest.param("{root}/work/evals/a.json", OUTSIDE, id="absolute-path-inside"),
        pytest.param("C:\\secret.json", OUTSIDE, id="windows-drive"),
        pytest.param("\\\\host\\secret.json", OUTSIDE, id="unc-path"),
        pytest.param("link.json", OUTSIDE, id="symlink-outside"),
        pytest.param("../linked/secret.json", OUTSIDE, id="symlinked-directory"),
        pytest.param("none.json", "'none.json' not found", id="missing-file"),
        pytest.param("directory.json", "not found", id="directory"),
        pytest.param("pipe.json", "not found", id="pipe"),
        pytest.param("a.json\0", "expected a file name, got", id="invalid-file-name"),
        pytest.param("", "expected a file name, got", id="no-name"),
        pytest.param("large.json", "exceeds the limit of 1,000,000 bytes", id="file-too-large"),
        pytest.param("latin.json", "invalid UTF-8", id="another-encoding"),
    ],
)
def test_other_files_are_rejected(evals, tmp_path, name, message):
    (evals / "link.json").symlink_to(tmp_path / "secret.json")
    (evals.parent / "linked").symlink_to(tmp_path)
    (evals / "directory.json").mkdir()
    os.mkfifo(evals / "pipe.json")
    (evals / "large.json").write_text(f'"{"x" * MAX_BYTES}"', "utf-8")
    (evals / "latin.json").write_bytes(b'"\xe9"')
    document, problems = read(evals, name.replace("{root}", str(tmp_path)))
    assert document is MISSING
    assert message in problems
    assert "secret" not in problems.replace("secret.json", "")


def test_below_the_root_only_the_directory_itself_is_read(tmp_path):
    top = Path(tmp_path.anchor) / tmp_path.parts[1]
    document, problems = read(top, "../etc/secret.json")
    assert document is MISSING
    assert OUTSIDE in problems


def test_the_total_size_of_files_is_limited(evals, monkeypatch):
    monkeypatch.setattr(own, "MAX_ALL_BYTES", 20)
    context = Context(directory=evals)
    fixtures = Fixtures(context)
    names = ["a.json", "a.json", "../fixtures/a.json"]
    found = [fixtures.document(Located(value=name)) for name in names]
    assert found == [{"total": 1}, {"total": 1}, MISSING]
    assert "the files of all cases exceed the limit of 20 bytes" in str(context.problems.error())


@pytest.mark.parametrize(
    ("content", "candidate"),
    [
        pytest.param('{"total": 1}', {"total": 1}, id="json"),
        pytest.param("[1, 2]", [1, 2], id="list"),
        pytest.param('```json\n{"total": 1}\n```', '```json\n{"total": 1}\n```', id="model-text"),
        pytest.param('{"total": NaN}', '{"total": NaN}', id="nan"),
        pytest.param('{"a": 1, "a": 2}', '{"a": 1, "a": 2}', id="duplicate-key"),
        pytest.param("", "", id="empty"),
    ],
)
def test_a_candidate_that_is_not_json_is_text(tmp_path, content, candidate):
    path = project(tmp_path, fixtures={"a.json": content})
    assert load_eval(path).cases[0].candidate == candidate
