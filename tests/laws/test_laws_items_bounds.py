"""The C functions of alignment never access memory out of bounds, for any items.

They are recompiled with the address sanitizer and run in a separate process.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sanitizing import CHECKED, PROVING, ROOT, run_sanitized, without_guard

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
    "nesting-limit": ("levels > 0 && hash_list", "hash_list"),
    "failed-allocation": ("if (cells != NULL) {", "if (1) {"),
}  # fmt: skip
"""Bounds checks, and the replacement that removes each of them."""
COLLIDING = ("return both ^ (both >> 31);", "return both & 0;")

pytestmark = pytest.mark.skipif(not CHECKED, reason="no sanitizer")


def test_no_access_out_of_bounds(tmp_path):
    done = run_sanitized(SCRIPT, SOURCE, tmp_path, TIMES)
    assert done.returncode == 0, done.stderr[-3000:]
    known, failures = map(int, done.stdout.split())
    assert TIMES // 2 < known <= TIMES
    assert failures > TIMES // 10


@pytest.mark.parametrize("guard", BROKEN if PROVING else ["room-for-all-hashes"])
def test_removed_bounds_check_is_detected(tmp_path, guard):
    done = run_sanitized(SCRIPT, without_guard(SOURCE, tmp_path, *BROKEN[guard]), tmp_path, 400)
    assert done.returncode != 0
    assert "Sanitizer" in done.stderr, done.stderr[-3000:]


def test_result_does_not_depend_on_hash_seeds(tmp_path):
    done = run_sanitized(SCRIPT, without_guard(SOURCE, tmp_path, *COLLIDING), tmp_path, TIMES)
    assert done.returncode == 0, done.stderr[-3000:]
