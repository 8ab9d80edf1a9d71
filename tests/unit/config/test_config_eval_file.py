"""Eval files: what can stand in them, and what it means."""

from __future__ import annotations

from pathlib import Path

import pytest
from reading_evals import eval_file_problems, evaluation

from fieldmark.compare.auto import Auto
from fieldmark.compare.fuzzy import Fuzzy
from fieldmark.compare.providers import Recorded
from fieldmark.config.eval_file import load_eval
from fieldmark.errors import ConfigError
from fieldmark.metrics.conventions import DEFAULT_CONVENTION, RqsForm
from fieldmark.metrics.gates import Gate, GateKind
from fieldmark.model.json import MISSING
from fieldmark.model.rule import Scope

WHOLE = """
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


def test_everything_at_once(tmp_path):
    spec = evaluation(WHOLE, tmp_path)
    assert (spec.name, spec.description, spec.folder) == ("invoices", "The header.", tmp_path)
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
    assert (spec.max_errors, spec.concurrency, spec.tags) == (2, 8, ("nightly",))
    assert spec.metadata == {"owner": {"team": "ap"}}


def test_cases_alone_are_enough():
    spec = evaluation("cases: truth.jsonl")
    assert (spec.cases, spec.candidates, spec.target) == (Path("truth.jsonl"), None, None)
    assert (spec.convention, spec.rules, spec.evaluators) == (DEFAULT_CONVENTION, None, ())
    assert (spec.gates, spec.max_errors, spec.tags, spec.metadata) == ((), 0, (), {})


@pytest.mark.parametrize(
    ("file", "name"),
    [
        pytest.param("invoices.eval.yaml", "invoices", id="without-its-endings"),
        pytest.param("invoices.yaml", "invoices", id="without-its-ending"),
        pytest.param("invoices.v2.eval.json", "invoices.v2", id="other-dots-stay"),
    ],
)
def test_an_evaluation_is_called_like_its_file(tmp_path, file, name):
    (tmp_path / file).write_text('{"cases": "t.jsonl"}')
    assert load_eval(tmp_path / file).name == name


class TestCases:
    def test_rows_may_have_other_keys(self):
        spec = evaluation("cases: {path: rows.jsonl, id: doc, expected: gold, candidate: out}")
        assert spec.cases == Path("rows.jsonl")
        assert (spec.id_key, spec.expected_key, spec.candidate_key) == ("doc", "gold", "out")

    def test_a_case_may_stand_in_the_file(self):
        (case,) = evaluation(
            "cases: [{id: a, input: {q: 1}, expected: {t: 1}, candidate: {t: 2}, tags: [x, y],"
            " metadata: {m: 1}}]"
        ).cases
        assert (case.id, case.input, case.expected, case.candidate) == (
            "a", {"q": 1}, {"t": 1}, {"t": 2}
        )  # fmt: skip
        assert (case.tags, case.metadata, case.only_own) == (("x", "y"), {"m": 1}, False)
        assert case.location.line == 1

    def test_what_is_not_there_is_not_null(self):
        first, second = evaluation(
            "cases: [{id: a, expected: 1}, {id: b, expected: null, candidate: null, input: null}]"
        ).cases
        assert (first.candidate, first.input) == (MISSING, MISSING)
        assert (second.expected, second.candidate, second.input) == (None, None, None)

    def test_values_stay_as_they_are_written(self):
        (case,) = evaluation(
            "cases: [{id: a, candidate: '{}', expected: {country: NO, date: 2024-01-01, code: 0123}}]"
        ).cases
        assert case.expected == {"country": "NO", "date": "2024-01-01", "code": "0123"}
        assert case.candidate == "{}"

    def test_a_number_is_an_id_too(self):
        (case,) = evaluation("cases: [{id: 7, expected: 1}]").cases
        assert case.id == "7"

    @pytest.mark.parametrize("key", ["only_own", "skip_defaults"])
    def test_a_case_may_have_its_own_evaluators(self, key):
        (case,) = evaluation(
            f"cases: [{{id: a, expected: 1, evaluators: [{{type: line_items}}], {key}: true}}]"
        ).cases
        assert [member.name for member in case.evaluators] == ["line_items"]
        assert case.only_own is True

    def test_documents_may_lie_in_files(self, tmp_path):
        (tmp_path / "t.json").write_text('{"total": 1}')
        (tmp_path / "c.txt").write_text("Sure! ```json\n{}\n```")
        (case,) = evaluation(
            "cases: [{id: a, expected_file: t.json, candidate_file: c.txt}]", tmp_path
        ).cases
        assert case.expected == {"total": 1}
        assert case.candidate == "Sure! ```json\n{}\n```"

    def test_a_broken_candidate_is_no_mistake_of_the_file(self, tmp_path):
        (tmp_path / "c.json").write_text('{"total": ')
        (case,) = evaluation(
            "cases: [{id: a, expected: 1, candidate_file: c.json}]", tmp_path
        ).cases
        assert case.candidate == '{"total": '


class TestTargets:
    @pytest.mark.parametrize(
        ("text", "kind", "options"),
        [
            pytest.param("command: [python, x.py]", "command", {"command": ("python", "x.py")}, id="a-command"),
            pytest.param("type: command, command: [x], env: {A: b}", "command", {"env": {"A": "b"}}, id="a-command-by-its-type"),
            pytest.param("python: 'mod:fun'", "python", {"function": "mod:fun"}, id="a-function"),
            pytest.param("type: python, function: 'mod:fun'", "python", {"function": "mod:fun"}, id="a-function-by-its-type"),
            pytest.param("url: 'https://host.test/x', method: PUT", "http", {"url": "https://host.test/x", "method": "PUT"}, id="an-endpoint"),
            pytest.param("type: http, url: 'https://host.test/x', headers: {A: b}", "http", {"headers": {"A": "b"}}, id="an-endpoint-by-its-type"),
        ],
    )  # fmt: skip
    def test_what_produces_candidates(self, text, kind, options):
        target = evaluation(f"{{cases: t.jsonl, target: {{{text}}}}}").target
        assert target is not None
        assert target.type == kind
        assert {key: getattr(target.source, key) for key in options} == options

    def test_patience_has_defaults(self):
        target = evaluation("{cases: t.jsonl, target: {command: [x]}}").target
        assert target is not None
        assert (target.timeout, target.retries, target.concurrency, target.cache) == (
            60,
            2,
            4,
            None,
        )

    def test_patience_can_be_told(self, tmp_path):
        target = evaluation(
            "{cases: t.jsonl, target: {command: [x], timeout: 1.5, retries: 0, concurrency: 1, cache: c}}",
            tmp_path,
        ).target
        assert target is not None
        assert (target.timeout, target.retries, target.concurrency) == (1.5, 0, 1)
        assert target.cache == tmp_path / "c"

    def test_a_program_starts_in_the_folder_of_the_file(self, tmp_path):
        target = evaluation("{cases: t.jsonl, target: {command: [x]}}", tmp_path).target
        assert target.source.cwd == tmp_path


class TestRules:
    def test_rules_may_lie_in_a_file(self, tmp_path):
        (tmp_path / "r.yaml").write_text("{scope: truth, fields: [{path: a, match: fuzzy}]}")
        rules = evaluation("{cases: t.jsonl, rules: r.yaml}", tmp_path).rules
        assert rules.scope is Scope.TRUTH

    def test_rules_may_be_found_by_looking(self):
        assert evaluation("{cases: t.jsonl, rules: auto}").rules.default == Auto()

    def test_who_judges_meaning_is_known_to_the_rules(self):
        spec = evaluation(
            "{cases: t.jsonl, provider: {type: recorded, scores: []}, convention: four_phase,"
            " rules: {fields: [{path: a}]}}"
        )
        assert spec.provider == Recorded(scores=())
        assert spec.rules.default == Auto(provider=Recorded(scores=()))

    def test_a_file_elsewhere_is_read_only_for_someone_who_is_trusted(self, tmp_path):
        (tmp_path / "r.yaml").write_text("fields: [{path: a}]")
        (tmp_path / "evals").mkdir()
        file = tmp_path / "evals" / "x.eval.yaml"
        file.write_text("{cases: t.jsonl, rules: ../r.yaml}")
        assert load_eval(file).rules is not None
        with pytest.raises(ConfigError, match="A file elsewhere"):
            load_eval(file, contained=True)


def test_a_convention_may_have_options():
    spec = evaluation("{cases: t.jsonl, convention: {name: four-phase, rqs_form: complement}}")
    assert spec.convention.name == "four_phase"
    assert spec.convention.counting.rqs_form is RqsForm.COMPLEMENT


@pytest.mark.parametrize(
    "figure",
    [
        pytest.param("macro_f1_by_attribute", id="of-the-run"),
        pytest.param("quality.rqs", id="by-the-way-to-it"),
        pytest.param("attributes.total.recall", id="of-an-attribute-that-data-may-have"),
        pytest.param("evaluators.header.mean_score", id="of-an-evaluator"),
        pytest.param("evaluators.own.errors", id="of-an-evaluator-of-one-case"),
    ],
)
def test_a_gate_is_on_any_figure_of_the_summary(figure):
    spec = evaluation(
        "cases: [{id: a, expected: 1, evaluators: [{name: own, type: line_items}]}]\n"
        "evaluators: [{name: header, type: line_items}]\n"
        f"gates: {{min: {{{figure}: 0.5}}}}"
    )
    assert spec.gates == (Gate(name=figure, limit=0.5),)


class TestWarnings:
    def warnings(self, text, folder=None, **how):
        return [str(warning) for warning in evaluation(text, folder, **how).warnings]

    def test_cases_that_are_not_there(self, tmp_path):
        assert self.warnings("{cases: t.jsonl, candidates: c.jsonl}", tmp_path) == [
            "e.eval.yaml:1:9: cases: there is no t.jsonl here.",
            "e.eval.yaml:1:30: candidates: there is no c.jsonl here.",
        ]

    def test_cases_elsewhere_are_not_looked_for(self, tmp_path):
        (tmp_path / "evals").mkdir()
        assert self.warnings("{cases: ../t.jsonl}", tmp_path / "evals") == []
        assert self.warnings("{cases: /nowhere/t.jsonl}", tmp_path / "evals") == []

    def test_a_name_that_no_file_can_have(self, tmp_path):
        assert "there is no" in self.warnings(f"{{cases: {'x' * 5000}}}", tmp_path)[0]

    def test_nothing_says_what_was_extracted(self):
        (warning,) = self.warnings("cases: [{id: a, expected: 1}]")
        assert warning.startswith("e.eval.yaml:1:8: Nothing says what was extracted.")

    @pytest.mark.parametrize("beside", ["candidates: c.jsonl", "target: {command: [x]}", "name: x"])
    def test_something_does(self, beside):
        candidate = ", candidate: 1" if beside.startswith("name") else ""
        assert (
            self.warnings(f"cases: [{{id: a, expected: 1{candidate}}}]\n{beside}", contained=False)
            == []
        )


CASES = "cases: t.jsonl"
CONVENTIONS = "confusion, field_accuracy, taxonomy, taxonomy_code, four_phase"
TARGETS = "Write {command: [python, extract.py]}, {python: module:function} or {url: https://…}."


@pytest.mark.parametrize(
    ("text", "expected"),
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
def test_a_mistake_is_reported_with_its_location(text, expected):
    found = eval_file_problems(text)
    assert len(found) == len(expected), found
    for line, beginning in zip(found, expected, strict=True):
        assert line.startswith(f"e.yaml:{beginning}"), line


def test_every_mistake_is_told_at_once_in_the_order_of_the_file():
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


def test_a_mistake_in_a_file_that_is_named_is_told_with_the_place_in_it(tmp_path):
    (tmp_path / "r.yaml").write_text("fields:\n  - {path: a, match: fuzy}\n")
    (found,) = eval_file_problems("{cases: t.jsonl, rules: r.yaml}", tmp_path)
    assert found.startswith(f"{tmp_path / 'r.yaml'}:2:22: Invalid match type: fuzy.")
