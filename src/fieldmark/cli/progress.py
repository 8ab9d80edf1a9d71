"""Progress on standard error: a bar on a terminal, otherwise a line every few seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from fieldmark.cli.output import OutputOptions
from fieldmark.cli.streams import print_message
from fieldmark.runs.session import Progress
from fieldmark.values.text import plural

_BAR_AFTER_SECONDS: Final = 1.0
_LINE_EVERY_SECONDS: Final = 10.0


@contextmanager
def show_progress(output: OutputOptions) -> Iterator[Progress | None]:
    """Yield a callback that shows progress, or None if the command is quiet."""
    if output.quiet:
        yield None
    elif sys.stderr is not None and sys.stderr.isatty() and output.allows_color:
        with _bar() as progress:
            yield progress
    else:
        yield _lines()


def _lines() -> Progress:
    last = time.monotonic()

    def print_line(done: int, read: int, total: int | None) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _LINE_EVERY_SECONDS:
            last = now
            share = f", {read / total:.0%} read" if total else ""
            print_message(f"{plural(done, 'case')}{share}")

    return print_line


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

    def update(done: int, read: int, total: int | None) -> None:
        elapsed = time.monotonic() - started
        if elapsed < _BAR_AFTER_SECONDS:
            return
        bar.start()
        share = 100 * read / total if total else None
        bar.update(task, completed=share or 0, cases=done, rate=done / elapsed)

    try:
        yield update
    finally:
        bar.stop()
