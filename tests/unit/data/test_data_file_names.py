"""Which files of two directories belong together."""

from __future__ import annotations

import pytest

import fieldmark as fm
from fieldmark.data.file_names import find_name_patterns
from fieldmark.data.inputs import Inputs
from fieldmark.errors import DataError, OptionError


@pytest.mark.parametrize(
    ("expected", "candidate", "patterns"),
    [
        pytest.param(["a_1", "a_2"], ["a_1_pred", "a_2_pred"], ("{id}", "{id}_pred"), id="suffix"),
        pytest.param(["a_1"], ["a_1_pred"], ("{id}", "{id}_pred"), id="one-file"),
        pytest.param(["1", "2"], ["out.1.v2", "out.2.v2"], ("{id}", "out.{id}.v2"), id="both-ends"),
        pytest.param(["1-gold", "2-gold"], ["1", "2"], ("{id}-gold", "{id}"), id="ground-truth"),
        pytest.param(
            ["1_truth", "2_truth"],
            ["1_pred", "2_pred"],
            ("{id}_truth", "{id}_pred"),
            id="both-sides",
        ),
        pytest.param(["t_1", "t_12"], ["p_1", "p_12"], ("t_{id}", "p_{id}"), id="common-digits"),
        pytest.param(["1", "2", "3"], ["x-1", "x-9"], ("{id}", "x-{id}"), id="half-is-enough"),
        pytest.param(["1", "2", "3"], ["x-7", "x-8", "x-1"], None, id="a-third-is-not"),
        pytest.param(["1"], ["21"], None, id="part-of-a-number"),
        pytest.param(["a", "b"], ["x", "y"], None, id="nothing-in-common"),
    ],
)
def test_pattern_that_pairs_the_names(expected, candidate, patterns):
    assert find_name_patterns(expected, candidate) == patterns


@pytest.fixture
def folders(tmp_path):
    def make(*names):
        made = []
        for side, files in zip(("truth", "candidate"), names, strict=True):
            folder = tmp_path / side
            folder.mkdir()
            for total, name in enumerate(files):
                (folder / f"{name}.json").write_text(f'{{"total": {total}}}')
            made.append(folder)
        return made

    return make


@pytest.mark.parametrize("pair", [None, "{id}_pred.json", "{id}_pred"])
def test_files_with_other_names_are_paired_and_the_pattern_is_noted(folders, pair):
    run = fm.score(*folders(["i1", "i2"], ["i1_pred", "i2_pred"]), inputs={"pair": pair})
    assert (run.micro.f1, run.summary.cases.missing) == (1.0, 0)
    assert list(run.cases) == ["i1", "i2"] or [case.id for case in run.cases] == ["i1", "i2"]
    assert any(note.startswith("files paired by their names: {id}") for note in run.notes)


def test_files_that_do_not_belong_together_are_an_error(folders):
    with pytest.raises(DataError, match="no rows paired"):
        fm.score(*folders(["a", "b"], ["x", "y"]))


def test_file_that_the_pattern_does_not_fit_keeps_its_name(folders):
    inputs = {"pair": "{id}_pred"}
    run = fm.score(*folders(["i1", "i2"], ["i1_pred", "i2"]), inputs=inputs)
    assert run.summary.cases.missing == 0


def test_two_files_with_one_id_are_an_error(folders):
    with pytest.raises(DataError, match="two files have the id 'i1'"):
        fm.score(*folders(["i1"], ["i1", "i1_pred"]), inputs={"pair": "{id}_pred"})


@pytest.mark.parametrize("pair", ["ids", "{id}{id}", "_pred", ""])
def test_other_ways_to_pair_are_refused(pair):
    with pytest.raises(OptionError, match="must be id, position, or a pattern of file names"):
        Inputs(pair=pair)


def test_pattern_needs_files():
    with pytest.raises(OptionError, match="a pattern of names is for directories of files"):
        fm.score([{"a": 1}], [{"a": 1}], inputs={"pair": "{id}_x"})


def test_pairing_by_id_needs_ids():
    with pytest.raises(DataError, match="the rows have no ids to pair them by"):
        fm.score([{"a": 1}], [{"a": 1}], inputs={"pair": "id"})
