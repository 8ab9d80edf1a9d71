"""Imports all modules of fieldmark and runs its commands, and prints what they returned as JSON."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import pkgutil
import queue
import re
import signal
import sys
import threading
import time
from pathlib import Path

import fieldmark
from fieldmark.cli import main
from fieldmark.runs import process_engine as process_pool
from fieldmark.runs import session
from fieldmark.runs.run_directory import RunDirectory

ROWS = 3_000
CASES = 3
JUDGE = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    same = request["reference_answer"] == request["candidate_answer"]
    print(json.dumps({"score": float(same), "reasoning": "häßlich"}, ensure_ascii=False), flush=True)
"""
TARGET = """
import json, sys
request = json.load(sys.stdin)
print(json.dumps({"total": len(request["input"])}))
"""
EVAL = """
name: portable
cases: cases.jsonl
target: {type: command, command: [python, target.py]}
evaluators:
  - {name: once, type: code_judge, script: [python, judge.py]}
  - {name: lines, type: code_judge, script: [python, judge.py], protocol: lines, workers: 2}
  - {name: shape, type: json_schema, schema: {type: object, required: [total]}}
"""


class Announced(io.StringIO):
    """Standard error, whose address of the server another thread waits for."""

    addresses: queue.Queue[str] = queue.Queue()

    def write(self, text: str) -> int:
        if found := re.search(r"http://\S+", text):
            self.addresses.put(found[0])
        return super().write(text)


def run(*arguments: str) -> dict:
    """Run a command in this process."""
    sys.argv = ["fieldmark", *arguments]
    output, errors = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True), Announced()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            main.main()
        except SystemExit as end:
            code = end.code
    text = output.buffer.getvalue().decode()
    return {"code": code, "output": text, "errors": errors.getvalue()}


def interrupted(*arguments: str) -> dict:
    """Run a command that is interrupted when it writes its second segment."""
    append, calls = RunDirectory.append, []

    def interrupt(directory, *rows):
        calls.append(rows)
        if len(calls) == 2:
            raise KeyboardInterrupt
        append(directory, *rows)

    RunDirectory.append = interrupt
    try:
        return run(*arguments)
    finally:
        RunDirectory.append = append


def served() -> dict:
    """Start the web application, request a page and a batch, and stop it."""
    import httpx  # not in workers, which import this module too

    found = {}

    def request():
        try:
            address = Announced.addresses.get()
            with httpx.Client(base_url=address.partition("?")[0], timeout=60) as client:
                token = address.partition("token=")[2].strip()
                client.headers["Authorization"] = f"Bearer {token}"
                found["page"] = client.get("/runs").status_code
                found["files"] = client.get("/api/files", params={"path": "data"}).json()
                body = {
                    "truth": {"path": "data/cases.jsonl"},
                    "candidate": {"path": "data/cases.jsonl"},
                }
                job = client.post("/api/batch", json=body).json()
                while job.get("state") in {"queued", "waiting", "running"}:
                    time.sleep(0.02)
                    job = client.get(f"/api/jobs/{job['id']}").json()
                found["job"] = job
                outside = client.get("/api/files", params={"path": "data/link"})
                found["outside"] = outside.status_code
        finally:
            signal.raise_signal(signal.SIGINT)

    thread = threading.Thread(target=request)
    thread.start()
    found["serve"] = run("serve", "--port", "0", "--no-browser", "--write", "--root", "data=.")
    thread.join()
    return found


def write_rows(name: str, rows: list[dict]) -> None:
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def import_all() -> int:
    found = [
        each.name
        for each in pkgutil.walk_packages(fieldmark.__path__, "fieldmark.")
        # Except on Windows, the SDK of MCP needs fcntl and Ray needs resource.
        if not each.name.endswith(
            (
                "__main__",
                "fieldmark.mcp.serving",
                "fieldmark.runs.ray_engine",
            )
        )
    ]
    for name in found:
        importlib.import_module(name)
    return len(found)


def main_program() -> None:
    truth = [{"id": n, "total": n, "vendor": {"name": f"Vendor {n}"}} for n in range(ROWS)]
    write_rows("truth.jsonl", truth)
    write_rows("candidate.jsonl", [{**row, "total": row["total"] // 2 * 2} for row in truth])
    write_rows(
        "cases.jsonl", [{"id": n, "input": "x" * n, "expected": {"total": n}} for n in range(CASES)]
    )
    Path("judge.py").write_text(JUDGE, "utf-8")
    Path("target.py").write_text(TARGET, "utf-8")
    Path("portable.eval.yaml").write_text(EVAL, "utf-8")
    Path("link").symlink_to(Path.cwd().parent, target_is_directory=True)
    results = {"modules": import_all()}
    pools = []
    start = process_pool._WorkerPool._start
    process_pool._WorkerPool._start = lambda pool: pools.append(pool) or start(pool)
    files = ("truth.jsonl", "candidate.jsonl", "--id", "id")
    results["score"] = run("score", *files, "--out", "runs/one", "--format", "json")
    session.PARALLEL_BYTES = 0
    results["workers"] = run(
        "score", *files, "--out", "runs/two", "--workers", "2", "--format", "json"
    )
    session.PARALLEL_BYTES = 1 << 30
    results["pools"] = len(pools)
    results["interrupted"] = interrupted("score", *files, "--out", "runs/three")
    results["resumed"] = run("score", "--resume", "runs/three", "--format", "json")
    results["eval"] = run(
        "eval", "portable.eval.yaml", "--out", "runs/eval", "--format", "json", "--allow-code"
    )
    results["report"] = run("report", "runs/one", "--out", "report.html")
    results["diff"] = run("diff", "runs/one", "runs/two")
    results["runs"] = run("runs", "--format", "json")
    results["doctor"] = run("doctor", "--format", "json")
    results["served"] = served()
    results["deleted"] = run("runs", "runs/two", "--delete", "--yes")
    results["left"] = sorted(path.name for path in Path("runs").iterdir())
    sys.stdout.write(json.dumps(results))


if __name__ == "__main__":
    main_program()
