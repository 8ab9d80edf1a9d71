"""What kind of file a file is, and what there is to say about it."""

from __future__ import annotations

import pytest

from fieldmark.config.validation import FileKind, check_file

STRATEGIES = '{"cases": [{"number": "EXACT"}], "name": "FUZZY"}'


@pytest.mark.parametrize(
    ("file", "text", "kind", "contents"),
    [
        pytest.param("a.yaml", "cases: t.jsonl\ncandidates: c.jsonl", "eval", "eval file with cases in t.jsonl, 0 evaluators", id="cases-and-candidates"),
        pytest.param("a.yaml", "cases: [{id: a, expected: 1}]", "eval", "eval file with 1 case, 0 evaluators", id="inline-cases"),
        pytest.param("a.yaml", "cases: {path: t.jsonl}\nevaluators: [{type: line_items}]", "eval", "eval file with cases in t.jsonl, 1 evaluator", id="rows-with-keys"),
        pytest.param("a.eval.yaml", "cases: t.jsonl", "eval", "eval file with cases in t.jsonl, 0 evaluators", id="named-so"),
        pytest.param("a.eval.json", '{"cases": "t.jsonl"}', "eval", "eval file with cases in t.jsonl, 0 evaluators", id="as-json"),
        pytest.param("a.yaml", "fields: [{path: a}]", "rules", "1 rule(s)", id="rules"),
        pytest.param("a.yaml", "[{path: a}, {path: b}]", "rules", "2 rule(s)", id="a-list-of-fields"),
        pytest.param("a.json", '{"name": "FUZZY", "evaluators": "EXACT"}', "rules", "2 rule(s)", id="strategies"),
        pytest.param("a.json", STRATEGIES, "rules", "2 rule(s)", id="strategies-for-a-list-called-cases"),
    ],
)  # fmt: skip
def test_a_file_is_told_by_its_keys(tmp_path, file, text, kind, contents):
    (tmp_path / file).write_text(text)
    checked = check_file(tmp_path / file)
    assert checked.problems == ()
    assert (checked.kind, checked.contents, checked.fine) == (FileKind(kind), contents, True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("evaluators: [{type: x}]", "An eval file without cases.", id="evaluators-alone"),
        pytest.param("case: t.jsonl\nevaluators: []", "Unknown key: case. Did you mean cases?", id="misspelt-cases"),
        pytest.param("cases: t.jsonl\nevaluator: []\ngates: {}", "Unknown key: evaluator. Did you mean evaluators?", id="misspelt-evaluators"),
        pytest.param("fieds: [{path: a}]", "", id="misspelt-fields"),
    ],
)  # fmt: skip
def test_a_misspelt_file_is_still_known(tmp_path, text, message):
    (tmp_path / "a.yaml").write_text(text)
    checked = check_file(tmp_path / "a.yaml")
    assert not checked.fine
    assert any(
        str(problem).endswith(message) or message in str(problem) for problem in checked.problems
    )


def test_the_same_as_json(tmp_path):
    file = tmp_path / "a.eval.yaml"
    file.write_text("cases: t.jsonl\nnme: x\n")
    report = check_file(file).to_dict()
    assert report == {
        "file": str(file),
        "kind": "eval",
        "fine": False,
        "contents": "",
        "problems": [
            {
                "message": "Unknown key: nme.",
                "hint": "Did you mean name?",
                "file": str(file),
                "line": 2,
                "column": 1,
            }
        ],
        "warnings": [
            {
                "message": "cases: there is no t.jsonl here.",
                "hint": "",
                "file": str(file),
                "line": 1,
                "column": 8,
            }
        ],
    }


def test_a_file_that_cannot_be_read_has_no_kind(tmp_path):
    checked = check_file(tmp_path / "missing.yaml")
    assert (checked.kind, checked.fine) == (None, False)
