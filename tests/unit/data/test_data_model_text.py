"""The JSON value in model output, or a parse error."""

from __future__ import annotations

import contextlib
import json
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fieldmark as fm
from fieldmark.data.inputs import Inputs
from fieldmark.data.json_parser import JsonDialect, Role
from fieldmark.data.model_text import parse_model_text, repaired_texts
from fieldmark.errors import DataError, OptionError
from json_strategies import any_json

CANDIDATE = JsonDialect(role=Role.CANDIDATE)


@pytest.mark.parametrize(
    ("text", "value", "parsed_from"),
    [
        pytest.param('{"a": 1}', {"a": 1}, "", id="strict-json"),
        pytest.param(" 42 \n", 42, "", id="strict-scalar"),
        pytest.param('```json\n{"a": 1}\n```', {"a": 1}, "fence", id="fence"),
        pytest.param("Here:\n```\n[1]\n```\nDone.", [1], "fence", id="fence-amid-prose"),
        pytest.param('```JSON {"a": 1}```', {"a": 1}, "fence", id="fence-on-one-line"),
        pytest.param('Sure! {"a": {"b": "}"}} Bye', {"a": {"b": "}"}}, "text", id="bare-json"),
        pytest.param('I [sic] say {"a": "x:{y"}', {"a": "x:{y"}, "text", id="remarks-in-brackets"),
        pytest.param('{"a": "\\ud800"} ok', {"a": "\ud800"}, "text", id="lone-surrogate"),
        pytest.param('\ud800 {"a": 1}', {"a": 1}, "text", id="lone-surrogate-around-it"),
        pytest.param('```json\n{"a": "```"}\n```', {"a": "```"}, "fence", id="fence-in-a-text"),
        pytest.param('```json\n{"a": 1}', {"a": 1}, "text", id="unclosed-fence"),
        pytest.param('```json\n{"a": 1}\n', {"a": 1}, "text", id="unclosed-fence-and-whitespace"),
        pytest.param("```\n[1]\nDone. ```", [1], "text", id="prose-before-the-closing-fence"),
        pytest.param('{"a": 1}\n```', {"a": 1}, "text", id="unopened-fence"),
        pytest.param('```json\nHere: {"a": 1}\n```', {"a": 1}, "text", id="prose-in-a-fence"),
        pytest.param('```json\n{"a": 1}\n``` See page [2].', {"a": 1}, "fence", id="number-after"),
        pytest.param("[1]\n```\n[2]\n```\n[3]", [2], "fence", id="numbers-around-a-fence"),
        pytest.param('As in [1, 2]: {"a": 1}', {"a": 1}, "text", id="numbers-before-an-object"),
        pytest.param('{"a": 1} is in [0, 1)', {"a": 1}, "text", id="interval"),
        pytest.param('{"a": 1} of ["b"]', {"a": 1}, "text", id="list-of-text-beside-an-object"),
        pytest.param('[12 pages] {"a": 1}', {"a": 1}, "text", id="remark-with-a-number"),
        pytest.param('Rows: [{"a": 1}] [2]', [{"a": 1}], "text", id="list-of-objects"),
        pytest.param('They are ["a", "b"].', ["a", "b"], "text", id="list-of-text"),
        pytest.param("<think>x</think>\n[1, 2]", [1, 2], "text", id="numbers-are-the-answer"),
    ],
)
def test_one_value_is_found(text, value, parsed_from):
    assert parse_model_text(text, CANDIDATE) == (value, parsed_from)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("no json here", "no JSON object or array", id="prose"),
        pytest.param("", "no JSON object or array", id="nothing"),
        pytest.param("See page [2].", "no JSON object or array", id="number-in-brackets"),
        pytest.param("From [0, 1) to [1, 2]", "no JSON object or array", id="interval"),
        pytest.param('```\n{"a":1}\n``` or {"b":2}', "2 JSON", id="object-beside-a-fence"),
        pytest.param('```\n{"a":1}\n``` or [{"b":2}]', "2 JSON", id="objects-beside-a-fence"),
        pytest.param('["a"] or ["b"]', "2 JSON", id="two-lists"),
        pytest.param('{"a": 1} and {"b": 2}', "2 JSON values", id="two-bare-values"),
        pytest.param('```json\n{"a":1}\n```\n```json\n{"a":2}\n```', "2 JSON", id="two-fences"),
        pytest.param('{"a":1}\n```json\n{"a":1}\n```', "2 JSON", id="one-bare-and-one-fenced"),
        pytest.param('x {"a": 1, "a": 2}', "duplicate key", id="duplicate-key"),
        pytest.param('{"a": 1, "a": 2}', "duplicate key", id="duplicate-key-in-strict-json"),
        pytest.param('{"items": [{"a": 1}, {"b"', "incomplete", id="truncated-output"),
        pytest.param('{"items": [{"a": 1}', "incomplete", id="incomplete-list"),
        pytest.param('x {"a": 1,}', "invalid JSON", id="trailing-comma"),
        pytest.param("x " + "[" * 300 + "]" * 300, "200 levels", id="too-deep"),
    ],
)
def test_other_text_is_a_parse_error(text, message):
    with pytest.raises(DataError, match=message):
        parse_model_text(text, CANDIDATE)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 10**6,
        '{"' * 10**5,
        "[1] " * 10**5,
        '"' * 10**6 + "{",
        '{"' + r"\"" * 10**5,
        r"[1\"]" * 10**5,
        "<think></think>" * 10**5,
        "{'a': " * 50_000,
        "'" * 100_000,
        '["' * 50_000,
        "[1 " * 300_000,
        "[[1]]" * 100_000 + '{"a": 1}' * 2,
    ],
)
@pytest.mark.parametrize("options", [{}, {"last": True, "repair": True}], ids=["strict", "repair"])
def test_hostile_text_is_parsed_quickly(text, options):
    start = time.process_time()
    # Of several values, the last one can be read.
    with contextlib.suppress(DataError) if options else pytest.raises(DataError):
        parse_model_text(f"x {text}" if options else text, CANDIDATE, **options)
    assert time.process_time() - start < 5


THOUGHTS = 'Draft: {"a": 0}. Better {"a": 1}.'


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param(f'<think>{THOUGHTS}</think>{{"a": 1}}', {"a": 1}, id="think"),
        pytest.param(f"\n<thinking>{THOUGHTS}</thinking>\n[1, 2]", [1, 2], id="thinking"),
        pytest.param("<think>x</think><think>{}</think>[]", [], id="two-blocks"),
        pytest.param(f'{THOUGHTS}</think>{{"a": 1}}', {"a": 1}, id="without-start"),
        pytest.param('{"a": [</think>{"a": 1}', {"a": 1}, id="broken-json-in-thoughts"),
        pytest.param('OK {"a": "x</think>", "b": [1]}', {"a": "x</think>", "b": [1]}, id="in-text"),
        pytest.param('{"a": "<think>x</think>"}', {"a": "<think>x</think>"}, id="in-json"),
    ],
)
def test_thoughts_before_the_answer_are_skipped(text, value):
    assert parse_model_text(text, CANDIDATE).value == value


@pytest.mark.parametrize("last", [False, True], ids=["only", "last"])
def test_text_that_ends_within_thoughts_has_no_answer(last):
    with pytest.raises(DataError, match="ends before the answer"):
        parse_model_text('<think>Perhaps {"a": 1}', CANDIDATE, last=last, repair=True)


FENCES = '```json\n{"a": 1}\n```\nNo, wait:\n```json\n{"a": 2}\n```'


@pytest.mark.parametrize(
    ("text", "repair", "value", "parsed_from"),
    [
        pytest.param(FENCES, False, {"a": 2}, "fence", id="fences"),
        pytest.param('First {"a": 1}, then {"a": 2}.', False, {"a": 2}, "text", id="text"),
        pytest.param('{"a": 0} {"a": 1}, see [2].', False, {"a": 1}, "text", id="number-after"),
        pytest.param('{"a": 1,} and {"a": 2}', False, {"a": 2}, "text", id="earlier-is-not-json"),
        pytest.param('{"a": 1}', False, {"a": 1}, "", id="one"),
        pytest.param("{'a': 1} and {'a': 2,}", True, {"a": 2}, "repaired", id="last-is-repaired"),
        pytest.param('x {"a": 1}', True, {"a": 1}, "text", id="valid-is-not-called-repaired"),
        pytest.param('{"a": 1} and {"a": 2,}', False, None, "", id="last-must-be-valid"),
    ],
)
def test_the_last_json_is_read_when_asked(text, repair, value, parsed_from):
    if value is None:
        with pytest.raises(DataError, match="invalid JSON"):
            parse_model_text(text, CANDIDATE, last=True, repair=repair)
    else:
        read = parse_model_text(text, CANDIDATE, last=True, repair=repair)
        assert read == (value, parsed_from)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param('{"a": 1,}', {"a": 1}, id="trailing-comma"),
        pytest.param('[{"a": [1, 2, ], }, ]', [{"a": [1, 2]}], id="trailing-commas"),
        pytest.param("{'a': 'x'}", {"a": "x"}, id="single-quotes"),
        pytest.param("""{'a': 'it\\'s "x"'}""", {"a": 'it\'s "x"'}, id="quotes-in-quotes"),
        pytest.param("{'a': True, 'b': None}", {"a": True, "b": None}, id="python"),
        pytest.param('{"a": "True", "b": "x,}",}', {"a": "True", "b": "x,}"}, id="strings"),
        pytest.param('Here: ```json\n{"a": 1,}\n``` Done.', {"a": 1}, id="fence"),
        pytest.param('{"a": 1,} as on page [2]', {"a": 1}, id="number-in-brackets"),
        pytest.param('```json\n{"a": [1, 2\n```', {"a": [1, 2]}, id="fence-without-brackets"),
        pytest.param('{"a": {"b": 1}', {"a": {"b": 1}}, id="bracket"),
        pytest.param('{"a": 1, "b": "cut o', {"a": 1}, id="cut-string"),
        pytest.param('{"a": 1, "b": 12', {"a": 1}, id="cut-number"),
        pytest.param('{"a": 1, "b": tru', {"a": 1}, id="cut-word"),
        pytest.param('{"a": 1, "b":', {"a": 1}, id="cut-value"),
        pytest.param('{"a": 1, "b"', {"a": 1}, id="cut-member"),
        pytest.param('{"a": 1,', {"a": 1}, id="cut-object"),
        pytest.param('{"a": ["x", "y"', {"a": ["x", "y"]}, id="cut-list-of-strings"),
        pytest.param("{'a': 1}</think>{'a': 2}", {"a": 2}, id="thoughts"),
    ],
)
def test_repair(text, value):
    assert parse_model_text(text, CANDIDATE, repair=True) == (value, "repaired")
    with pytest.raises(DataError):
        parse_model_text(text, CANDIDATE)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("no JSON at all", id="prose"),
        pytest.param('{"a": 1 "b": 2}', id="missing-comma"),
        pytest.param('{"a": [1}', id="wrong-bracket"),
        pytest.param('{"a": 1, "a": 2,}', id="duplicate-key"),
        pytest.param('{"a": 1,} {"a": 2,}', id="two-values"),
        pytest.param('{"a": 1,,}', id="two-commas"),
        pytest.param("{'a': 'it's'}", id="ambiguous-quotes"),
        pytest.param('{"a": x}', id="unknown-word"),
    ],
)
def test_what_is_not_repaired_keeps_its_message(text):
    with pytest.raises(DataError) as plain:
        parse_model_text(text, CANDIDATE)
    with pytest.raises(DataError) as repaired:
        parse_model_text(text, CANDIDATE, repair=True)
    assert str(plain.value) == str(repaired.value)


@given(any_json)
def test_json_is_not_changed_by_repair(value):
    text = json.dumps([value])
    (repaired,) = repaired_texts(text)
    assert json.loads(repaired) == json.loads(text)


@given(any_json, st.data())
def test_text_cut_at_any_place_is_repaired_or_refused(value, data):
    text = json.dumps({"a": value})
    cut = text[: data.draw(st.integers(6, len(text)))]
    with contextlib.suppress(DataError):
        assert isinstance(parse_model_text(cut, CANDIDATE, repair=True).value, dict | list)


def test_repaired_predictions_are_marked_and_counted(tmp_path):
    rows = [
        {"id": "a", "expected": {"a": 1}, "output": '{"a": 1,}'},
        {"id": "b", "expected": {"a": 1}, "output": '{"a": 1}'},
    ]
    path = tmp_path / "t.json"
    path.write_text(json.dumps(rows))
    run = fm.score(path, inputs={"repair": True}, out=tmp_path / "run")
    assert "1 prediction was not valid JSON and was repaired" in run.summary.warnings
    stored = [
        json.loads(line) for line in (tmp_path / "run/results.jsonl").read_text().splitlines()
    ]
    assert [row.get("parsed_from") for row in stored] == ["repaired", None]
    assert fm.score(path).summary.cases.unparseable == 1


@pytest.mark.parametrize("option", [{"repair": True}, {"candidate_json": "last"}])
def test_strict_parsing_excludes_other_ways(option):
    with pytest.raises(OptionError, match="cannot be combined with strict parsing"):
        Inputs(parse="strict", **option)


@pytest.mark.parametrize("source", ["candidates", "target"])
@pytest.mark.parametrize(
    ("key", "output", "warned"),
    [
        pytest.param("repair: true", '{"a": 1,}', True, id="repair"),
        pytest.param("candidate_json: last", '{"a": 0} or {"a": 1}', False, id="last"),
    ],
)
def test_eval_files_set_how_model_output_is_read(tmp_path, source, key, output, warned):
    (tmp_path / "answer.json").write_text(json.dumps([{"id": "x", "output": output}]))
    (tmp_path / "answer.py").write_text(f"print({output!r})\n")
    where = {
        "candidates": "candidates: answer.json",
        "target": f"target: {{command: [{sys.executable}, answer.py]}}",
    }
    file = tmp_path / "t.eval.yaml"
    file.write_text(
        f"cases: [{{id: x, expected: {{a: 1}}}}]\n{where[source]}\n{key}\n"
        "evaluators: [{name: f, type: field_accuracy, fields: [{path: a}]}]\n"
    )
    run = fm.evaluate(file)
    assert run.summary.mean_score == 1.0
    assert ("1 prediction was not valid JSON and was repaired" in run.summary.warnings) is warned
    file.write_text(file.read_text().replace(f"{key}\n", ""))
    assert fm.evaluate(file).summary.cases.unparseable == 1


@pytest.mark.parametrize("candidate_json", ["only", "last"])
def test_an_answer_with_a_reference_in_brackets_is_correct(tmp_path, candidate_json):
    answer = '```json\n{"a": 1}\n```\nSee page [2].'
    rows = [{"id": "x", "expected": {"a": 1}, "output": answer}]
    assert fm.score(rows, inputs={"candidate_json": candidate_json}).micro.f1 == 1.0
    assert fm.compare({"a": 1}, answer).score == 1.0


def test_expected_text_after_a_number_in_brackets_is_text():
    assert fm.compare("[2] Annual report", "[2] Annual report").verdict == "pass"
