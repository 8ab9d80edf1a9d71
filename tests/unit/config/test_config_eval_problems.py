"""Mistakes in eval files: all at once, each with its place and the nearest valid word."""

from __future__ import annotations

import pytest
from reading_evals import said_of

CASES = "cases: t.jsonl"
CONVENTIONS = "confusion, field_accuracy, taxonomy, taxonomy_code, four_phase"
TARGETS = "Write {command: [python, extract.py]}, {python: module:function} or {url: https://…}."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("5", ["1:1: Not an eval file: 5."], id="not-an-object"),
        pytest.param("{name: x}", ["1:1: An eval file without cases."], id="no-cases"),
        pytest.param(f"{{{CASES}, evalutors: []}}", ["1:18: Unknown key: evalutors. Did you mean evaluators?"], id="a-misspelt-key"),
        pytest.param(f"{{{CASES}, name: 5}}", ["1:24: name: must be text, not 5."], id="a-number-as-name"),
        pytest.param("{cases: 5}", ["1:9: Not cases: 5."], id="a-number-as-cases"),
        pytest.param("{cases: ''}", ['1:9: cases: must be the name of a file, not "".'], id="no-file"),
        pytest.param("{cases: []}", ["1:9: The list of cases is empty."], id="no-case"),
        pytest.param("{cases: {pat: x}}", ["1:9: Cases without a path.", "1:10: Unknown key: pat. Did you mean path?"], id="a-misspelt-path"),
        pytest.param("{cases: {path: x, id: 5}}", ["1:23: id: must be text, not 5."], id="a-number-as-key"),
        pytest.param("{cases: {coco: x.json}}", ["1:9: Nothing says what was detected."], id="a-detection-data-set-alone"),
        pytest.param("{cases: {coco: x.json, id: y}, candidates: z}", ["1:24: Unknown key: id."], id="keys-of-rows-in-a-detection-data-set"),
        pytest.param("{cases: [x]}", ['1:10: Not a case: "x".'], id="a-text-as-case"),
        pytest.param("{cases: [{expected: 1}]}", ["1:10: A case without an id."], id="no-id"),
        pytest.param("{cases: [{id: a}]}", ["1:10: A case without an expected value."], id="no-truth"),
        pytest.param("{cases: [{id: true, expected: 1}]}", ["1:15: id: must be text, not true."], id="a-flag-as-id"),
        pytest.param("{cases: [{id: a, expected: 1}, {id: a, expected: 2}]}", ["1:33: Duplicate case id: a. Line 1 has it already."], id="an-id-twice"),
        pytest.param("{cases: [{id: 1, expected: 1}, {id: '1', expected: 2}]}", ["1:33: Duplicate case id: 1."], id="a-number-and-its-text"),
        pytest.param("{cases: [{id: a, expected: 1, expected_file: x}]}", ["1:31: Both expected and expected_file. Keep one of them."], id="two-truths"),
        pytest.param("{cases: [{id: a, expected: 1, candidate: 1, candidate_file: x}]}", ["1:45: Both candidate and candidate_file."], id="two-candidates"),
        pytest.param("{cases: [{id: a, expected_file: x.json}]}", ["1:33: x.json: Cannot be read: "], id="no-such-truth"),
        pytest.param("{cases: [{id: a, expected: 1, candidate_file: x.json}]}", ["1:47: x.json: Cannot be read: "], id="no-such-candidate"),
        pytest.param("{cases: [{id: a, expected: 1, metadata: 3}]}", ["1:41: Not an object of metadata: 3."], id="metadata-of-a-case"),
        pytest.param("{cases: [{id: a, expected: 1, only_own: 1}]}", ["1:41: only_own: must be true or false, not 1."], id="a-number-as-a-flag"),
        pytest.param("{cases: [{id: a, expected: 1, tags: 1}]}", ["1:37: tags: must be a list, not 1."], id="a-number-as-tags"),
        pytest.param("{cases: [{id: a, expected: 1, evaluators: [{type: x}]}]}", ["1:51: Invalid evaluator type: x."], id="an-evaluator-of-a-case"),
        pytest.param(f"{{{CASES}, candidates: 5}}", ["1:30: candidates: must be the name of a file, not 5."], id="a-number-as-candidates"),
        pytest.param(f"{{{CASES}, candidates: c, target: {{command: [x]}}}}", ["1:33: Both candidates and a target that produces them."], id="two-sources-of-candidates"),
        pytest.param(f"{{{CASES}, target: x}}", [f'1:26: Not a target: "x". {TARGETS}'], id="a-text-as-target"),
        pytest.param(f"{{{CASES}, target: {{timeout: 3}}}}", [f"1:26: A target without a type. {TARGETS}"], id="no-target"),
        pytest.param(f"{{{CASES}, target: {{type: comand}}}}", ["1:33: Invalid target: comand. Valid types: command, python, http. Did you mean command?"], id="a-misspelt-target"),
        pytest.param(f"{{{CASES}, target: {{command: [x], url: 'https://h.test'}}}}", ["1:41: A target is one of command, python, url, not several.", "1:41: Unknown key: url."], id="two-targets"),
        pytest.param(f"{{{CASES}, target: {{command: x y}}}}", ["1:36: command: must be a list, not text. No shell takes it apart. Write command: [x, y]."], id="a-command-as-text"),
        pytest.param(f"{{{CASES}, target: {{command: [x], timeout: 0}}}}", ["1:50: timeout: must be a number of seconds above 0, not 0."], id="no-time-at-all"),
        pytest.param(f"{{{CASES}, target: {{command: [x], retries: -1}}}}", ["1:50: retries: must be at least 0, not -1."], id="fewer-than-no-retries"),
        pytest.param(f"{{{CASES}, target: {{command: [x], concurrency: 0}}}}", ["1:54: concurrency: must be at least 1, not 0."], id="nothing-at-the-same-time"),
        pytest.param(f"{{{CASES}, target: {{python: nonsense}}}}", ['1:35: function: must be written "module:function"'], id="no-function"),
        pytest.param(f"{{{CASES}, target: {{url: 'ftp://x'}}}}", ["1:32: url: "], id="another-protocol"),
        pytest.param(f"{{{CASES}, convention: confusin}}", [f"1:30: Invalid convention: confusin. Valid conventions: {CONVENTIONS}. Did you mean confusion?"], id="a-misspelt-convention"),
        pytest.param(f"{{{CASES}, convention: 5}}", ["1:30: Not a convention: 5."], id="a-number-as-convention"),
        pytest.param(f"{{{CASES}, convention: {{rqs_form: complement}}}}", ["1:30: A convention without a name."], id="a-convention-without-name"),
        pytest.param(f"{{{CASES}, convention: {{name: confusion, rqs_from: x}}}}", ["1:48: Unknown key: rqs_from. Did you mean rqs_form?"], id="a-misspelt-option"),
        pytest.param(f"{{{CASES}, convention: {{name: confusion, scope: union}}}}", ["1:48: Unknown key: scope. It belongs to the scope of rules."], id="an-option-of-rules"),
        pytest.param(f"{{{CASES}, convention: {{name: confusion, rqs_form: complment}}}}", ["1:58: rqs_form: 'complment' is none of subtract, complement. Did you mean complement?"], id="a-misspelt-word"),
        pytest.param(f"{{{CASES}, convention: {{name: confusion, rqs_weights: {{safety: -1}}}}}}", ["1:70: rqs_weights.safety: must be a number of at least 0."], id="a-negative-weight"),
        pytest.param(f"{{{CASES}, rules: missing.yaml}}", ["1:25: missing.yaml: Cannot be read: "], id="no-such-rules"),
        pytest.param(f"{{{CASES}, rules: {{fields: [{{path: a, match: fuzy}}]}}}}", ["1:52: Invalid match type: fuzy."], id="a-mistake-in-rules"),
        pytest.param(f"{{{CASES}, provider: lexicl}}", ["1:28: Invalid provider: lexicl."], id="a-misspelt-provider"),
        pytest.param(f"{{{CASES}, gates: 5}}", ["1:25: Not gates: 5."], id="a-number-as-gates"),
        pytest.param(f"{{{CASES}, gates: {{mn: {{}}}}}}", ["1:26: Unknown key: mn. Did you mean min?"], id="a-misspelt-gate"),
        pytest.param(f"{{{CASES}, gates: {{min: 0.9}}}}", ["1:31: Not limits for min: 0.9. Write {figure: limit}."], id="a-limit-without-figure"),
        pytest.param(f"{{{CASES}, gates: {{min: {{mean_score: high}}}}}}", ['1:44: mean_score: must be a number, not "high".'], id="a-word-as-limit"),
        pytest.param(f"{{{CASES}, gates: {{min: {{macro_f1_by_atribute: 0.9}}}}}}", ["1:32: Unknown figure 'macro_f1_by_atribute'. Did you mean macro_f1_by_attribute?"], id="a-misspelt-figure"),
        pytest.param(f"{{{CASES}, evaluators: [{{name: header, type: line_items}}], gates: {{max: {{evaluators.hader.errors: 0}}}}}}", ["1:80: Unknown figure 'evaluators.hader.errors'. Did you mean evaluators.header.errors?"], id="a-misspelt-evaluator"),
        pytest.param(f"{{{CASES}, gates: {{max_errors: -1}}}}", ["1:38: max_errors: must be at least 0, not -1."], id="fewer-than-no-errors"),
        pytest.param(f"{{{CASES}, concurrency: 0}}", ["1:31: concurrency: must be at least 1, not 0."], id="nothing-in-parallel"),
        pytest.param(f"{{{CASES}, metadata: x}}", ['1:28: Not an object of metadata: "x".'], id="metadata"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_place(text, said):
    found = said_of(text)
    assert len(found) == len(said), found
    for line, beginning in zip(found, said, strict=True):
        assert line.startswith(f"e.yaml:{beginning}"), line


def test_every_mistake_is_told_at_once_in_the_order_of_the_file():
    found = said_of(
        "nme: x\n"
        "cases:\n"
        "  - {id: a, expectd: 1}\n"
        "convention: confusin\n"
        "evaluators: [{type: field_acuracy}]\n"
        "gates: {min: {mean_scor: 1, evaluators.header.errors: 1}}\n"
    )
    assert [line.partition(": ")[0] for line in found] == [
        "e.yaml:1:1",
        "e.yaml:3:5",
        "e.yaml:3:13",
        "e.yaml:4:13",
        "e.yaml:5:21",
        "e.yaml:6:15",
    ]


def test_a_mistake_in_a_file_that_is_named_is_told_with_the_place_in_it(tmp_path):
    (tmp_path / "r.yaml").write_text("fields:\n  - {path: a, match: fuzy}\n")
    (found,) = said_of("{cases: t.jsonl, rules: r.yaml}", tmp_path)
    assert found.startswith(f"{tmp_path / 'r.yaml'}:2:22: Invalid match type: fuzy.")
