"""The compiled look at bytes touches none beyond the end, whatever the bytes are.

It is compiled once more, so that every access is checked, and tried in a process of its own.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sanitizing import CHECKED, PROVING, ROOT, broken, tried

SCRIPT = Path(__file__).with_name("sanitized_scan.py")
SOURCE = ROOT / "src/fieldmark/data/_scan.c"
TIMES = 5_000 if PROVING else 200
BROKEN = {
    "the-end-of-a-text": ("while (at < end && *at != '\"')", "while (*at != '\"')"),
    "the-end-of-digits": ("while (at < end && *at >= '0'", "while (*at >= '0'"),
    "the-end-of-a-block": ("    while (at < end) {", "    while (at <= end) {"),
    "the-end-of-a-line": ("(size_t)(end - at)", "(size_t)(end - at + 1)"),
}
"""Guards, and what takes each of them away."""

pytestmark = pytest.mark.skipif(not CHECKED, reason="there is no sanitizer")


def test_no_byte_is_touched_beyond_the_end(tmp_path):
    done = tried(SCRIPT, SOURCE, tmp_path, TIMES)
    assert done.returncode == 0, done.stderr[-3000:]
    assert TIMES < int(done.stdout) <= 3 * TIMES


@pytest.mark.parametrize("guard", BROKEN if PROVING else ["the-end-of-a-text"])
def test_it_is_seen_when_a_guard_is_gone(tmp_path, guard):
    done = tried(SCRIPT, broken(SOURCE, tmp_path, *BROKEN[guard]), tmp_path, TIMES)
    assert done.returncode != 0
    assert "AddressSanitizer" in done.stderr, done.stderr[-3000:]
