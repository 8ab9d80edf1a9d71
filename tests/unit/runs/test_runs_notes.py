import pytest

import fieldmark as fm
from fieldmark.analyses.runs import annotate
from fieldmark.runs.manifest import run_title
from fieldmark.runs.run_index import title_of, titles_of
from fieldmark.runs.stored_run import open_run

GENERATED = "20250131T120000000000-0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize(
    ("name", "evaluation", "inputs", "run", "title"),
    [
        pytest.param("best", "invoices", ["t.json"], "baseline", "best", id="its-own-name"),
        pytest.param("", "invoices", ["t.json"], "baseline", "invoices", id="evaluation"),
        pytest.param("", "", ["t.json", "p.json"], "baseline", "baseline", id="chosen-directory"),
        pytest.param("", "", ["t.json", "p.json"], GENERATED, "t.json · p.json", id="inputs"),
        pytest.param("", "", ["(memory)"], GENERATED, GENERATED, id="id"),
    ],
)
def test_title_of_a_run(name, evaluation, inputs, run, title):
    assert run_title(name, evaluation, inputs, run) == title


def test_titles_of_runs_with_the_same_name_have_their_ids(tmp_path):
    documents = [{"id": "a", "x": 1}]
    for name in ("first", "second", "third", GENERATED):
        fm.score(documents, documents, out=tmp_path / name)
    runs = [open_run(tmp_path / name) for name in ("first", "second", "third", GENERATED)]
    assert titles_of(runs) == ["first", "second", "third", GENERATED]
    for run in ("second", GENERATED):
        annotate(tmp_path / run, name="first")
    assert title_of(runs[1]) == "first"
    assert titles_of(runs) == ["first", "first (second)", "third", "first (20250131T120000000000)"]
