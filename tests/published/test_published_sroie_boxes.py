"""The example with receipts: lines are paired by their boxes, as its page says."""

from __future__ import annotations

from published.command_line import EXAMPLES, scored

HOME = EXAMPLES / "geometry"


def test_lines_are_paired_by_where_they_stand():
    summary = scored(HOME / "truth.jsonl", HOME / "candidate.jsonl", "--rules", HOME / "rules.yaml")
    boxes, texts = (summary["attributes"][f"lines[].{name}"] for name in ("bbox", "text"))
    assert (boxes["tp"], boxes["fp"], boxes["fn"]) == (83, 3, 3)
    # Whatever a line says, it is the line that stands there.
    assert texts["errors_by_type"]["omission"] == boxes["errors_by_type"]["omission"] == 3
    assert texts["errors_by_type"]["wrong_value"] == 2
