"""Runs that stop after cases were compared, and before their rows are written."""

from __future__ import annotations

from contextlib import contextmanager
from unittest.mock import patch

import pytest

from fieldmark.runs.run_directory import RunDirectory


class InterruptedRunError(Exception):
    """Stops a run."""


@contextmanager
def interrupted_at_segment(number):
    """Stop a run before it writes a segment, counted from 1; it is an error if it does not."""
    append, calls = RunDirectory.append, []

    def interrupt(directory, *rows):
        calls.append(rows)
        if len(calls) == number:
            raise InterruptedRunError
        append(directory, *rows)

    with pytest.raises(InterruptedRunError), patch.object(RunDirectory, "append", interrupt):
        yield
