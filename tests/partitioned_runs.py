"""JSONL files with everything that a row can contain, and the files of a run to compare."""

from __future__ import annotations

import json
import random

__all__ = ["content", "rows", "written"]


def rows(cases, seed, *, missing=0.0):
    """Yield documents with rare fields, invalid rows and missing candidates."""
    chance = random.Random(seed)
    for number in range(cases):
        expected = {"n": number, "text": f"row {number}", "lines": [{"x": number}, {"x": 1}]}
        if chance.random() < 0.02:
            expected[f"seldom{chance.randrange(5)}"] = chance.random()
        found = json.loads(json.dumps(expected))
        if chance.random() < 0.2:
            found["text"] = "other"
        if chance.random() < 0.1:
            found["lines"].reverse()
        if chance.random() < 0.01:
            found[f"irregular{chance.randrange(50)}"] = float("nan")
        truth = json.dumps({"id": str(number), "expected": expected})
        if chance.random() < 0.003:
            truth = truth[:-1]
        candidate = json.dumps({"id": str(number), "candidate": found})
        if chance.random() < 0.01:
            candidate = json.dumps({"id": str(number), "candidate": "no JSON at all"})
        yield truth, "" if chance.random() < missing else candidate


def written(directory, pairs):
    paths = directory / "truth.jsonl", directory / "found.jsonl"
    for path, side in zip(paths, zip(*pairs, strict=True), strict=True):
        path.write_text("".join(line + "\n" for line in side if line))
    return paths


def content(run):
    manifest = json.loads((run / "manifest.json").read_text())
    for own in ("sequence", "started_at", "finished_at"):
        del manifest[own]
    return [
        (run / "results.jsonl").read_bytes(),
        (run / "summary.json").read_bytes(),
        json.dumps(manifest),
    ]
