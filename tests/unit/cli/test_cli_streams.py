"""Output to terminals and pipes of Windows."""

from __future__ import annotations

import errno
import os
import sys
from types import SimpleNamespace

import pytest

import fieldmark as fm
from fieldmark.cli import streams
from fieldmark.cli.output import OutputOptions, print_document


class ClosedPipe:
    """A stream that fails as a closed pipe does on Windows."""

    encoding = "utf-8"

    def write(self, _):
        raise OSError(errno.EINVAL, "Invalid argument")


@pytest.mark.parametrize("system", ["nt", "posix"])
def test_closed_pipe_is_no_error_on_windows(monkeypatch, system):
    discarded = []
    monkeypatch.setattr(streams, "os", SimpleNamespace(name=system))
    monkeypatch.setattr(streams, "_discard", discarded.append)
    closed = ClosedPipe()
    if system == "nt":
        streams._write("text", closed)
        assert discarded == [closed]
    else:
        with pytest.raises(OSError, match="Invalid argument"):
            streams._write("text", closed)


@pytest.mark.parametrize(
    ("system", "color", "calls"),
    [("win32", True, [True]), ("win32", False, []), ("linux", True, [])],
)
def test_terminal_of_windows_is_told_to_show_styles(monkeypatch, capsys, system, color, calls):
    asked = []
    colorama = SimpleNamespace(just_fix_windows_console=lambda: asked.append(True))
    monkeypatch.setitem(sys.modules, "colorama", colorama)
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    print_document(fm.score([({"a": 1}, {"a": 1})]), OutputOptions(color=color))
    assert asked == calls
    assert os.linesep in capsys.readouterr().out
