"""Tasks: consecutive partitions that one worker processes together."""

from __future__ import annotations

import pytest

from fieldmark.data.file_blocks import BlockRange
from fieldmark.data.partitions import LineRange, Partition
from fieldmark.runs.partition_worker import group_tasks


def lines(number, size=100):
    return LineRange(size * number, size * (number + 1), 1 + number)


def rows(number, block, per_block):
    """Return the rows of a segment of 512 rows, in a block of many segments."""
    return BlockRange(block, 512 * (number % per_block), 512, 1 + 512 * number, 100)


@pytest.mark.parametrize(
    ("ranges", "segments", "size", "lengths"),
    [
        pytest.param([lines(n) for n in range(5)], 2, 10_000, [2, 2, 1], id="segments"),
        pytest.param([lines(n) for n in range(5)], 9, 150, [2, 2, 1], id="bytes"),
        pytest.param([lines(n, 0) for n in range(4)], 2, 9, [2, 2], id="empty-lines"),
        pytest.param([], 2, 9, [], id="none"),
        pytest.param([rows(n, n // 8, 8) for n in range(12)], 3, 10**6, [3] * 4, id="small-blocks"),
        pytest.param(
            [rows(n, n // 40, 40) for n in range(80)], 4, 10**6,
            # The first 17 segments skip few lines, then the rest of the block stays together.
            [4] * 4 + [24] + [4] * 4 + [24],
            id="large-blocks-stay-together",
        ),
        pytest.param([rows(n, 0, 1_000) for n in range(300)], 200, 10**6, [200, 100], id="up-to-the-segments"),
        pytest.param([rows(n, 0, 1_000) for n in range(300)], 17, 10**6, [128, 128, 44], id="up-to-a-limit"),
    ],
)  # fmt: skip
def test_tasks_are_complete_by_number_and_size(ranges, segments, size, lengths):
    partitions = [(number, Partition(item)) for number, item in enumerate(ranges)]
    tasks = list(group_tasks(partitions, segments=segments, size=size))
    assert [len(task) for task in tasks] == lengths
    assert [item for task in tasks for item in task] == partitions
