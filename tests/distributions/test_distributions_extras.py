"""Without an extra, what needs it is one line with the command that installs it."""

from __future__ import annotations

import json
import subprocess
import zipfile

import pytest

from distributions.environments import run

MODEL = "model: m, base_url: 'http://localhost:9/v1'"
FILES = {
    "t.jsonl": json.dumps({"id": "a", "expected": {"x": "1", "b": [[0, 0], [4, 0], [0, 4]]}}),
    "p.jsonl": json.dumps({"id": "a", "candidate": {"x": "1", "b": [[0, 0], [4, 0], [1, 4]]}}),
    "phone.yaml": "fields: [{path: x, match: phone, region: DE}]",
    "date.yaml": "fields: [{path: x, match: date, locales: [de]}]",
    "iou.yaml": "fields: [{path: b, match: iou, format: polygon}]",
    "vectors.yaml": "provider: {type: model2vec, model: ./m}\nfields: [{path: x, match: semantic}]",
    "openai.yaml": f"provider: {{type: openai, {MODEL}}}\nfields: [{{path: x, match: semantic}}]",
    "judge.eval.yaml": "cases: t.jsonl\ncandidates: p.jsonl\n"
    f"evaluators: [{{type: llm_judge, rubric: good, {MODEL}}}]",
    "chat.eval.yaml": "cases: [{id: a, input: {q: 1}, expected: {x: 1}}]\n"
    f"target: {{chat: {{{MODEL}, prompt: 'read {{{{input}}}}'}}}}",
    "http.eval.yaml": "cases: [{id: a, input: {q: 1}, expected: {x: 1}}]\n"
    "target: {url: 'http://localhost:9/'}",
    "polygons.eval.yaml": "cases: t.jsonl\ncandidates: p.jsonl\n"
    "evaluators: [{type: iou_score, path: b, format: polygon}]",
    "t.parquet": "PAR1",
    "t.jsonl.zst": "zstd",
    "scans/a.pdf": "%PDF-1.4\n",
}
SCORE = ("score", "t.jsonl", "p.jsonl")


@pytest.fixture(scope="module")
def folder(core, tmp_path_factory):
    directory = tmp_path_factory.mktemp("project")
    (directory / "scans").mkdir()
    (directory / "m").mkdir()
    for name, text in FILES.items():
        (directory / name).write_text(text, "utf-8")
    with zipfile.ZipFile(directory / "t.xlsx", "w") as workbook:
        workbook.writestr("xl/workbook.xml", "<workbook/>")
    run(core / "fieldmark", *SCORE, "--out", "saved", "--quiet", cwd=directory)
    return directory


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ("geometry", (*SCORE, "--rules", "iou.yaml")),
        ("geometry", ("eval", "polygons.eval.yaml")),
        ("geometry", ("validate", "iou.yaml")),
        ("llm", (*SCORE, "--rules", "openai.yaml")),
        ("llm", ("eval", "judge.eval.yaml")),
        ("llm", ("eval", "chat.eval.yaml")),
        ("llm", ("eval", "http.eval.yaml")),
        ("locales", (*SCORE, "--rules", "date.yaml")),
        ("mcp", ("mcp",)),
        ("phone", (*SCORE, "--rules", "phone.yaml")),
        ("ray", (*SCORE, "--engine", "ray")),
        ("remote", ("score", "s3://bucket/t.jsonl", "p.jsonl")),
        ("remote", ("score", "https://localhost:9/t.jsonl", "p.jsonl")),
        ("remote", (*SCORE, "--out", "s3://bucket/run")),
        ("semantic", (*SCORE, "--rules", "vectors.yaml")),
        ("server", ("serve", "--no-browser")),
        ("tables", ("score", "t.parquet", "p.jsonl")),
        ("tables", ("score", "t.xlsx", "p.jsonl")),
        ("tables", ("score", "t.jsonl.zst", "p.jsonl")),
        ("tables", (*SCORE, "--out", "new", "--results", "parquet")),
        ("tables", ("report", "saved", "--as", "parquet")),
        ("tables", ("report", "saved", "--as", "xlsx")),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),
)
def test_missing_extra_is_one_line_with_the_command(core, folder, extra, words):
    program = core / "fieldmark"
    done = subprocess.run(
        [program, *words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    [line] = done.stderr.splitlines()
    assert line.endswith(f'requires an optional dependency: pip install "fieldmark[{extra}]"')


def test_report_says_why_pdf_files_are_not_shown(core, folder):
    run(core / "fieldmark", "report", "saved", "--pages", "scans", "--out", "r.html", cwd=folder)
    assert r"pip install \"fieldmark[pdf]\"" in (folder / "r.html").read_text("utf-8")


def test_doctor_names_all_extras(core, folder):
    found = json.loads(run(core / "fieldmark", "doctor", "--format", "json", cwd=folder))
    extras = {each["name"]: each["fix"] for each in found["checks"] if "extra" in each["name"]}
    assert extras == {
        f"extra {name}": f'pip install "fieldmark[{name}]"'
        for name in (
            "geometry", "llm", "locales", "mcp", "pdf", "phone", "ray", "remote", "semantic",
            "server", "tables",
        )
    }  # fmt: skip
