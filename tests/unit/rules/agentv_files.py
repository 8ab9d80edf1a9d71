"""AgentV files for tests: recorded files and small generated ones."""

from __future__ import annotations

import json
from pathlib import Path

from fieldmark.rules.agentv import yaml_text

DATA = Path(__file__).parents[2] / "data" / "agentv-document-extraction"
EVAL_FILES = [
    "agentv-2.0.2/dataset-confusion-metrics.yaml",
    "agentv-2.0.2/dataset-field-accuracy.yaml",
    "agentv-4.42.4/confusion-metrics.eval.yaml",
    "agentv-4.42.4/field-accuracy.eval.yaml",
    "evals/confusion-metrics.eval.yaml",
    "evals/field-accuracy.eval.yaml",
]
HEADER = {
    "name": "header",
    "type": "field-accuracy",
    "fields": [{"path": "total", "match": "exact"}],
}
FILE = [{"role": "user", "content": [{"type": "file", "value": "../fixtures/a.json"}]}]
CASE = {"id": "a", "expected_output": {"total": 1}, "input": FILE}


def project(directory, *, cases=None, graders=None, fixtures=None, era="tests", **suite):
    """Write an eval file to `evals`, and JSON files to the sibling directory `fixtures`."""
    for name, content in (fixtures or {"a.json": '{"total": 1}'}).items():
        path = directory / "fixtures" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")
    document = {"assertions": [HEADER] if graders is None else graders, **suite}
    document[era] = [CASE] if cases is None else cases
    path = directory / "evals" / "invoices.eval.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml_text(json.loads(json.dumps(document))), "utf-8")
    return path
