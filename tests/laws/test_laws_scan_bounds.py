"""The scanner extension never accesses memory outside its blocks.

It is compiled with the address sanitizer and runs in its own process.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sanitizing import CHECKED, PROVING, ROOT, run_sanitized, without_guard

SCRIPT = Path(__file__).with_name("sanitized_scan.py")
SOURCE = ROOT / "src/fieldmark/data/_scan.c"
TIMES = 5_000 if PROVING else 200
BROKEN = {
    "end-of-a-string": ("while (at < end && *at != '\"')", "while (*at != '\"')"),
    "end-of-digits": ("while (at < end && *at >= '0'", "while (*at >= '0'"),
    "end-of-a-block": ("    while (at < end) {", "    while (at <= end) {"),
    "end-of-a-line": ("(size_t)(end - at)", "(size_t)(end - at + 1)"),
}
"""Bounds checks, each with an edit that removes it."""

pytestmark = pytest.mark.skipif(not CHECKED, reason="the address sanitizer requires Linux")


def test_no_access_out_of_bounds(tmp_path):
    done = run_sanitized(SCRIPT, SOURCE, tmp_path, TIMES)
    assert done.returncode == 0, done.stderr[-3000:]
    assert TIMES < int(done.stdout) <= 3 * TIMES


@pytest.mark.parametrize("guard", BROKEN if PROVING else ["end-of-a-string"])
def test_missing_bounds_check_is_detected(tmp_path, guard):
    done = run_sanitized(SCRIPT, without_guard(SOURCE, tmp_path, *BROKEN[guard]), tmp_path, TIMES)
    assert done.returncode != 0
    assert "AddressSanitizer" in done.stderr, done.stderr[-3000:]
