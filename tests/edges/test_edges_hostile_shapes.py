"""Memory, disk and responses stay in proportion to the input, whatever its shape.

A field of a result has a path, an outcome and both values: a few hundred bytes for a value of a few
bytes. Beyond that, nothing multiplies: a document may add a fixed amount, however small it is.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from edges.measured_shapes import ACTIONS, SHAPES
from proving import rows
from waiting import TIMEOUT

SCRIPT = Path(__file__).with_name("measured_shapes.py")
TESTS = Path(__file__).parents[1]
MEGABYTE = 1 << 20
OUTPUT = (8 * MEGABYTE, 300)
MEMORY = (64 * MEGABYTE, 1_000)
"""What any document may cost, and the additional bytes for each byte of it."""
SIMILAR = [
    "long-key-with-too-many-leaves",
    "long-path-with-too-many-leaves",
    "chain-of-long-keys",
    "deep-chain-with-too-many-leaves",
    "list-below-a-key-beyond-the-limit",
    "lists-of-lists",
    "long-list",
    "documents-with-new-keys",
    "documents-with-new-long-keys",
    "escaped-keys",
    "quoted-keys",
]
"""Shapes that cost as much as others, in ways that are similar."""


@pytest.mark.parametrize("shape", rows(SHAPES, proved=SIMILAR))
def test_cost_is_proportional_to_the_input(tmp_path, shape):
    done = subprocess.run(
        [sys.executable, SCRIPT, shape, tmp_path],
        env={"PYTHONPATH": str(TESTS), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=10 * TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    total, *outputs, memory = done.stdout.splitlines()
    for action, line in zip(ACTIONS, outputs, strict=True):
        size, output = map(int, line.split())
        assert output <= OUTPUT[0] + OUTPUT[1] * size, action
    assert int(memory) <= MEMORY[0] + MEMORY[1] * int(total)
