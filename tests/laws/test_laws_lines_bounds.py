"""The compiled part touches no byte beyond its blocks and lines, whatever the bytes are.

It is compiled once more, so that every access is checked, and tried in a process of its own.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sanitizing import CHECKED, PROVING, ROOT, broken, tried

SCRIPT = Path(__file__).with_name("sanitized_lines.py")
SOURCE = ROOT / "src/fieldmark/model/_lines.c"
BLOCKS = 30_000 if PROVING else 1_500
BROKEN = {
    "the-end-of-a-text": ("skip_plain(reader); reader->at < reader->end; skip", "skip_plain(reader); reader->at <= reader->end; skip"),
    "the-end-of-plain-letters": ("while (at < reader->end && *at >= 0x20", "while (*at >= 0x20"),
    "sixteen-letters-at-once": ("while (reader->end - at >= 16) {", "while (reader->end - at >= 15) {"),
    "the-rest-of-a-letter": ("|| left < length)", "|| left < length - 1)"),
    "the-end-of-a-key": ("reader->end - reader->at > field->length\n", "reader->end - reader->at >= field->length\n"),
    "the-end-of-a-number": ("while (reader->at < reader->end && *reader->at >= '0'", "while (*reader->at >= '0'"),
    "the-end-of-a-word": ("reader->end - reader->at < length ||", ""),
    "the-end-of-an-escape": ("reader->end - reader->at < 2 || strchr", "strchr"),
    "the-end-of-blanks": ("while (reader->at < reader->end\n           && (*reader", "while ((*reader"),
    "the-places-of-a-line": ("PyObject_NewVar(Line, &LineType, places)", "PyObject_NewVar(Line, &LineType, places - 1)"),
}  # fmt: skip
"""Guards, and what takes each of them away."""

pytestmark = pytest.mark.skipif(not CHECKED, reason="there is no sanitizer")


def test_no_byte_is_touched_beyond_the_end(tmp_path):
    done = tried(SCRIPT, SOURCE, tmp_path, BLOCKS)
    assert done.returncode == 0, done.stderr[-3000:]
    accepted, refused = map(int, done.stdout.split())
    assert accepted + refused == 2 * BLOCKS


@pytest.mark.parametrize("guard", BROKEN if PROVING else ["the-rest-of-a-letter"])
def test_it_is_seen_when_a_guard_is_gone(tmp_path, guard):
    done = tried(SCRIPT, broken(SOURCE, tmp_path, *BROKEN[guard]), tmp_path, 1_500)
    assert done.returncode != 0
    assert "AddressSanitizer" in done.stderr, done.stderr[-3000:]
