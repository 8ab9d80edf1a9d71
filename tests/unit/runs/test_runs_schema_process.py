"""Validation in a process with a time limit; these tests start real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace

import psutil
import pytest

from fieldmark.evaluators.json_schema import JsonSchema
from fieldmark.runs.evaluator_runner import open_schema_process
from waiting import TIMEOUT, eventually

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
        first = [each for each in children() if each not in before]
    with open_schema_process(replace(evaluator, timeout=0.5)) as run:
        late = run(nested(199))
        assert late.failure == "timeout: validation exceeded the time limit of 0.5 s"
        assert late.errors == ()
        assert [each for each in children() if each not in before] == []
    assert len(first) == 1
    assert not first[0].is_running()


def test_document_after_a_killed_process_is_validated_by_a_new_one():
    before = children()
    with open_schema_process(JsonSchema(schema=DOUBLING, timeout=TIMEOUT)) as run:
        assert run([]).total == 0
        (process,) = [each for each in children() if each not in before]
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
