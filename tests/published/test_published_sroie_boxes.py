"""The receipts example: lines are aligned by their boxes."""

from __future__ import annotations

from published.command_line import EXAMPLES, scored

HOME = EXAMPLES / "geometry"


def test_lines_are_aligned_by_their_boxes():
    summary = scored(HOME / "truth.jsonl", HOME / "candidate.jsonl", "--rules", HOME / "rules.yaml")
    boxes, texts = (summary["attributes"][f"lines[].{name}"] for name in ("bbox", "text"))
    assert (boxes["tp"], boxes["fp"], boxes["fn"]) == (83, 3, 3)
    # Lines are aligned by position, even if their text differs.
    assert texts["errors_by_type"]["omission"] == boxes["errors_by_type"]["omission"] == 3
    assert texts["errors_by_type"]["wrong_value"] == 2
