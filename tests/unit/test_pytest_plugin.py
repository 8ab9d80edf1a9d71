"""The pytest plug-in: assertions about extractions, eval files as tests, and known mistakes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import fieldmark as fm
from fieldmark.runs.known_outcomes import KnownOutcomes, read_known, write_known

pytest_plugins = ["pytester"]

EVAL = """\
name: invoices
cases:
  - {id: a, expected: {total: 1, vendor: Acme}, candidate: {total: 1, vendor: Acme}, tags: [smoke]}
  - {id: b, expected: {total: 2, vendor: Bolt}, candidate: {total: 3, vendor: Bolt}}
evaluators:
  - {name: header, type: field_accuracy, fields: [{path: total}, {path: vendor}]}
gates: {min: {mean_score: 0.9}}
"""
BY_SCRIPT = """\
name: invoices
cases:
  - {id: a, expected: {total: 1}, candidate: {total: 1}}
  - {id: b, expected: {total: 1}, candidate: {total: 1}}
  - {id: c, expected: {total: 1}, candidate: {total: 1}}
  - {id: d, expected: {total: 1}, candidate: {total: 1}}
evaluators:
  - {name: counted, type: code_judge, script: [PYTHON, judge.py]}
"""
JUDGE = """\
import json, sys, pathlib
request = json.load(sys.stdin)
with pathlib.Path("judged.txt").open("a") as file:
    file.write(request["case_id"] + "\\n")
print(json.dumps({"score": 1.0}))
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """Load what evaluations need, because pytester forgets modules that are loaded in a run."""
    folder = tmp_path_factory.mktemp("loaded")
    file = folder / "invoices.eval.yaml"
    file.write_text(EVAL, "utf-8")
    assert fm.evaluate(file, out=folder / "run").cases["b"].misses
    write_known(folder / "known.json", {"test": [KnownOutcomes(input="missing")]})
    with pytest.raises(AssertionError):
        fm.assert_extraction({"a": 1}, {})


@pytest.fixture
def run(pytester, loaded, monkeypatch):
    """Run pytest in this process, with this plug-in only."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return lambda *words: pytester.runpytest_inprocess("-p", "fieldmark.pytest_plugin", *words)


@pytest.fixture
def module(pytester):
    """Write a test module that uses the fixture."""

    def write(candidate, expected, **files):
        body = f"    assert_extraction({expected!r}, {candidate!r})\n"
        pytester.makepyfile(test_it=f"def test_it(assert_extraction):\n{body}", **files)

    return write


@pytest.mark.parametrize(
    ("expected", "candidate", "rules", "line"),
    [
        pytest.param({"a": 1}, {"a": 2}, None, "a      wrong value  1         2", id="wrong-value"),
        pytest.param(
            {"a": 1}, {"a": [2]}, None, "a      wrong type  1         [2]", id="wrong-type"
        ),
        pytest.param({"a": 1}, {}, None, "a      missing  1", id="missing"),
        pytest.param({}, {"a": 1}, None, "a      extra              1", id="extra"),
        pytest.param({"a": "\x1b[1m"}, {}, None, r'a      missing  "\u001b[1m"', id="control"),
        pytest.param(
            {"a": "x" * 999}, {}, None, f'"{"x" * 119} … 881 more characters', id="long-value"
        ),
        pytest.param(
            {"a": "acme"},
            {"a": "acne"},
            {"a": "fuzzy"},
            "wrong value, similarity 0.750",
            id="similar",
        ),
        pytest.param({"a": 1}, "not JSON", None, "unparseable prediction: ", id="unparseable"),
        pytest.param({"a": 1}, {"a": 2}, {"a": "ignore"}, "no field was compared", id="ignored"),
    ],
)
def test_failed_assertion_shows_what_differs(expected, candidate, rules, line):
    with pytest.raises(AssertionError) as failed:
        fm.assert_extraction(expected, candidate, rules=rules)
    assert line in str(failed.value)


def test_path_of_neither_document_fails_a_test_of_the_fixture(run, pytester):
    call = 'assert_extraction({"total": 1}, {"total": 1}, rules={"totl": "exact"})'
    pytester.makepyfile(test_it=f"def test_it(assert_extraction):\n    {call}\n")
    done = run()
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*no document has 'totl'; did you mean 'total'?*"])


@pytest.mark.parametrize(
    ("expected", "candidate", "rules"),
    [
        pytest.param({"a": 1}, {"a": 1}, None, id="equal"),
        pytest.param({"a": 1}, '```json\n{"a": 1}\n```', None, id="text"),
        pytest.param({"a": "Acme"}, {"a": "ACME "}, {"a": "normalized_text"}, id="by-rules"),
        pytest.param({}, {}, None, id="both-empty"),
        pytest.param({"a": None}, {}, None, id="null-and-absent"),
    ],
)
def test_assertion_that_holds_returns_the_result(expected, candidate, rules):
    assert fm.assert_extraction(expected, candidate, rules=rules).verdict == "pass"


def test_assertion_lists_many_mistakes_only_in_part():
    with pytest.raises(AssertionError) as failed:
        fm.assert_extraction({f"f{number}": number for number in range(80)}, {})
    assert str(failed.value).endswith("  … and 30 more")
    assert len(str(failed.value).splitlines()) == 53


def test_fixture_shows_the_line_of_the_test_and_the_difference(run, module):
    module({"total": 2}, {"total": 1})
    done = run()
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*def test_it*", "E * total  wrong value  1         2"])
    done.stdout.no_fnmatch_line("*def compare*")


def test_known_mistakes_are_accepted_until_one_is_new(run, module, pytester):
    file = pytester.path / "test_it.baseline.json"
    module({"total": 2}, {"total": 1, "vendor": "Acme"})
    done = run("--fieldmark-update")
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines(["test_it.baseline.json: wrote 2 known mistakes"])
    known = {"fields": {"total": "wrong_value", "vendor": "omission"}}
    assert json.loads(file.read_bytes()) == {"format": 1, "tests": {"test_it": [known]}}
    done = run()
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines(["test_it.baseline.json: accepted 2 known mistakes"])

    module({"total": 2, "date": "x"}, {"total": 1, "vendor": "Acme"})
    done = run()
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["E * date   extra*", "E * and 2 known mistakes"])
    done.stdout.no_fnmatch_line("E * total *")

    module({"total": "x"}, {"total": 1, "vendor": "Acme"})
    run().assert_outcomes(failed=1)  # the same path, but another outcome

    module({"total": 2, "vendor": "Acme"}, {"total": 1, "vendor": "Acme"})
    done = run()
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines(["*: 1 known mistake is fixed; run pytest --fieldmark-update *"])

    module({"total": 1}, {"total": 1})
    run("--fieldmark-update").stdout.fnmatch_lines(["test_it.baseline.json: deleted"])
    assert not file.exists()


def test_update_keeps_the_entries_of_other_tests(run, module, pytester):
    file = pytester.path / "test_it.baseline.json"
    other = KnownOutcomes(fields={"a": "omission"})
    write_known(file, {"test_other": [other]})
    module({"total": 2}, {"total": 1})
    run("--fieldmark-update")
    assert set(read_known(file)) == {"test_it", "test_other"}


def test_update_never_accepts_what_was_not_compared(run, pytester):
    pytester.makepyfile(
        "def test_it(assert_extraction):\n"
        "    assert_extraction({'a': 1}, {'a': 2}, rules={'a': 'ignore'})\n"
    )
    run("--fieldmark-update").assert_outcomes(failed=1)
    assert not list(pytester.path.glob("*.json"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("{", "invalid JSON", id="not-json"),
        pytest.param("[]", "expected a JSON object", id="list"),
        pytest.param('{"format": 9, "tests": {}}', "has format 9", id="newer"),
        pytest.param('{"format": 1, "tests": {"t": {}}}', "tests.t must be an array", id="no-list"),
        pytest.param('{"format": 1, "tests": {"t": [{"x": 1}]}}', "unknown key 'x'", id="key"),
        pytest.param(
            '{"format": 1, "tests": {"t": [{"fields": {"a": "match"}}]}}',
            "a must be one of: format_error, hallucination, omission, wrong_value",
            id="not-a-mistake",
        ),
    ],
)
def test_invalid_baseline_is_an_error_that_names_the_file(tmp_path, content, message):
    file = tmp_path / "test_it.baseline.json"
    file.write_text(content, "utf-8")
    with pytest.raises(fm.ConfigError) as refused:
        read_known(file)
    assert str(refused.value).startswith(f"{file}: invalid baseline: ")
    assert message in str(refused.value)


def test_eval_files_are_collected_only_if_they_are_named(run, pytester):
    pytester.makefile(".eval.yaml", invoices=EVAL)
    run().assert_outcomes()
    run("--collect-only", "invoices.eval.yaml").stdout.fnmatch_lines(
        ["*EvalFile invoices.eval.yaml*", "*EvalCase a*", "*EvalCase b*", "*EvalGates gates*"]
    )
    pytester.makeini("[pytest]\nfieldmark_eval_files = inv*.eval.yaml\n")
    run("-q").assert_outcomes(passed=1, failed=2)


def test_cases_of_an_eval_file_are_tests(run, pytester):
    pytester.makefile(".eval.yaml", invoices=EVAL)
    done = run("-rA", "invoices.eval.yaml")
    done.assert_outcomes(passed=1, failed=2)
    done.stdout.fnmatch_lines(
        [
            "partial: 1 of 2 fields is wrong, score 0.500",
            "  total  wrong value  2         3",
            "  evaluator header: partial, score 0.500*",
            "a gate failed",
            "  gate failed: mean_score is 0.7500, must be at least 0.9",
            "PASSED invoices.eval.yaml::a",
        ]
    )
    assert not (pytester.path / "runs").exists()


def test_case_whose_evaluator_fails_without_a_wrong_field_names_the_evaluator(run, pytester):
    rules = "rules: {total: {match: numeric_tolerance, tolerance: 1}}\n"
    pytester.makefile(".eval.yaml", invoices=EVAL.replace("gates:", f"{rules}gates:"))
    done = run("invoices.eval.yaml")
    done.stdout.fnmatch_lines(["partial: 1 of 1 evaluator did not pass, score 0.500"])


def test_known_mistakes_of_cases_are_accepted_but_gates_still_count(run, pytester):
    pytester.makefile(".eval.yaml", invoices=EVAL)
    run("--fieldmark-update", "invoices.eval.yaml").assert_outcomes(passed=2, failed=1)
    known = {"fields": {"total": "wrong_value"}, "evaluators": {"header": "partial"}}
    file = pytester.path / "invoices.eval.baseline.json"
    assert json.loads(file.read_bytes())["tests"] == {"b": [known]}
    run("invoices.eval.yaml").assert_outcomes(passed=2, failed=1)
    pytester.makefile(".eval.yaml", invoices=EVAL.replace("vendor: Bolt}}", "vendor: X}}"))
    run("invoices.eval.yaml::b").assert_outcomes(failed=1)


def test_only_the_selected_cases_are_evaluated(run, pytester):
    pytester.makefile(".eval.yaml", invoices=BY_SCRIPT.replace("PYTHON", sys.executable))
    pytester.makefile(".py", judge=JUDGE)
    judged = pytester.path / "judged.txt"
    run("invoices.eval.yaml::b", "invoices.eval.yaml::d").assert_outcomes(passed=2)
    assert sorted(judged.read_text("utf-8").split()) == ["b", "d"]
    judged.unlink()
    run("invoices.eval.yaml", "-k", "gates").assert_outcomes(passed=1, deselected=4)
    assert sorted(judged.read_text("utf-8").split()) == ["a", "b", "c", "d"]


def test_workers_evaluate_a_file_once(run, pytester):
    pytester.makefile(".eval.yaml", invoices=BY_SCRIPT.replace("PYTHON", sys.executable))
    pytester.makefile(".py", judge=JUDGE)
    pytester.makepyfile(
        test_it="def test_it(assert_extraction):\n    assert_extraction({'a': 1}, {'a': 2})\n"
    )
    done = run("-p", "xdist", "-n2", "--fieldmark-update", "invoices.eval.yaml", "test_it.py")
    done.assert_outcomes(passed=6)
    judged = (pytester.path / "judged.txt").read_text("utf-8").split()
    assert sorted(judged) == ["a", "b", "c", "d"]
    done.stdout.fnmatch_lines(["test_it.baseline.json: wrote 1 known mistake"])
    assert read_known(pytester.path / "test_it.baseline.json")["test_it"][0].fields == {
        "a": "wrong_value"
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("cases: [", "*invoices.eval.yaml:1:9: *", id="not-yaml"),
        pytest.param(
            EVAL.replace("total}", "total, mach: x}"), "*did you mean 'match'?*", id="key"
        ),
        pytest.param("cases: truth.jsonl\ncandidates: c.jsonl\n", "*file not found*", id="no-file"),
    ],
)
def test_eval_file_that_cannot_be_read_is_an_error(run, pytester, text, message):
    pytester.makefile(".eval.yaml", invoices=text)
    done = run("invoices.eval.yaml")
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines([message])
    done.stdout.no_fnmatch_line("*Traceback*")


def test_plug_in_imports_nothing_of_the_package_when_pytest_starts():
    code = (
        "import sys, pytest; before = set(sys.modules); import fieldmark.pytest_plugin; "
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    loaded = [name for name in done.stdout.split() if name.startswith("fieldmark")]
    assert loaded == ["fieldmark", "fieldmark.pytest_plugin"]
