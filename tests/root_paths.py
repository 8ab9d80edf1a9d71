"""Paths that try to leave a root, and files outside of it."""

from __future__ import annotations

SECRET = "secret value"


def secret_tree(tmp_path):
    """Return a directory with the root `data`, and files with a secret outside of it."""
    root = tmp_path / "data"
    (root / "inner").mkdir(parents=True)
    (root / "inner" / "truth.jsonl").write_text('{"a": 1}\n', "utf-8")
    (tmp_path / "data-secret").mkdir()
    (tmp_path / "data-secret" / "canary.jsonl").write_text(f'{{"a": "{SECRET}"}}\n', "utf-8")
    (tmp_path / "canary.jsonl").write_text(f'{{"a": "{SECRET}"}}\n', "utf-8")
    return tmp_path


PAYLOADS = [
    "", "/", ".", "..", "data/..", "data/../canary.jsonl", "data/inner/../../canary.jsonl", "data/./inner/truth.jsonl",
    "data//inner/truth.jsonl", "data/", "/data/inner/truth.jsonl", "../data/inner/truth.jsonl", "data/.../canary.jsonl",
    "data/....//canary.jsonl", "data/..;/canary.jsonl", "data/.. /canary.jsonl", "data/..\t/canary.jsonl",
    "data-secret/canary.jsonl", "data/../data-secret/canary.jsonl", "data-secret", "dat/canary.jsonl", "DATA/inner/truth.jsonl",
    "data\\..\\canary.jsonl", "data/..\\canary.jsonl", "..\\canary.jsonl", "data/\\..\\/canary.jsonl", "\\\\server\\share\\x",
    "//server/share/x", "C:/canary.jsonl", "C:\\canary.jsonl", "c:canary.jsonl", "data/c:canary.jsonl", "file:///etc/passwd",
    "data/%2e%2e/canary.jsonl", "data/%2e%2e%2fcanary.jsonl", "data/..%2fcanary.jsonl", "data/%252e%252e/canary.jsonl",
    "data/%c0%ae%c0%ae/canary.jsonl", "data/..%c0%afcanary.jsonl", "data/%u002e%u002e/canary.jsonl", "data/inner%00/truth.jsonl",
    "data/\0/truth.jsonl", "data/inner/truth.jsonl\0.txt", "data/inner/truth.jsonl\n", "data/inner\r/truth.jsonl",
    "data/inner/truth.jsonl.", "data/inner/truth.jsonl ", "data/inner./truth.jsonl", "~/canary.jsonl", "data/~/canary.jsonl",
    "data/" + "a" * 300, "data/" + "a/" * 200 + "b", "/etc/passwd", "etc/passwd", "data/inner/truth.jsonl/x", "data/none.jsonl",
    "data/․․/canary.jsonl", "data/．．/canary.jsonl", "data/\u202e../canary.jsonl", "data/\ud800", "proc/self/environ",
    "data/inner/../../../../../../../../../../etc/passwd",
]  # fmt: skip
