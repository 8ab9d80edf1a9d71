"""Errors can be sent between processes."""

from __future__ import annotations

import pickle

import pytest

from fieldmark.errors import (
    ConfigError,
    DataError,
    LimitError,
    Location,
    MissingExtra,
    OptionError,
    Problem,
    StorageError,
)


@pytest.mark.parametrize(
    "error",
    [
        ConfigError([Problem("wrong", Location("a.yaml", 3), "fix it"), Problem("other")]),
        OptionError("tolerance", "must be positive"),
        DataError("cannot read file", Location("a.jsonl", 5, 7)),
        LimitError("line_bytes", "too long", Location("a.jsonl", 5)),
        MissingExtra("reading zstd", "tables"),
        StorageError("disk full"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_error_is_the_same_after_pickling(error):
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)
