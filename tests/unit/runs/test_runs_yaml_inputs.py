"""YAML files as inputs of all commands that read rows."""

from __future__ import annotations

import pytest

import fieldmark as fm
from fieldmark.errors import ConfigError

ROWS = """\
- id: a
  issued: 2024-05-03
  country: NO
  total: 10
- {id: b, issued: 2024-06-01, country: SE, total: 20.5}
"""
JSON = """\
[{"id": "a", "issued": "2024-05-03", "country": "NO", "total": 10},
 {"id": "b", "issued": "2024-06-01", "country": "SE", "total": 20.5}]
"""


@pytest.fixture
def files(tmp_path):
    for name, text in {"t.yaml": ROWS, "t.YML": ROWS, "c.json": JSON}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    "pair",
    [("t.yaml", "c.json"), ("c.json", "t.YML"), ("t.yaml", "t.YML")],
    ids=["truth", "prediction", "both"],
)
def test_yaml_equals_json(files, pair):
    run = fm.score(*(files / name for name in pair))
    assert (run.summary.cases.perfect, run.summary.cases.total) == (2, 2)


def test_rules_are_inferred_from_yaml(files):
    assert "{path: issued, match: date}" in fm.infer(files / "t.yaml")


def test_eval_files_read_yaml(files):
    file = files / "x.eval.yaml"
    file.write_text(
        "cases: t.yaml\ncandidates: t.YML\n"
        "evaluators: [{name: f, type: field_accuracy, fields: [{path: total}]}]\n"
    )
    assert fm.evaluate(file).summary.mean_score == 1.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a: [1\n", r"t\.yaml:2", id="syntax"),
        pytest.param("a: 1\na: 2\n", r"t\.yaml:2:1: duplicate", id="duplicate-key"),
    ],
)
def test_invalid_yaml_names_file_and_line(tmp_path, text, message):
    (tmp_path / "t.yaml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        fm.score(tmp_path / "t.yaml", [{"a": 1}])
