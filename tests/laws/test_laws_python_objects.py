"""Documents as Python objects and as data frames have the same outcomes as plain JSON."""

from __future__ import annotations

import enum
import json
import re
from collections import UserDict, namedtuple
from dataclasses import make_dataclass
from decimal import Decimal
from keyword import iskeyword

import attrs
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

import fieldmark as fm
from fieldmark.values.plain_json import plain_json
from json_strategies import any_json, document_pairs


class Anything(BaseModel):
    model_config = ConfigDict(extra="allow")


def as_dataclass(members):
    return make_dataclass("Record", list(members))(**members)


def as_attrs(members):
    return attrs.make_class("Record", {key: attrs.field(alias=key) for key in members})(**members)


def as_named_tuple(members):
    return namedtuple("Record", members)(**members)  # noqa: PYI024


def are_names(keys):
    return all(key.isidentifier() and not iskeyword(key) and key[0] != "_" for key in keys)


@st.composite
def disguised(draw, value, in_model=False):  # noqa: FBT002
    """Generate Python objects that stand for a JSON value.

    In a model of pydantic, a named tuple would be a list, as in what it writes.
    """
    if isinstance(value, dict):
        forms = [dict, UserDict]
        # pydantic raises an exception for names with lone surrogates.
        if not any(re.match(r"_|model_|.*[\ud800-\udfff]", key, re.DOTALL) for key in value):
            forms.append(lambda members: Anything.model_construct(None, **members))
        if are_names(value):
            forms += [as_dataclass, as_attrs, *([] if in_model else [as_named_tuple])]
        form = draw(st.sampled_from(forms))
        below = in_model or form not in (dict, UserDict, as_dataclass, as_attrs, as_named_tuple)
        return form({key: draw(disguised(inner, below)) for key, inner in value.items()})
    if isinstance(value, list):
        items = [draw(disguised(item, in_model)) for item in value]
        return draw(st.sampled_from([list, tuple]))(items)
    forms = [lambda scalar: scalar, lambda scalar: enum.Enum("Member", {"ONLY": scalar}).ONLY]
    if type(value) is int:
        forms += [Decimal, np.int64] if -(2**63) <= value < 2**63 else [Decimal]
    elif type(value) is float:
        forms.append(np.float64)
        if abs(value) < 2**53:  # a decimal is exact, also beyond the integers that a float has
            forms.append(lambda number: Decimal(repr(number)))
    elif type(value) is bool:
        forms.append(np.bool_)
    elif type(value) is str:
        forms.append(np.str_)
    return draw(st.sampled_from(forms))(value)


@given(any_json.flatmap(lambda value: st.tuples(st.just(value), disguised(value))))
def test_objects_become_the_document_that_they_stand_for(pair):
    value, objects = pair
    assert plain_json(objects) == value


def compared(result):
    return [(each.path, each.outcome, each.similarity) for each in result.fields]


@given(document_pairs().flatmap(lambda pair: st.tuples(st.just(pair), *map(disguised, pair))))
def test_objects_have_the_outcomes_of_plain_json(drawn):
    (truth, found), *objects = drawn
    assert compared(fm.compare(*objects)) == compared(fm.compare(truth, found))


@given(st.lists(document_pairs(), min_size=1, max_size=4))
def test_frames_have_the_summary_of_rows(pairs):
    rows = [{"id": str(n), "expected": a, "candidate": b} for n, (a, b) in enumerate(pairs)]
    frame = pd.DataFrame(
        {key: pd.Series([row[key] for row in rows], dtype=object) for key in rows[0]}
    )
    assert fm.score(frame).to_dict() == fm.score(rows).to_dict()


texts = st.text(max_size=5) | st.none()
flat_rows = st.lists(
    st.fixed_dictionaries(
        {
            "text": texts,
            "number": st.none() | st.integers(-(2**63), 2**63 - 1),
            "amount": st.none() | st.floats(allow_nan=False, allow_infinity=False),
            "paid": st.none() | st.booleans(),
            "lines": st.lists(st.fixed_dictionaries({"sku": texts}), max_size=2),
        }
    ),
    min_size=1,
    max_size=4,
)
SCHEMA = pa.schema(
    {
        "text": pa.string(),
        "number": pa.int64(),
        "amount": pa.float64(),
        "paid": pa.bool_(),
        "lines": pa.list_(pa.struct({"sku": pa.string()})),
    }
)


@given(flat_rows, flat_rows)
def test_tables_have_the_summary_of_lines(tmp_path_factory, truth, found):
    lines = tmp_path_factory.mktemp("rows") / "found.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in found), encoding="utf-8")
    # There may be more rows on one side.
    inputs = {"pair": "position"}
    expected = fm.score(truth, lines, inputs=inputs).to_dict()
    table = pa.Table.from_pylist(found, schema=SCHEMA)
    forms = [table, pl.DataFrame(table), table.to_pandas(types_mapper=pd.ArrowDtype)]
    for form in forms:
        assert fm.score(truth, form, inputs=inputs).to_dict() == expected
