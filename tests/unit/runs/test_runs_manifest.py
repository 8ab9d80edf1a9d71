"""The inputs and limits in a manifest."""

from __future__ import annotations

import hashlib
import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fieldmark as fm
from fieldmark.runs import manifest
from fieldmark.runs.manifest import Manifest
from fieldmark.values.json_text import Limits, read_json
from fieldmark.values.records import from_json, to_json
from record_values import values_of


@pytest.mark.parametrize("large", [1, 1 << 30], ids=["side-by-side", "one-after-the-other"])
def test_inputs_are_named_with_their_hashes_in_order(large, tmp_path, monkeypatch):
    monkeypatch.setattr(manifest, "_LARGE", large)
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


def test_hash_of_a_directory_depends_on_names_and_contents_only(tmp_path):
    def truth_hash(name, files):
        directory = tmp_path / name
        directory.mkdir()
        for file, content in files.items():
            (directory / file).write_text(content)
        os.utime(directory / "1.json", ns=(len(name), len(name)))
        fm.score(directory, directory, out=tmp_path / f"run-{name}")
        stored = read_json((tmp_path / f"run-{name}" / "manifest.json").read_bytes())
        return stored["inputs"][0]["sha256"]

    first = truth_hash("first", {"1.json": '{"n": 1}', "2.json": '{"n": 2}'})
    assert truth_hash("copy-of-first", {"1.json": '{"n": 1}', "2.json": '{"n": 2}'}) == first
    assert truth_hash("other-content", {"1.json": '{"n": 1}', "2.json": '{"n": 3}'}) != first
    assert truth_hash("other-name", {"1.json": '{"n": 1}', "3.json": '{"n": 2}'}) != first


def test_manifest_contains_the_limits(tmp_path):
    limits = Limits(line_bytes=4096)
    fm.score([({"n": 1}, {"n": 1})], inputs=fm.Inputs(limits=limits), out=tmp_path / "run")
    stored = read_json((tmp_path / "run" / "manifest.json").read_bytes())
    assert stored["limits"]["line_bytes"] == 4096
    assert stored["convention"]["name"] == "confusion"


@given(values_of(Manifest, headline=st.none()))
def test_manifest_is_read_back_as_written(stored):
    assert from_json(Manifest, json.loads(json.dumps(to_json(stored)))) == stored
