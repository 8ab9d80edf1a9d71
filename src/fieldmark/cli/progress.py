"""Progress on standard error: a bar on a terminal, else a plain line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from fieldmark.api.watching import Progress
from fieldmark.cli.show import has_color
from fieldmark.cli.telling import tell

__all__ = ["progress_for"]

_PATIENCE: Final = 1.0
"""Seconds before a bar appears: short runs need none."""
_EVERY: Final = 10.0
"""Seconds between two plain lines."""


@contextmanager
def progress_for(*, quiet: bool, color: bool) -> Iterator[Progress | None]:
    """What to call as a run goes on; nothing if it should be quiet."""
    if quiet:
        yield None
    elif sys.stderr is not None and sys.stderr.isatty() and has_color(wanted=color):
        with _bar() as progress:
            yield progress
    else:
        yield _lines()


def _lines() -> Progress:
    last = time.monotonic()

    def say(done: int, read: int, total: int | None) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _EVERY:
            last = now
            share = f", {read / total:.0%} read" if total else ""
            tell(f"{done} cases{share}")

    return say


@contextmanager
def _bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    started = time.monotonic()
    console = Console(stderr=True)
    bar = Bar(
        TextColumn("{task.completed:>3.0f}%"),
        BarColumn(),
        TextColumn("{task.fields[cases]:,} cases, {task.fields[rate]:,.0f}/s"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    task = bar.add_task("", total=100, cases=0, rate=0.0)

    def move(done: int, read: int, total: int | None) -> None:
        passed = time.monotonic() - started
        if passed < _PATIENCE:
            return
        bar.start()
        share = 100 * read / total if total else None
        bar.update(task, completed=share or 0, cases=done, rate=done / passed)

    try:
        yield move
    finally:
        bar.stop()
