"""Content of eval files and their problems."""

from __future__ import annotations

from pathlib import Path

import pytest
from reading_evals import eval_file_problems, evaluation

from fieldmark.compare.auto import Auto
from fieldmark.compare.fuzzy import Fuzzy
from fieldmark.errors import ConfigError
from fieldmark.metrics.conventions import DEFAULT_CONVENTION
from fieldmark.metrics.gates import Gate, GateKind
from fieldmark.model.json import MISSING
from fieldmark.model.rule import Scope
from fieldmark.rules.config_values import Context, locate
from fieldmark.runs.eval_file import load_eval, read_eval

COMPLETE = """
name: invoices
description: The header.
cases: truth.jsonl
candidates: candidate.jsonl
convention: field_accuracy
rules: {scope: truth, fields: [{path: total, match: fuzzy}]}
evaluators:
  - {name: header, type: field_accuracy, fields: [{path: total}]}
gates: {min: {mean_score: 0.9}, max: {hallucination: 0.05}, max_errors: 2}
concurrency: 8
tags: [nightly]
metadata: {owner: {team: ap}}
"""


def test_complete_eval_file(tmp_path):
    spec = evaluation(COMPLETE, tmp_path)
    assert (spec.name, spec.description, spec.directory) == ("invoices", "The header.", tmp_path)
    assert (spec.cases, spec.candidates) == (tmp_path / "truth.jsonl", tmp_path / "candidate.jsonl")
    assert spec.convention.name == "field_accuracy"
    assert spec.rules is not None
    assert spec.rules.scope is Scope.TRUTH
    assert spec.rules.fields[0].comparator == Fuzzy()
    assert [member.name for member in spec.evaluators] == ["header"]
    assert spec.gates == (
        Gate(name="mean_score", limit=0.9),
        Gate(name="hallucination", limit=0.05, kind=GateKind.MAX),
    )
    assert (spec.max_errors, spec.options["concurrency"], spec.tags) == (2, 8, ("nightly",))
    assert spec.metadata == {"owner": {"team": "ap"}}


def test_only_cases_are_required():
    spec = evaluation("cases: truth.jsonl")
    assert (spec.cases, spec.candidates, spec.target) == (Path("truth.jsonl"), None, None)
    assert (spec.convention, spec.rules, spec.evaluators) == (DEFAULT_CONVENTION, None, ())
    assert (spec.gates, spec.max_errors, spec.tags, spec.metadata) == ((), 0, (), {})


@pytest.mark.parametrize(
    ("file", "name"),
    [
        pytest.param("invoices.eval.yaml", "invoices", id="two-extensions"),
        pytest.param("invoices.yaml", "invoices", id="one-extension"),
        pytest.param("invoices.v2.eval.json", "invoices.v2", id="other-dots-remain"),
    ],
)
def test_the_default_name_is_the_file_name(tmp_path, file, name):
    (tmp_path / file).write_text('{"cases": "t.jsonl"}')
    assert load_eval(tmp_path / file).name == name


class TestCases:
    def test_keys_of_rows(self):
        spec = evaluation("cases: {path: rows.jsonl, id: doc, expected: gold, candidate: out}")
        assert spec.cases == Path("rows.jsonl")
        assert (spec.inputs.id_key, spec.inputs.expected_key, spec.inputs.candidate_key) == (
            "doc",
            "gold",
            "out",
        )

    def test_a_case_can_be_inline(self):
        (case,) = evaluation(
            "cases: [{id: a, input: {q: 1}, expected: {t: 1}, candidate: {t: 2}, tags: [x, y],"
            " metadata: {m: 1}}]"
        ).cases
        assert (case.id, case.input, case.expected, case.candidate) == (
            "a", {"q": 1}, {"t": 1}, {"t": 2}
        )  # fmt: skip
        assert (case.tags, case.metadata, case.only_own) == (("x", "y"), {"m": 1}, False)
        assert case.location.line == 1

    def test_absent_documents_are_not_null(self):
        first, second = evaluation(
            "cases: [{id: a, expected: 1}, {id: b, expected: null, candidate: null, input: null}]"
        ).cases
        assert (first.candidate, first.input) == (MISSING, MISSING)
        assert (second.expected, second.candidate, second.input) == (None, None, None)

    def test_values_are_not_converted(self):
        (case,) = evaluation(
            "cases: [{id: a, candidate: '{}', expected: {country: NO, date: 2024-01-01, code: 0123}}]"
        ).cases
        assert case.expected == {"country": "NO", "date": "2024-01-01", "code": "0123"}
        assert case.candidate == "{}"

    @pytest.mark.parametrize("key", ["only_own", "skip_defaults"])
    def test_a_case_can_have_its_own_evaluators(self, key):
        (case,) = evaluation(
            f"cases: [{{id: a, expected: 1, evaluators: [{{type: line_items}}], {key}: true}}]"
        ).cases
        assert [member.name for member in case.evaluators] == ["line_items"]
        assert case.only_own is True

    def test_documents_can_be_in_files(self, tmp_path):
        (tmp_path / "t.json").write_text('{"total": 1}')
        (tmp_path / "c.txt").write_text("Sure! ```json\n{}\n```")
        (case,) = evaluation(
            "cases: [{id: a, expected_file: t.json, candidate_file: c.txt}]", tmp_path
        ).cases
        assert case.expected == {"total": 1}
        assert case.candidate == "Sure! ```json\n{}\n```"

    def test_an_invalid_candidate_file_is_not_a_problem(self, tmp_path):
        (tmp_path / "c.json").write_text('{"total": ')
        (case,) = evaluation(
            "cases: [{id: a, expected: 1, candidate_file: c.json}]", tmp_path
        ).cases
        assert case.candidate == '{"total": '


class TestTargets:
    @pytest.mark.parametrize(
        ("text", "kind", "options"),
        [
            pytest.param("command: [python, x.py]", "command", {"command": ("python", "x.py")}, id="command"),
            pytest.param("type: command, command: [x], env: {A: b}", "command", {"env": {"A": "b"}}, id="command-with-type"),
            pytest.param("python: 'mod:fun'", "python", {"function": "mod:fun"}, id="function"),
            pytest.param("type: python, function: 'mod:fun'", "python", {"function": "mod:fun"}, id="function-with-type"),
            pytest.param("url: 'https://host.test/x', method: PUT", "http", {"url": "https://host.test/x", "method": "PUT"}, id="endpoint"),
            pytest.param("type: http, url: 'https://host.test/x', headers: {A: b}", "http", {"headers": {"A": "b"}}, id="endpoint-with-type"),
        ],
    )  # fmt: skip
    def test_types_of_targets(self, text, kind, options):
        target = evaluation(f"{{cases: t.jsonl, target: {{{text}}}}}").target
        assert target is not None
        assert target.type == kind
        assert {key: getattr(target.source, key) for key in options} == options

    def test_call_options(self, tmp_path):
        target = evaluation(
            "{cases: t.jsonl, target: {command: [x], timeout: 1.5, retries: 0, concurrency: 1, cache: c}}",
            tmp_path,
        ).target
        assert target is not None
        assert (target.timeout, target.retries, target.concurrency) == (1.5, 0, 1)
        assert target.cache == tmp_path / "c"

    def test_the_working_directory_is_the_directory_of_the_file(self, tmp_path):
        target = evaluation("{cases: t.jsonl, target: {command: [x]}}", tmp_path).target
        assert target.source.cwd == tmp_path


class TestRules:
    def test_rules_can_be_in_a_file(self, tmp_path):
        (tmp_path / "r.yaml").write_text("{scope: truth, fields: [{path: a, match: fuzzy}]}")
        rules = evaluation("{cases: t.jsonl, rules: r.yaml}", tmp_path).rules
        assert rules.scope is Scope.TRUTH

    def test_rules_can_be_auto(self):
        assert evaluation("{cases: t.jsonl, rules: auto}").rules.default == Auto()

    def test_a_file_outside_the_directory_is_read_only_if_not_contained(self, tmp_path):
        (tmp_path / "r.yaml").write_text("fields: [{path: a}]")
        (tmp_path / "evals").mkdir()
        file = tmp_path / "evals" / "x.eval.yaml"
        file.write_text("{cases: t.jsonl, rules: ../r.yaml}")
        assert load_eval(file).rules is not None
        with pytest.raises(ConfigError, match="is outside the directory of the configuration file"):
            load_eval(file, contained=True)


@pytest.mark.parametrize(
    "metric",
    [
        pytest.param("macro_f1_by_attribute", id="run-metric"),
        pytest.param("quality.rqs", id="nested-metric"),
        pytest.param("attributes.total.recall", id="attribute-metric"),
        pytest.param("evaluators.header.mean_score", id="evaluator-metric"),
        pytest.param("evaluators.own.errors", id="case-evaluator-metric"),
    ],
)
def test_gates_accept_every_metric_of_the_summary(metric):
    spec = evaluation(
        "cases: [{id: a, expected: 1, evaluators: [{name: own, type: line_items}]}]\n"
        "evaluators: [{name: header, type: line_items}]\n"
        f"gates: {{min: {{{metric}: 0.5}}}}"
    )
    assert spec.gates == (Gate(name=metric, limit=0.5),)


class TestWarnings:
    def warnings(self, text, directory=None, **options):
        return [str(warning) for warning in evaluation(text, directory, **options).warnings]

    def test_missing_files_are_warnings(self, tmp_path):
        assert self.warnings("{cases: t.jsonl, candidates: c.jsonl}", tmp_path) == [
            "e.eval.yaml:1:9: cases: 't.jsonl' not found",
            "e.eval.yaml:1:30: candidates: 'c.jsonl' not found",
        ]

    def test_files_outside_the_directory_are_not_checked(self, tmp_path):
        (tmp_path / "evals").mkdir()
        assert self.warnings("{cases: ../t.jsonl}", tmp_path / "evals") == []
        assert self.warnings("{cases: /nowhere/t.jsonl}", tmp_path / "evals") == []

    def test_a_too_long_file_name_is_not_found(self, tmp_path):
        assert "not found" in self.warnings(f"{{cases: {'x' * 5000}}}", tmp_path)[0]

    def test_missing_predictions_are_a_warning(self):
        (warning,) = self.warnings("cases: [{id: a, expected: 1}]")
        assert warning.startswith("e.eval.yaml:1:8: the file has no predictions")

    @pytest.mark.parametrize("beside", ["candidates: c.jsonl", "target: {command: [x]}", "name: x"])
    def test_predictions_without_warning(self, beside):
        candidate = ", candidate: 1" if beside.startswith("name") else ""
        assert (
            self.warnings(f"cases: [{{id: a, expected: 1{candidate}}}]\n{beside}", contained=False)
            == []
        )


CASES = "cases: t.jsonl"
CONVENTIONS = "confusion, field_accuracy, taxonomy, taxonomy_code, four_phase"
TARGETS = (
    "for example {chat: {model: …, prompt: …}}, {command: [python, extract.py]}, "
    "{python: module:function} or {url: https://…}"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("5", ["1:1: eval file: expected an object, got 5"], id="not-object"),
        pytest.param("{name: x}", ["1:1: 'cases' is required"], id="no-cases"),
        pytest.param("{cases: 5}", ["1:9: cases: expected a file name, a list or an object, got 5"], id="number-as-cases"),
        pytest.param("{cases: ''}", ["1:9: cases: expected a file name, got ''"], id="no-file"),
        pytest.param("{cases: []}", ["1:9: cases must not be empty"], id="no-case"),
        pytest.param("{cases: {pat: x}}", ["1:9: cases: 'path' is required", "1:10: unknown key 'pat'; did you mean 'path'?"], id="misspelled-path"),
        pytest.param("{cases: {coco: x.json}}", ["1:9: the file has no predictions"], id="coco-without-candidates"),
        pytest.param("{cases: {coco: x.json, id: y}, candidates: z}", ["1:24: unknown key 'id'"], id="row-keys-with-coco"),
        pytest.param("{cases: [x]}", ["1:10: case: expected an object, got 'x'"], id="string-as-case"),
        pytest.param("{cases: [{expected: 1}]}", ["1:10: case: 'id' is required"], id="no-id"),
        pytest.param("{cases: [{id: a}]}", ["1:10: case: 'expected' is required"], id="no-expected"),
        pytest.param("{cases: [{id: true, expected: 1}]}", ["1:15: id: expected a string, got true"], id="boolean-as-id"),
        pytest.param("{cases: [{id: a, expected: 1}, {id: a, expected: 2}]}", ["1:33: duplicate case id 'a'; first defined at line 1"], id="duplicate-id"),
        pytest.param("{cases: [&x {id: a, expected: 1}, *x]}", ["1:14: duplicate case id 'a'; first defined at line 1"], id="aliased-case"),
        pytest.param("{cases: [{id: 1, expected: 1}, {id: '1', expected: 2}]}", ["1:33: duplicate case id '1'"], id="number-and-string-with-same-text"),
        pytest.param("{cases: [{id: a, expected: 1, expected_file: x}]}", ["1:31: expected and expected_file cannot be combined; remove one of them"], id="expected-and-expected-file"),
        pytest.param("{cases: [{id: a, expected: 1, candidate: 1, candidate_file: x}]}", ["1:45: candidate and candidate_file cannot be combined"], id="candidate-and-candidate-file"),
        pytest.param("{cases: [{id: a, expected_file: x.json}]}", ["1:33: x.json: file not found"], id="missing-expected"),
        pytest.param("{cases: [{id: a, expected: 1, candidate_file: x.json}]}", ["1:47: x.json: file not found"], id="missing-candidate"),
        pytest.param("{cases: [{id: a, expected: 1, metadata: 3}]}", ["1:41: metadata: expected an object, got 3"], id="metadata-of-case"),
        pytest.param("{cases: [{id: a, expected: 1, evaluators: [{type: x}]}]}", ["1:51: unknown evaluator type 'x'"], id="evaluator-of-case"),
        pytest.param(f"{{{CASES}, candidates: 5}}", ["1:30: candidates: expected a file name, got 5"], id="number-as-candidates"),
        pytest.param(f"{{{CASES}, candidates: c, target: {{command: [x]}}}}", ["1:33: candidates and target cannot be combined"], id="two-sources-of-candidates"),
        pytest.param(f"{{{CASES}, target: x}}", [f"1:26: target: expected an object, got 'x'; {TARGETS}"], id="string-as-target"),
        pytest.param(f"{{{CASES}, target: {{timeout: 3}}}}", [f"1:26: target: 'type' is required; {TARGETS}"], id="no-target"),
        pytest.param(f"{{{CASES}, target: {{type: comand}}}}", ["1:33: unknown target 'comand'; valid types: command, python, http, chat; did you mean 'command'?"], id="misspelled-target"),
        pytest.param(f"{{{CASES}, target: {{command: [x], url: 'https://h.test'}}}}", ["1:41: target: command and url cannot be combined", "1:41: unknown key 'url'"], id="two-targets"),
        pytest.param(f"{{{CASES}, target: {{command: x y}}}}", ["1:36: command: expected a list, got a string; commands run without a shell; write command: [x, y]"], id="command-as-string"),
        pytest.param(f"{{{CASES}, target: {{python: nonsense}}}}", ["1:35: function: must have the form module:function or file.py:function"], id="no-function"),
        pytest.param(f"{{{CASES}, target: {{url: 'ftp://x'}}}}", ["1:32: url: "], id="unsupported-protocol"),
        pytest.param(f"{{{CASES}, convention: 5}}", ["1:30: expected a convention, got 5"], id="number-as-convention"),
        pytest.param(f"{{{CASES}, convention: {{rqs_form: complement}}}}", ["1:30: convention: 'name' is required"], id="convention-without-name"),
        pytest.param(f"{{{CASES}, convention: {{name: confusion, scope: union}}}}", ["1:48: unknown key 'scope'; set it in the rules, as 'scope'"], id="option-of-rules"),
        pytest.param(f"{{{CASES}, rules: missing.yaml}}", ["1:25: missing.yaml: file not found"], id="missing-rules"),
        pytest.param(f"{{{CASES}, gates: 5}}", ["1:25: gates: expected an object, got 5"], id="number-as-gates"),
        pytest.param(f"{{{CASES}, gates: {{min: 0.9}}}}", ["1:31: min: expected an object, got 0.9; for example {micro_f1: 0.9}"], id="limit-without-metric"),
        pytest.param(f"{{{CASES}, gates: {{min: {{mean_score: high}}}}}}", ["1:44: mean_score: expected a number, got 'high'"], id="string-as-limit"),
        pytest.param(f"{{{CASES}, gates: {{min: {{macro_f1_by_atribute: 0.9}}}}}}", ["1:32: unknown metric 'macro_f1_by_atribute'; did you mean 'macro_f1_by_attribute'?"], id="misspelled-metric"),
        pytest.param(f"{{{CASES}, evaluators: [{{name: header, type: line_items}}], gates: {{max: {{evaluators.hader.errors: 0}}}}}}", ["1:80: unknown metric 'evaluators.hader.errors'; did you mean 'evaluators.header.errors'?"], id="misspelled-evaluator"),
    ],
)  # fmt: skip
def test_a_problem_is_reported_with_its_location(text, expected):
    found = eval_file_problems(text)
    assert len(found) == len(expected), found
    for line, beginning in zip(found, expected, strict=True):
        assert line.startswith(f"e.yaml:{beginning}"), line


def test_all_problems_are_reported_in_the_order_of_the_file():
    found = eval_file_problems(
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


def test_a_problem_in_a_referenced_file_has_its_location_there(tmp_path):
    (tmp_path / "r.yaml").write_text("fields:\n  - {path: a, match: fuzy}\n")
    (found,) = eval_file_problems("{cases: t.jsonl, rules: r.yaml}", tmp_path)
    assert found.startswith(f"{tmp_path / 'r.yaml'}:2:22: Invalid match type: fuzy")


@pytest.mark.parametrize(
    ("settings", "fuzzy", "auto"),
    [
        pytest.param({}, 0.85, 0.8, id="usual"),
        pytest.param({"fuzzy_threshold": 0.95, "semantic_threshold": 0.5}, 0.95, 0.5, id="of-the-file"),
    ],
)  # fmt: skip
def test_thresholds_of_an_eval_file_apply_to_evaluators_and_rules(settings, fuzzy, auto):
    provider = {"type": "recorded", "scores": []}
    quality = {"type": "response_quality", "strategies": {"a": "FUZZY"}}
    value = {"cases": [{"id": "1", "expected": {}, "candidate": {}}], "convention": "four_phase",
             "provider": provider, "evaluators": [quality], "rules": {"fields": [{"path": "a", "match": "FUZZY"}]}}  # fmt: skip
    context = Context()
    spec = read_eval(locate({**value, **settings}, context.problems), context)
    context.problems.raise_any()
    for rules in (spec.rules, spec.evaluators[0].evaluator.rules):
        (rule,) = rules.fields
        assert (rule.comparator.name, rule.comparator.threshold) == ("FUZZY", fuzzy)
        assert (rules.default.name, rules.default.threshold) == ("auto", auto)
