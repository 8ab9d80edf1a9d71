"""The compiled part of alignment touches nothing beyond its arrays, whatever the items are.

It is compiled once more, so that every access is checked, and tried in a process of its own.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sanitizing import CHECKED, PROVING, ROOT, broken, tried

SCRIPT = Path(__file__).with_name("sanitized_items.py")
SOURCE = ROOT / "src/fieldmark/align/_items.c"
TIMES = 20_000 if PROVING else 400
BROKEN = {
    "room-for-all-hashes": ("PyMem_New(Hash, side->number)", "PyMem_New(Hash, side->number - 1)"),
    "room-for-all-partners": ("PyMem_New(Py_ssize_t, side->number)", "PyMem_New(Py_ssize_t, side->number - 1)"),
    "room-for-all-links": ("chains->next = PyMem_New(Py_ssize_t, number)", "chains->next = PyMem_New(Py_ssize_t, number - 1)"),
    "room-for-all-buckets": ("chains->mask = (uint64_t)buckets - 1", "chains->mask = (uint64_t)buckets * 2 - 1"),
    "room-for-all-leaves": ("PyMem_New(Leaf, leaves)", "PyMem_New(Leaf, leaves / 2)"),
    "room-for-all-holders": ("PyMem_New(Holder, leaves)", "PyMem_New(Holder, leaves - 1)"),
    "room-for-all-counts": ("search->counts = PyMem_New(Py_ssize_t, others)", "search->counts = PyMem_New(Py_ssize_t, others - 1)"),
    "room-for-all-touched": ("search->touched = PyMem_New(Py_ssize_t, others)", "search->touched = PyMem_New(Py_ssize_t, others - 1)"),
    "room-for-all-reaches": ("PyMem_New(double, number)", "PyMem_New(double, number - 1)"),
    "how-deep-objects-go": ("levels > 0 && hash_list", "hash_list"),
    "memory-that-ran-out": ("if (cells != NULL) {", "if (1) {"),
}  # fmt: skip
"""Guards, and what takes each of them away."""
COLLIDING = ("return both ^ (both >> 31);", "return both & 0;")

pytestmark = pytest.mark.skipif(not CHECKED, reason="there is no sanitizer")


def test_no_byte_is_touched_beyond_the_end(tmp_path):
    done = tried(SCRIPT, SOURCE, tmp_path, TIMES)
    assert done.returncode == 0, done.stderr[-3000:]
    known, failures = map(int, done.stdout.split())
    assert TIMES // 2 < known <= TIMES
    assert failures > TIMES // 10


@pytest.mark.parametrize("guard", BROKEN if PROVING else ["room-for-all-hashes"])
def test_it_is_seen_when_a_guard_is_gone(tmp_path, guard):
    done = tried(SCRIPT, broken(SOURCE, tmp_path, *BROKEN[guard]), tmp_path, 400)
    assert done.returncode != 0
    assert "Sanitizer" in done.stderr, done.stderr[-3000:]


def test_nothing_depends_on_hashes_that_differ(tmp_path):
    done = tried(SCRIPT, broken(SOURCE, tmp_path, *COLLIDING), tmp_path, TIMES)
    assert done.returncode == 0, done.stderr[-3000:]
