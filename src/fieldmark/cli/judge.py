"""`fieldmark judge`: run a built-in evaluator as a code judge."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import click

from fieldmark.analyses.judge import open_judge
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.help import make_command, option
from fieldmark.cli.streams import print_message, write_stdout
from fieldmark.errors import ConfigError, FieldmarkError, LimitError
from fieldmark.evaluators.base import Score, Status
from fieldmark.model.json import JsonObject
from fieldmark.rules.config_files import load_file, parse_json
from fieldmark.values.json_text import strict_json
from fieldmark.values.records import to_json

_REQUEST_BYTES: Final = 64 << 20


@make_command(
    examples=(
        """fieldmark judge field_accuracy --options '{"fields": [{"path": "total"}]}' \\""",
        "    < request.json",
        "fieldmark judge line_items --options items.yaml < request.json",
        "fieldmark judge field_confusion --lines < requests.jsonl",
    ),
    exit_codes=(ExitCode.TOO_MANY_ERRORS,),
)
@click.argument("name")
@option(
    "--options",
    metavar="JSON|FILE",
    help="Options of the evaluator; overridden by the config of a request.",
)
@option("--lines", is_flag=True, help="Read one request per line until end of input.")
def judge_command(name: str, options: str | None, *, lines: bool) -> int:
    """Answer a code judge request from standard input with the evaluator NAME.

    A request is a JSON object with expected and candidate (or reference_answer and
    candidate_answer) and the options of the evaluator in config. The response contains score,
    hits, misses, reasoning and details. If the case cannot be judged, there is no response and
    the exit code is not 0.
    """
    parsed = None
    if options is not None:
        inline = options.lstrip().startswith("{")
        marked = parse_json(options, file="--options") if inline else load_file(Path(options))
        if not isinstance(marked.value, dict):
            raise ConfigError.of("--options must be an object", marked.location)
        parsed = marked.value
    with open_judge(name, parsed) as judge:
        requests = sys.stdin.buffer
        if lines:
            for line in iter(lambda: requests.readline(_REQUEST_BYTES + 1), b""):
                try:
                    write_stdout(_line(judge(_limited(line))))
                except LimitError:
                    # The rest of the line would be read as another request.
                    raise
                except FieldmarkError as error:
                    print_message(error, prefix="fieldmark: ")
                    write_stdout(_line(to_json(Score.error(str(error)))))
            return ExitCode.OK
        response = judge(_limited(requests.read(_REQUEST_BYTES + 1)))
    if response["status"] == Status.ERROR:
        print_message(response["reasoning"], prefix="fieldmark: ")
        return ExitCode.TOO_MANY_ERRORS
    write_stdout(_line(response))
    return ExitCode.OK


def _line(response: JsonObject) -> bytes:
    return strict_json(response) + b"\n"


def _limited(request: bytes) -> bytes:
    if len(request) > _REQUEST_BYTES:
        message = f"the request exceeds the limit of {_REQUEST_BYTES:,} bytes"
        raise LimitError("document_bytes", message)
    return request
