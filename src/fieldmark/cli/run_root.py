"""Where commands find runs that are named by their ids."""

from __future__ import annotations

from pathlib import Path

import click

from fieldmark.api.runs import ROOT

__all__ = ["run_root"]

run_root = click.option(
    "--root",
    type=click.Path(path_type=Path),
    default=Path(ROOT),
    show_default=True,
    metavar="DIR",
    help="Where runs are looked for by id.",
)
