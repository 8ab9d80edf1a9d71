"""Types of files and reports about them."""

from __future__ import annotations

import pytest

from fieldmark.runs.eval_file import FileKind, check_file

STRATEGIES = '{"cases": [{"number": "EXACT"}], "name": "FUZZY"}'


@pytest.mark.parametrize(
    ("file", "text", "kind", "contents"),
    [
        pytest.param("a.yaml", "cases: t.jsonl\ncandidates: c.jsonl", "eval", "cases in t.jsonl, 0 evaluators", id="cases-and-candidates"),
        pytest.param("a.yaml", "cases: [{id: a, expected: 1}]", "eval", "1 case, 0 evaluators", id="inline-cases"),
        pytest.param("a.yaml", "cases: {path: t.jsonl}\nevaluators: [{type: line_items}]", "eval", "cases in t.jsonl, 1 evaluator", id="rows-with-keys"),
        pytest.param("a.eval.yaml", "cases: t.jsonl", "eval", "cases in t.jsonl, 0 evaluators", id="by-file-name"),
        pytest.param("a.eval.json", '{"cases": "t.jsonl"}', "eval", "cases in t.jsonl, 0 evaluators", id="as-json"),
        pytest.param("a.yaml", "fields: [{path: a}]", "rules", "1 rule", id="rules"),
        pytest.param("a.yaml", "[{path: a}, {path: b}]", "rules", "2 rules", id="list-of-fields"),
        pytest.param("a.json", '{"name": "FUZZY", "evaluators": "EXACT"}', "rules", "2 rules", id="strategies"),
        pytest.param("a.json", STRATEGIES, "rules", "2 rules", id="strategies-for-list-called-cases"),
    ],
)  # fmt: skip
def test_the_type_of_a_file_is_detected_by_its_keys(tmp_path, file, text, kind, contents):
    (tmp_path / file).write_text(text)
    report = check_file(tmp_path / file)
    assert report.problems == ()
    assert (report.kind, report.contents, report.valid) == (FileKind(kind), contents, True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("evaluators: [{type: x}]", "'cases' is required", id="evaluators-only"),
        pytest.param("case: t.jsonl\nevaluators: []", "unknown key 'case'; did you mean 'cases'?", id="misspelled-cases"),
        pytest.param("cases: t.jsonl\nevaluator: []\ngates: {}", "unknown key 'evaluator'; did you mean 'evaluators'?", id="misspelled-evaluators"),
        pytest.param("fieds: [{path: a}]", "", id="misspelled-fields"),
    ],
)  # fmt: skip
def test_the_type_of_a_file_with_typos_is_detected(tmp_path, text, message):
    (tmp_path / "a.yaml").write_text(text)
    report = check_file(tmp_path / "a.yaml")
    assert not report.valid
    assert any(
        str(problem).endswith(message) or message in str(problem) for problem in report.problems
    )


def test_report_as_json(tmp_path):
    file = tmp_path / "a.eval.yaml"
    file.write_text("cases: t.jsonl\nnme: x\n")
    report = check_file(file).to_dict()
    assert report == {
        "file": str(file),
        "kind": "eval",
        "valid": False,
        "contents": "",
        "problems": [
            {
                "message": "unknown key 'nme'",
                "hint": "did you mean 'name'?",
                "file": str(file),
                "line": 2,
                "column": 1,
            }
        ],
        "warnings": [
            {
                "message": "cases: 't.jsonl' not found",
                "hint": "",
                "file": str(file),
                "line": 1,
                "column": 8,
            }
        ],
    }


def test_an_unreadable_file_has_no_kind(tmp_path):
    report = check_file(tmp_path / "missing.yaml")
    assert (report.kind, report.valid) == (None, False)
