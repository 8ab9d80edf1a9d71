"""The kernel never accesses memory out of bounds, for any documents.

It is compiled with the address and undefined behavior sanitizers and runs in its own process.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from proving import PROVING
from sanitizing import CHECKED, ROOT, build_hook, run_sanitized, without_guard

SCRIPT = Path(__file__).with_name("sanitized_kernel.py")
SOURCES = ROOT / "src/fieldmark/model/kernel"
TIMES = 3_000 if PROVING else 60
BROKEN = {
    "end-of-a-string": ("while (reader->at < reader->end) {\n        Byte byte", "while (1) {\n        Byte byte"),
    "end-of-blanks": ("while (reader->at < reader->end && *reader->at <= ' '", "while (*reader->at <= ' '"),
    "end-of-a-number": ("for (; at < end && (Byte)(*at - '0') < 10; at++)", "for (; (Byte)(*at - '0') < 10; at++)"),
    "end-of-a-word": ("(size_t)(reader->end - reader->at) < length ||", ""),
    "rest-of-a-code-point": ("|| end - at < length)", ")"),
    "room-for-all-tokens": ("PyObject_NewVar(Document, &DocumentType, (Py_ssize_t)number)", "PyObject_NewVar(Document, &DocumentType, (Py_ssize_t)number - 2)"),
    "room-for-all-items": ("side->items = PyMem_New(const Token *, side->number)", "side->items = PyMem_New(const Token *, side->number - 1)"),
    "room-for-all-partners": ("side->partners = PyMem_New(uint32_t, side->number)", "side->partners = PyMem_New(uint32_t, side->number - 1)"),
    "room-for-all-links": ("alignment->next = PyMem_New(uint32_t, alignment->candidate.number)", "alignment->next = PyMem_New(uint32_t, alignment->candidate.number - 1)"),
    "room-for-all-leaves": ("TAKE(search, Leaf, leaves)", "TAKE(search, Leaf, leaves / 2)"),
    "room-for-all-texts": ("search->graded = TAKE(search, uint32_t, leaves)", "search->graded = TAKE(search, uint32_t, leaves / 8)"),
    "room-for-grouped-numbers": ("Leaf **leaves = TAKE(search, Leaf *, search->number);", "Leaf **leaves = TAKE(search, Leaf *, search->number / 2);"),
    "room-for-groups-of-numbers": ("Leaf **group = TAKE(search, Leaf *, search->number);", "Leaf **group = TAKE(search, Leaf *, 1);"),
    "room-for-first-numbers": ("firsts = TAKE(search, double, count);", "firsts = TAKE(search, double, count / 2);"),
    "room-for-all-bounds": ("search->upper_bounds = TAKE(search, float, candidate_number)", "search->upper_bounds = TAKE(search, float, candidate_number / 2)"),
    "room-for-all-contested": ("PyMem_New(uint32_t, 2 * number)", "PyMem_New(uint32_t, number)"),
    "room-for-a-row": ("if (more > writer->capacity - writer->length) {", "if (writer->capacity == 0) {"),
    "room-for-all-characters": ("TAKE(search, Byte, characters[0] + characters[1])", "TAKE(search, Byte, characters[0] / 8)"),
    "room-for-all-edges": ("if (search->edge_number == search->edge_capacity)", "if (search->edge_capacity == 0)"),
    "room-for-all-children": ("size_t capacity = node->capacity ? 2 * node->capacity : 8;", "size_t capacity = 8;"),
    "failed-allocation": ("if (document == NULL) {\n        return NULL;", "if (0) {\n        return NULL;"),
    "end-of-a-known-key": ("reader->end - reader->at > (Py_ssize_t)known->length + 1", "1"),
    "room-for-bounds-of-texts": ("column->bounds = TAKE(search, float, bounds)", "column->bounds = TAKE(search, float, bounds / 2)"),
    "room-for-missing-fields": ("column->missing = TAKE(search, float, candidate_number)", "column->missing = TAKE(search, float, candidate_number / 2)"),
    "room-for-near-items": ("search->near = TAKE(search, uint32_t, (size_t)candidate_number + 1)", "search->near = TAKE(search, uint32_t, candidate_number / 2)"),
    "room-for-letters": ("TAKE(search, Byte, CLASSES * (size_t)candidate_number)", "TAKE(search, Byte, CLASSES / 2 * (size_t)candidate_number)"),
    "room-for-common-letters": ("search->common = TAKE(search, Byte, candidate_number)", "search->common = TAKE(search, Byte, candidate_number / 2)"),
    "room-for-marks-of-near-items": ("search->is_near = TAKE(search, Byte, (size_t)candidate_number + 7)", "search->is_near = TAKE(search, Byte, candidate_number)"),
    "room-for-distances-of-texts": ("column->distances = TAKE(search, uint16_t, pairs)", "column->distances = TAKE(search, uint16_t, pairs / 2)"),
    "end-of-an-id": ("while (reader.at < reader.end && *reader.at >= ' '", "while (*reader.at >= ' '"),
    "end-of-a-record": ("(size_t)(reader->end - at) >= length - before\n            && ", ""),
    "no-candidate": ("(candidate != NULL && candidate->tokens[0].is.count == 0)", "candidate->tokens[0].is.count == 0"),
    "room-for-different-cells": ("2 * counter->number >= counter->size &&", "counter->size == 0 &&"),
}  # fmt: skip
"""Bounds checks, and the replacement that removes each of them."""
COLLIDING = (
    "token->hash = hash_bytes(reader->begin + token->start + 1, token->length - 2);",
    "token->hash = 1;",
)
"""A hash with which all texts collide."""
PORTABLE = "#define PY_SSIZE_T_CLEAN\n", "#define PY_SSIZE_T_CLEAN\n#define FIELDMARK_PORTABLE\n"
"""Standard C instead of what only some compilers and processors have."""
ABSENT = ("__uint128_t", "__builtin_ctzll", "__builtin_popcountll", "max_align_t")
"""What Microsoft's compiler does not have."""

pytestmark = pytest.mark.skipif(not CHECKED, reason="the address sanitizer requires Linux")


def test_no_access_out_of_bounds(tmp_path):
    done = run_sanitized(SCRIPT, SOURCES, tmp_path, TIMES)
    assert done.returncode == 0, done.stderr[-3000:]
    compared, failures = map(int, done.stdout.split())
    assert compared > 3 * TIMES
    assert failures > TIMES


@pytest.mark.prove
@pytest.mark.parametrize("guard", BROKEN)
def test_removed_bounds_check_is_detected(tmp_path, guard):
    done = run_sanitized(SCRIPT, without_guard(SOURCES, tmp_path, *BROKEN[guard]), tmp_path, 200)
    assert done.returncode != 0
    assert "Sanitizer" in done.stderr or "runtime error" in done.stderr, done.stderr[-3000:]


@pytest.mark.prove
def test_results_do_not_depend_on_the_quality_of_hashes(tmp_path):
    done = run_sanitized(
        SCRIPT, without_guard(SOURCES, tmp_path, *COLLIDING), tmp_path, TIMES, seed=2
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout.split()[0]) > 3 * TIMES


def test_kernel_compiles_without_what_some_compilers_lack(tmp_path):
    sources = without_guard(SOURCES, tmp_path, *PORTABLE)
    missing = (f"-D{name}=not_available" for name in ABSENT)
    assert build_hook().compile_module(sources, tmp_path / "kernel.so", "-O0", *missing) == ""


@pytest.mark.prove
def test_portable_kernel_gives_the_same_results(tmp_path):
    done = run_sanitized(SCRIPT, without_guard(SOURCES, tmp_path, *PORTABLE), tmp_path, TIMES)
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout.split()[0]) > 3 * TIMES
