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
    OptionHint,
    OptionPhrase,
    OptionText,
    Problem,
    StorageError,
    with_hint,
)

SET_KEY = OptionHint(OptionPhrase.SET_KEY_TO, "candidate", "it's")
COMMAND_LINE = {OptionPhrase.SET_KEY_TO: "use --{option} {value!r}"}


@pytest.mark.parametrize(
    "error",
    [
        ConfigError([Problem("wrong", Location("a.yaml", 3), "fix it"), Problem("other")]),
        OptionError("tolerance", "must be positive", "such as 0.1"),
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


def test_message_names_the_options_of_each_interface():
    error = DataError(with_hint("not {read}", OptionText(SET_KEY, " now")), Location("a.jsonl"))
    assert str(error) == """a.jsonl: not {read}; set the candidate key to "it's" now"""
    (message,) = error.args
    assert message.named(COMMAND_LINE) == """a.jsonl: not {read}; use --candidate "it's" now"""
    copy = pickle.loads(pickle.dumps(message))  # noqa: S301 - our own bytes
    assert (copy, copy.named(COMMAND_LINE)) == (message, message.named(COMMAND_LINE))
