"""The functions that read untrusted input, each as a function of bytes.

A target may raise only its declared errors; anything else is a bug.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from fieldmark.analyses.triage import ThresholdSet, triage
from fieldmark.data.json_parser import JsonDialect, Role, parse_json
from fieldmark.data.model_text import Parse, parse_model_text
from fieldmark.data.pairing import open_truth
from fieldmark.errors import DataError, FieldmarkError
from fieldmark.evaluators.constraints import Constraint
from fieldmark.evaluators.json_schema import JsonSchema
from fieldmark.judges.judge_protocol import InvalidResponseError, parse_response
from fieldmark.judges.llm.chat import parse_grades, response_text
from fieldmark.judges.llm.client import UnusableResponseError
from fieldmark.rules.config_files import load_file
from fieldmark.rules.rules_file import load_rules
from fieldmark.runs.eval_file import load_eval
from fieldmark.values.dates import parse_formats, read_day
from fieldmark.values.json_text import finite_json, read_document
from fieldmark.values.numbers import NumberFormat, as_number
from fieldmark.values.paths import attribute_of, covers, has_path, parse_path, resolve, without
from fieldmark.values.value_confidences import ConfidenceOptions, ConfidenceReader

__all__ = ["CORPUS", "TARGETS", "Target"]

CORPUS = Path(__file__).parents[1] / "data" / "fuzz"
"""One directory per target with inputs, among them all that failed once."""
DOCUMENT = {"a": [{"b c": 1}, {"": [None, "x"]}], "0": {"*": True}, "total": "1,234.50"}


class Target(NamedTuple):
    """A function of bytes and the errors that it may raise."""

    run: Callable[[bytes], object]
    errors: tuple[type[Exception], ...] = (FieldmarkError,)

    def __call__(self, data: bytes) -> None:
        """Run the function on an input."""
        with suppress(*self.errors):
            self.run(data)


def text_of(data: bytes) -> str:
    """Return text, with lone surrogates for bytes that are not UTF-8."""
    return data.decode("utf-8", "surrogateescape")


def from_file(name: str, load: Callable[[Path], object]) -> Callable[[bytes], object]:
    """Return a function that loads its input from a file with this name."""

    def run(data: bytes) -> object:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / name
            path.write_bytes(data)
            return load(path)

    return run


def read_rows(path: Path) -> None:
    with closing(open_truth(path)) as stream:
        for batch in stream.batches():
            for case in batch:
                finite_json(case.expected)


def read_json(data: bytes) -> None:
    for role in Role:
        finite_json(parse_json(data, role=role))


def read_model_text(data: bytes) -> None:
    for parse in Parse:
        parse_model_text(text_of(data), JsonDialect(role=Role.CANDIDATE), parse)


def read_path(data: bytes) -> None:
    path = parse_path(text_of(data))
    covers(path, path)
    attribute_of(path)
    has_path(DOCUMENT, path)
    resolve(DOCUMENT, path)
    without(DOCUMENT, path)


def read_date(data: bytes) -> None:
    written, _, text = text_of(data).partition("\n")
    read_day(written)
    read_day(text, parse_formats([written]))


def read_number(data: bytes) -> None:
    for number_format in (None, *NumberFormat):
        as_number(text_of(data), number_format)


def read_llm_response(data: bytes) -> None:
    body = parse_json(data, role=Role.CANDIDATE) if b'"choices"' in data else None
    content = response_text(body) if isinstance(body, dict) else text_of(data)
    parse_grades(content, "n", ["a"], reasons=False)


def read_constraint(data: bytes) -> None:
    Constraint(check=text_of(data)).evaluate(DOCUMENT, DOCUMENT)


def read_schema(data: bytes) -> None:
    schema = parse_json(data)
    JsonSchema(schema=schema).evaluate(None, DOCUMENT)  # type: ignore[arg-type]


def read_confidences(data: bytes) -> None:
    document = parse_json(data, role=Role.CANDIDATE)
    for options in (ConfidenceOptions(), ConfidenceOptions(value="a", confidence="b", scale=100)):
        read = ConfidenceReader(options).read(document, document)
        finite_json(read.confidences)


def read_thresholds(data: bytes) -> None:
    try:
        chosen = ThresholdSet.from_dict(read_document(data))
    except ValueError as error:
        raise DataError(str(error)) from None
    assert ThresholdSet.from_dict(chosen.to_dict()) == chosen
    for document in triage([DOCUMENT], chosen):
        document.to_dict()


TARGETS: dict[str, Target] = {
    "confidences": Target(read_confidences),
    "thresholds": Target(read_thresholds),
    "json": Target(read_json),
    "jsonl": Target(from_file("rows.jsonl", read_rows)),
    "csv": Target(from_file("rows.csv", read_rows)),
    "yaml": Target(from_file("file.yaml", load_file)),
    "rules": Target(from_file("rules.yaml", load_rules)),
    "eval": Target(from_file("x.eval.yaml", lambda path: load_eval(path, contained=True))),
    "paths": Target(read_path),
    "dates": Target(read_date),
    "numbers": Target(read_number),
    "model_text": Target(read_model_text),
    "judge_response": Target(
        lambda data: parse_response(data, 0.5, "a"), (FieldmarkError, InvalidResponseError)
    ),
    "llm_response": Target(read_llm_response, (FieldmarkError, UnusableResponseError)),
    "constraints": Target(read_constraint),
    "json_schema": Target(read_schema),
}
