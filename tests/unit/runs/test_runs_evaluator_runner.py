"""Evaluators with metrics over all cases."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass, replace
from typing import ClassVar

import psutil
import pytest

import fieldmark as fm
from fieldmark.cli.exit_codes import ExitCode, run_exit_code
from fieldmark.evaluators.base import ConfiguredEvaluator, Score, Status
from fieldmark.evaluators.composite import Composite
from fieldmark.evaluators.json_schema import JsonSchema
from fieldmark.model.case import Case, CaseInput, Verdict
from fieldmark.model.json import MISSING
from fieldmark.runs.evaluator_runner import open_evaluators, open_schema_process
from fieldmark.runs.warnings import DocumentPaths
from waiting import TIMEOUT, eventually


class Counting:
    """Counts cases; raises an exception for one expected value."""

    def __init__(self):
        self.seen = []

    def add(self, expected, candidate, *, unreadable=False):
        if expected == "crash":
            raise RuntimeError("no")
        self.seen.append((expected, candidate, unreadable))
        return Score(score=1.0, verdict=Verdict.PASS)

    def merge(self, other):
        self.seen += other.seen

    def summary(self):
        return {"seen": len(self.seen), "unreadable": sum(item[2] for item in self.seen)}


@dataclass(frozen=True, kw_only=True)
class Gathers:
    name: ClassVar[str] = "gathers"

    def evaluate(self, expected, candidate, *, unreadable=False):
        return self.start().add(expected, candidate, unreadable=unreadable)

    def start(self):
        return Counting()


def member(name, evaluator=None):
    return ConfiguredEvaluator(name=name, type="gathers", evaluator=evaluator or Gathers())


CASES = [Case("a", 1, 1), Case("b", 2, 2, CaseInput.PARSE_ERROR)]


def test_accumulators_see_each_case_once():
    inner = Composite(evaluators=(member("inner"),))
    with open_evaluators([member("one"), member("all", inner)]) as runner:
        results = [runner.score(case) for case in CASES]
        expected = {"seen": 2, "unreadable": 1}
        assert runner.metrics() == {"one": expected, "all": {"inner": expected}}
    assert [[item.score.score for item in row] for row in results] == [[1.0, 1.0]] * 2


def test_stored_cases_are_accumulated_without_scoring():
    with open_evaluators([member("one")]) as runner:
        runner.accumulate(CASES)
        runner.score(Case("c", 3, 3))
        assert runner.metrics()["one"]["seen"] == 3


def test_case_with_own_evaluators_is_accumulated_only_there():
    with open_evaluators([member("one")], {"b": [member("own")]}) as runner:
        [runner.score(case) for case in CASES]
        assert {name: item["seen"] for name, item in runner.metrics().items()} == {
            "one": 1,
            "own": 1,
        }


def test_exception_in_an_evaluator_is_an_error_of_its_case():
    with open_evaluators([member("one")]) as runner:
        (result,) = runner.score(Case("x", "crash", 1))
        runner.accumulate([Case("x", "crash", 1)])
        assert result.score.status is Status.ERROR
        assert runner.metrics()["one"]["seen"] == 0


def test_evaluators_without_accumulators_have_no_metrics():
    with open_evaluators([]) as runner:
        assert not runner.has_accumulators
        assert runner.metrics() == {}


# --- evaluators without existing paths ------------------------------------------------------------

DOCUMENT = {"total": 5, "lines": [{"amount": 1}], "box": [0, 0, 1, 1]}


def evaluated(*evaluators, expected=DOCUMENT, candidate=DOCUMENT):
    """Run an eval file with one case."""
    case = {"id": "one", "expected": expected, "candidate": candidate}
    return fm.evaluate({"cases": [case], "evaluators": list(evaluators)})


@pytest.mark.parametrize(
    ("evaluator", "error"),
    [
        pytest.param(
            {"type": "field_accuracy", "fields": [{"path": "totla"}, {"path": "zzz"}]},
            "'totla' (did you mean 'total'?), 'zzz'", id="field-accuracy",
        ),
        pytest.param(
            {"type": "field_confusion", "fields": [{"path": "lines[*].amonut"}]},
            "'lines[*].amonut' (did you mean 'lines[].amount'?)", id="field-confusion",
        ),
        pytest.param({"type": "line_items", "path": "linez"}, "'linez' (did you mean 'lines'?)", id="list"),
        pytest.param({"type": "line_items", "path": "lines", "match_fields": ["amount"], "score_fields": ["amonut"]},
                     "'lines[*].amonut' (did you mean 'lines[].amount'?)", id="score-fields"),
        pytest.param({"type": "iou_score", "path": "boxx"}, "'boxx' (did you mean 'box'?)", id="shape"),
        pytest.param({"type": "constraints", "rules": ["nett * 2 == totla"]}, "'nett', 'totla' (did you mean 'total'?)", id="constraints"),
        pytest.param({"type": "field_accuracy", "fields": [{"path": "totla"}, {"path": "total"}]}, "", id="one-path-exists"),
        pytest.param({"type": "line_items", "path": "lines", "match_fields": ["amount"]}, "", id="items-exist"),
        pytest.param({"type": "constraints", "rules": ["all(lines[], amount > 0)"]}, "", id="item-fields-exist"),
        pytest.param({"type": "constraints", "rules": ["discount missing"]}, "", id="absence-is-checked"),
        pytest.param({"type": "extraction_metrics"}, "", id="whole-documents"),
    ],
)  # fmt: skip
def test_evaluator_without_existing_paths_fails_the_run(evaluator, error):
    run = evaluated({"name": "own", **evaluator})
    summary = run.summary.evaluators["own"]
    assert summary.error == (f"no document has any of its paths: {error}" if error else "")
    assert run_exit_code(run) is (ExitCode.TOO_MANY_ERRORS if error else ExitCode.OK)
    assert ("error" in run.to_dict()["evaluators"]["own"]) is bool(error)
    assert ("error: own" in repr(run)) is bool(error)


def test_inner_evaluator_without_existing_paths_fails_the_run():
    inner = {"name": "a", "type": "field_accuracy", "fields": [{"path": "totla"}]}
    run = evaluated({"name": "all", "type": "composite", "evaluators": [inner]})
    assert run.summary.evaluators["all"].error.startswith("a: no document has any of its paths")


def test_one_missing_path_is_a_warning_with_the_nearest_path_of_the_documents():
    fields = [{"path": "totla"}, {"path": "box"}]
    run = evaluated({"name": "own", "type": "field_accuracy", "fields": fields})
    assert next(text for text in run.summary.warnings if "totla" in text).endswith(
        "no document has 'totla'; did you mean 'total'?"
    )


def test_list_without_scored_fields_is_not_reported_as_missing():
    items = {
        "name": "own",
        "type": "line_items",
        "path": "lines",
        "score_fields": ["sku", "amount"],
    }
    run = evaluated(items, candidate={})
    assert not any("'lines'" in text for text in run.summary.warnings)
    assert run.mean_score == 0.0


def test_paths_are_found_in_any_document_of_the_run():
    paths = DocumentPaths(["a['b'].c", "l[0].x", "l[*].y", "**.z", "none", "a..b"])
    paths.add(Case("1", {"a": {"b": {"c": None}}}, {"l": [{"x": 1}]}))
    paths.add(Case("2", {"l": [{}, {"y": []}]}, MISSING))
    paths.add(Case("3", {}, {"deep": [{"er": {"z": 0}}]}))
    missing = [
        path
        for path in ("a['b'].c", "l[0].x", "l[*].y", "**.z", "none", "a..b")
        if paths.lacks(path)
    ]
    assert missing == ["none", "a..b"]


# --- cases without a ground truth, and errors as zero ---------------------------------------------


def test_case_without_ground_truth_is_an_error_of_evaluators_that_need_one():
    field = {"name": "field", "type": "field_accuracy", "fields": [{"path": "total"}]}
    schema = {"name": "schema", "type": "json_schema", "schema": {}}
    run = evaluated(field, schema, expected=None)
    assert (run.summary.evaluators["field"].errors, run.summary.evaluators["schema"].errors) == (
        1,
        0,
    )
    assert run_exit_code(run) is ExitCode.TOO_MANY_ERRORS


@pytest.mark.parametrize(
    ("option", "score", "errors"),
    [
        pytest.param({"on_error": "zero"}, 0.0, 1, id="zero"),
        pytest.param({}, None, 1, id="undefined"),
    ],
)
@pytest.mark.parametrize(
    "evaluator",
    [
        pytest.param({"type": "code_judge", "script": ["false"]}, id="code-judge"),
        pytest.param(
            {
                "type": "field_accuracy",
                "fields": [{"path": "a", "match": "semantic", "provider": {"type": "recorded", "scores": {}}}],
            },
            id="failed-comparison",
        ),
    ],
)  # fmt: skip
def test_failed_evaluation_scores_zero_on_request(evaluator, option, score, errors):
    own = {"name": "own", **evaluator, **option}
    run = evaluated(own, expected={"a": "x y"}, candidate={"a": "z w"})
    assert (run.mean_score, run.summary.cases.errors) == (score, errors)


# --- validation in a process with a time limit; these tests start real processes ------------------

DOUBLING = {"items": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}, "not": {"const": 1}}
"""A schema that is applied twice as often at each level of a document."""


def nested(levels):
    document = []
    for _ in range(levels):
        document = [document]
    return document


def children():
    return psutil.Process().children(recursive=True)


@pytest.mark.parametrize(
    ("options", "document"),
    [
        pytest.param({}, nested(5), id="valid"),
        pytest.param({}, 1, id="invalid"),
        pytest.param({"draft": "draft7", "formats": False}, [1], id="options"),
        pytest.param({"schema": {"items": False}, "max_errors": 2}, [1, 2, 3], id="more-errors-than-shown"),
        pytest.param({"schema": {"maxLength": 1}}, "\ud800x" * 1_000, id="long-message-and-half-character"),
        pytest.param({"schema": {"type": "string"}}, 10**4_000, id="long-integer"),
        pytest.param({"schema": {"pattern": r"(x+x+)+y(?!a)"}}, "x" * 40, id="failure"),
    ],
)  # fmt: skip
def test_process_finds_the_same_errors(options, document):
    evaluator = JsonSchema(**{"schema": DOUBLING, "timeout": TIMEOUT, **options})
    with open_schema_process(evaluator) as run:
        assert run(document) == evaluator.validate(document)
        assert run(document) == evaluator.validate(document)


def test_no_process_is_started_before_the_first_document():
    before = children()
    with open_schema_process(JsonSchema(schema=DOUBLING)):
        assert children() == before


def test_timeout_is_a_failure_and_the_next_document_gets_a_new_process():
    evaluator = JsonSchema(schema=DOUBLING, timeout=TIMEOUT)
    before = children()
    with open_schema_process(evaluator) as run:
        assert run([]).failure == ""
        first = [process for process in children() if process not in before]
    with open_schema_process(replace(evaluator, timeout=0.5)) as run:
        late = run(nested(199))
        assert late.failure == "timeout: validation exceeded the time limit of 0.5 s"
        assert late.errors == ()
        assert [process for process in children() if process not in before] == []
    assert len(first) == 1
    assert not first[0].is_running()


def test_document_after_a_killed_process_is_validated_by_a_new_one():
    before = children()
    with open_schema_process(JsonSchema(schema=DOUBLING, timeout=TIMEOUT)) as run:
        assert run([]).total == 0
        (process,) = [item for item in children() if item not in before]
        process.kill()
        assert eventually(lambda: process.status() == psutil.STATUS_ZOMBIE)
        assert run(1).total == 1


PARENT = f"""
import sys
from fieldmark.evaluators.json_schema import JsonSchema
from fieldmark.runs.evaluator_runner import open_schema_process
document = []
for _ in range(199):
    document = [document]
with open_schema_process(JsonSchema(schema={DOUBLING!r}, timeout=100_000)) as run:
    run([])
    print("started", flush=True)
    run(document)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills the children of a process")
def test_process_ends_with_its_parent_even_if_that_is_killed():
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE)
    try:
        assert parent.stdout.readline() == b"started\n"
        (process,) = psutil.Process(parent.pid).children()
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
        assert eventually(
            lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
        )
    finally:
        parent.kill()
        parent.communicate()
