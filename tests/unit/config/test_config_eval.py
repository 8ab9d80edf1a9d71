"""Eval files: what can stand in them, and what it means."""

from __future__ import annotations

from pathlib import Path

import pytest
from reading_evals import evaluation

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
    def told(self, text, folder=None, **how):
        return [str(warning) for warning in evaluation(text, folder, **how).warnings]

    def test_cases_that_are_not_there(self, tmp_path):
        assert self.told("{cases: t.jsonl, candidates: c.jsonl}", tmp_path) == [
            "e.eval.yaml:1:9: cases: there is no t.jsonl here.",
            "e.eval.yaml:1:30: candidates: there is no c.jsonl here.",
        ]

    def test_cases_elsewhere_are_not_looked_for(self, tmp_path):
        (tmp_path / "evals").mkdir()
        assert self.told("{cases: ../t.jsonl}", tmp_path / "evals") == []
        assert self.told("{cases: /nowhere/t.jsonl}", tmp_path / "evals") == []

    def test_a_name_that_no_file_can_have(self, tmp_path):
        assert "there is no" in self.told(f"{{cases: {'x' * 5000}}}", tmp_path)[0]

    def test_nothing_says_what_was_extracted(self):
        (told,) = self.told("cases: [{id: a, expected: 1}]")
        assert told.startswith("e.eval.yaml:1:8: Nothing says what was extracted.")

    @pytest.mark.parametrize("beside", ["candidates: c.jsonl", "target: {command: [x]}", "name: x"])
    def test_something_does(self, beside):
        candidate = ", candidate: 1" if beside.startswith("name") else ""
        assert (
            self.told(f"cases: [{{id: a, expected: 1{candidate}}}]\n{beside}", contained=False)
            == []
        )
