"""Replays the stored inputs of the fuzz targets; `make fuzz` searches for more."""

from __future__ import annotations

import pytest

from fuzz.fuzz_targets import CORPUS, TARGETS

INPUTS = [
    pytest.param(name, file, id=f"{name}-{file.name}")
    for name in TARGETS
    for file in sorted((CORPUS / name).iterdir())
]


@pytest.mark.parametrize(("name", "file"), INPUTS)
def test_stored_input_raises_only_declared_errors(name, file):
    TARGETS[name](file.read_bytes())


@pytest.mark.parametrize("name", TARGETS)
def test_some_stored_input_is_valid(name):
    def accepted(file):
        try:
            TARGETS[name].run(file.read_bytes())
        except TARGETS[name].errors:
            return False
        return True

    assert any(map(accepted, (CORPUS / name).iterdir()))


def test_every_directory_of_stored_inputs_belongs_to_a_target():
    assert {path.name for path in CORPUS.iterdir() if path.is_dir()} == set(TARGETS)
