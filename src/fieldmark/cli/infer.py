"""`fieldmark infer`: rules proposed from the data."""

from __future__ import annotations

from pathlib import Path

import click

from fieldmark.api.infer import infer
from fieldmark.cli.options import input_options, refuse_two_streams
from fieldmark.cli.telling import put, tell
from fieldmark.data.inputs import Inputs
from fieldmark.errors import ConfigError, StorageError

__all__ = ["command"]

_EPILOG = """\b
Examples:
  fieldmark infer truth.jsonl > rules.yaml
  zcat truth.jsonl.gz | fieldmark infer - > rules.yaml
  fieldmark infer truth.jsonl candidate.jsonl --out rules.yaml
  fieldmark score truth.jsonl candidate.jsonl --rules rules.yaml
"""


@click.command(epilog=_EPILOG)
@click.argument("truth")
@click.argument("candidate", required=False)
@input_options
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the rules there instead of printing them.",
)
@click.option("--force", is_flag=True, help="Let --out write over a file that exists.")
def command(
    truth: str, candidate: str | None, *, inputs: Inputs, out: Path | None, force: bool
) -> int:
    """Propose a rules file for TRUTH, with a reason for every choice.

    With CANDIDATE, differences between the two sides are taken into account. What is proposed is
    a start: read it, and change what you know better.
    """
    refuse_two_streams(truth, candidate)
    if out is not None and out.is_file() and not force:
        raise ConfigError.of(
            f"{out} exists already. Name a new file, or write over it with --force."
        )
    text = infer(truth, candidate, inputs=inputs)
    if out is None:
        put(text.encode())
        return 0
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"cannot write {out}: {error.strerror}") from error
    tell(f"rules written to {out}")
    return 0
