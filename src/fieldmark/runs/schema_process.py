"""Validates documents against JSON Schemas in a process with a time limit.

The validator does not respond to signals or to other threads until it has finished. Only the end
of its process ends it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from fieldmark.evaluators.json_schema import (
    JsonSchema,
    SchemaError,
    SchemaErrors,
    SchemaRunner,
)
from fieldmark.judges.judge_protocol import encode_request
from fieldmark.judges.managed_process import ProcessFailure, ProcessGroup
from fieldmark.judges.process_pool import ProcessPool
from fieldmark.judges.process_tree import end_with_parent
from fieldmark.judges.program import MEGABYTE, ProcessLimits, Program
from fieldmark.model.json import JsonObject, JsonValue

_INPUT_BYTES: Final = 1024 * MEGABYTE
_MEMORY_BYTES: Final = 4096 * MEGABYTE


@contextmanager
def open_schema_process(evaluator: JsonSchema) -> Iterator[SchemaRunner]:
    """Return a runner for one evaluator; its process starts with the first document.

    A process that exceeds the time limit is killed and replaced. Leaving the context kills it.
    """
    options: JsonObject = {
        "schema": evaluator.schema,
        "draft": evaluator.draft,
        "formats": evaluator.formats,
        "max_errors": evaluator.max_errors,
    }
    # The schema is a string in each request, so that it is parsed only once per process.
    encoded = encode_request(options).decode("ascii")
    limits = ProcessLimits(
        seconds=evaluator.timeout,
        input_bytes=_INPUT_BYTES,
        memory_bytes=_MEMORY_BYTES,
        long_lived=True,
    )
    argv = (sys.executable, "-P", "-c", f"from {__name__} import answer; answer({os.getpid()})")
    variables = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    program = Program.from_options(argv, variables, None, limits)
    overdue = f"timeout: validation exceeded the time limit of {evaluator.timeout:g} s"

    def run(document: JsonValue) -> SchemaErrors:
        result = pool.request(encode_request({"options": encoded, "document": document}))
        if result.failure is not None:
            timeout = result.failure is ProcessFailure.TIMEOUT
            return SchemaErrors(failure=overdue if timeout else result.reason)
        errors, total, failure = json.loads(result.stdout)
        return SchemaErrors([SchemaError(*each) for each in errors], total, failure)

    with ProcessGroup() as group, ProcessPool(program, 1, group) as pool:
        yield run


def answer(parent: int) -> None:
    """Validate the document of each line of input; this is the program that a runner starts."""
    end_with_parent(parent)
    evaluators: dict[str, JsonSchema] = {}
    for line in sys.stdin.buffer:
        request = json.loads(line)
        options = request["options"]
        if options not in evaluators:
            evaluators[options] = JsonSchema(**json.loads(options))
        errors = evaluators[options].validate(request["document"])
        sys.stdout.write(json.dumps(errors) + "\n")
        sys.stdout.flush()
