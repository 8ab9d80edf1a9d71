"""The inputs and limits in a manifest."""

from __future__ import annotations

import hashlib

import pytest

import fieldmark as fm
from fieldmark.data.inputs import Limits
from fieldmark.values.json_text import read_json


@pytest.mark.parametrize("large", [1, 1 << 30], ids=["side-by-side", "one-after-the-other"])
def test_inputs_are_named_with_their_hashes_in_order(large, tmp_path, monkeypatch):
    monkeypatch.setattr("fieldmark.run.manifest._LARGE", large)
    paths = [tmp_path / "truth.jsonl", tmp_path / "found.jsonl"]
    for path in paths:
        path.write_text(f'{{"id": 1, "a": "{path.name}"}}\n')
    fm.score(*paths, out=tmp_path / "run")
    inputs = read_json((tmp_path / "run" / "manifest.json").read_bytes())["inputs"]
    assert inputs == [
        {
            "name": str(path),
            "bytes": path.stat().st_size,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        }
        for path in paths
    ]


def test_manifest_contains_the_limits(tmp_path):
    limits = Limits(line_bytes=4096)
    fm.score([({"n": 1}, {"n": 1})], inputs=fm.Inputs(limits=limits), out=tmp_path / "run")
    stored = read_json((tmp_path / "run" / "manifest.json").read_bytes())
    assert stored["limits"]["line_bytes"] == 4096
    assert stored["convention"]["name"] == "confusion"
