"""The extension never accesses memory outside its blocks and lines.

It is compiled with the address sanitizer and runs in its own process.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sanitizing import CHECKED, PROVING, ROOT, run_sanitized, without_guard

SCRIPT = Path(__file__).with_name("sanitized_lines.py")
SOURCE = ROOT / "src/fieldmark/model/_lines.c"
BLOCKS = 30_000 if PROVING else 1_500
BROKEN = {
    "end-of-a-string": ("skip_plain(reader); reader->at < reader->end; skip", "skip_plain(reader); reader->at <= reader->end; skip"),
    "end-of-plain-characters": ("while (at < reader->end && *at >= 0x20", "while (*at >= 0x20"),
    "sixteen-characters-at-once": ("while (reader->end - at >= 16) {", "while (reader->end - at >= 15) {"),
    "rest-of-a-code-point": ("|| left < length)", "|| left < length - 1)"),
    "end-of-a-key": ("reader->end - reader->at > field->length\n", "reader->end - reader->at >= field->length\n"),
    "end-of-a-number": ("while (reader->at < reader->end && *reader->at >= '0'", "while (*reader->at >= '0'"),
    "end-of-a-literal": ("reader->end - reader->at < length ||", ""),
    "end-of-an-escape": ("reader->end - reader->at < 2 || strchr", "strchr"),
    "end-of-whitespace": ("while (reader->at < reader->end\n           && (*reader", "while ((*reader"),
    "positions-of-a-line": ("PyObject_NewVar(Line, &LineType, places)", "PyObject_NewVar(Line, &LineType, places - 1)"),
}  # fmt: skip
"""Bounds checks, each with an edit that removes it."""

pytestmark = pytest.mark.skipif(not CHECKED, reason="the address sanitizer requires Linux")


def test_no_access_out_of_bounds(tmp_path):
    done = run_sanitized(SCRIPT, SOURCE, tmp_path, BLOCKS)
    assert done.returncode == 0, done.stderr[-3000:]
    accepted, refused = map(int, done.stdout.split())
    assert accepted + refused == 2 * BLOCKS


@pytest.mark.parametrize("guard", BROKEN if PROVING else ["rest-of-a-code-point"])
def test_missing_bounds_check_is_detected(tmp_path, guard):
    done = run_sanitized(SCRIPT, without_guard(SOURCE, tmp_path, *BROKEN[guard]), tmp_path, 1_500)
    assert done.returncode != 0
    assert "AddressSanitizer" in done.stderr, done.stderr[-3000:]
