"""`fieldmark judge`: answer as a code judge with a built-in evaluator."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final

import click

from fieldmark.api.judge import open_judge
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.output import print_message, write_stdout
from fieldmark.config.files import load_file
from fieldmark.config.json_parser import parse_json
from fieldmark.errors import ConfigError, FieldmarkError, LimitError
from fieldmark.evaluators.base import Score, Status
from fieldmark.model.json import JsonObject
from fieldmark.values.json_text import strict_json

__all__ = ["command"]

_EPILOG = """\b
Examples:
  fieldmark judge field_accuracy --options '{"fields": [{"path": "total"}]}' < request.json
  fieldmark judge line_items --options items.yaml < request.json
  fieldmark judge field_confusion --lines < requests.jsonl
"""
_REQUEST_BYTES: Final = 64 << 20


@click.command(epilog=_EPILOG)
@click.argument("name")
@click.option(
    "--options",
    metavar="JSON|FILE",
    help="The evaluator's options, as an eval file has them. The config of a request wins.",
)
@click.option("--lines", is_flag=True, help="Answer one request a line until there are no more.")
def command(name: str, options: str | None, *, lines: bool) -> int:
    """Answer a code judge's request on standard input with the evaluator NAME.

    The request is one JSON object with expected and candidate (or reference_answer and
    candidate_answer) and the evaluator's options in config. The reply has score, hits, misses,
    reasoning and details. What cannot be judged ends without a reply and with an exit code.
    """
    parsed = None
    if options is not None:
        inline = options.lstrip().startswith("{")
        marked = parse_json(options, file="--options") if inline else load_file(Path(options))
        if not isinstance(marked.value, dict):
            raise ConfigError.of("The options of an evaluator must be an object.", marked.location)
        parsed = marked.value
    with open_judge(name, parsed) as judge:
        if lines:
            return _answer_lines(sys.stdin.buffer, judge)
        reply = judge(_limited(sys.stdin.buffer.read(_REQUEST_BYTES + 1)))
    if reply["status"] == Status.ERROR:
        print_message(reply["reasoning"], prefix="fieldmark: ")
        return ExitCode.TOO_MANY_ERRORS
    write_stdout(_line(reply))
    return ExitCode.OK


def _answer_lines(requests: BinaryIO, judge: Callable[[bytes], JsonObject]) -> int:
    """Answer every line; one that cannot be judged gets a reply without a score."""
    for line in iter(lambda: requests.readline(_REQUEST_BYTES + 1), b""):
        try:
            write_stdout(_line(judge(_limited(line))))
        except LimitError:
            # The rest of that line would look like a request of its own.
            raise
        except FieldmarkError as error:
            print_message(error, prefix="fieldmark: ")
            write_stdout(_line(Score.error(str(error)).to_dict()))
    return ExitCode.OK


def _line(reply: JsonObject) -> bytes:
    return strict_json(reply) + b"\n"


def _limited(request: bytes) -> bytes:
    if len(request) > _REQUEST_BYTES:
        message = f"the request is larger than {_REQUEST_BYTES:,} bytes"
        raise LimitError("document_bytes", message)
    return request
