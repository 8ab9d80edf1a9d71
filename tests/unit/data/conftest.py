"""Files for the tests of inputs."""

from __future__ import annotations

import gzip
import json

import pytest

from row_files import lines


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a file: text, bytes, rows, or a value as JSON."""

    def written(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, list) and name.endswith(".jsonl"):
            content = lines(content)
        elif not isinstance(content, str | bytes):
            content = json.dumps(content)
        raw = content if isinstance(content, bytes) else content.encode()
        path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
        return path

    return written
