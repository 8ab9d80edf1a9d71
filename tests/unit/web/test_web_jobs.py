"""Jobs wait in a bounded queue, report progress and can be cancelled."""

from __future__ import annotations

import json
import threading
from functools import partial

from fieldmark.analyses.score import score_with
from fieldmark.web.api_errors import ApiError
from fieldmark.web.jobs import JobCancelled, JobKind, JobQueue, JobStatus
from fieldmark.web.routes import batch
from fieldmark.web.server_options import ServerLimits
from unit.web.live_server import PREDICTIONS, TRUTH, error_code, live
from waiting import TIMEOUT, eventually

BODY = {"truth": {"rows": TRUTH}, "candidate": {"rows": PREDICTIONS}}


def test_cancelled_job_keeps_what_it_compared_and_frees_its_place_in_the_queue(tmp_path, held_job):
    with live(tmp_path, write=True, limits=ServerLimits(waiting_jobs=2)) as server:
        first = server.client.post("/api/batch", json=BODY).json()["id"]
        assert held_job.started.wait(TIMEOUT)
        waiting = [server.client.post("/api/batch", json=BODY).json()["id"] for _ in range(2)]
        rejected = server.client.post("/api/batch", json=BODY)
        assert (rejected.status_code, error_code(rejected)) == (429, "too_many_jobs")
        assert "retry-after" in rejected.headers
        assert server.client.delete(f"/api/jobs/{waiting[0]}").json()["state"] == "cancelled"
        server.client.delete(f"/api/jobs/{first}")
        held_job.released.set()
        cancelled = server.wait_for_job(first)
        assert (cancelled["state"], cancelled["result"]["saved"]) == ("cancelled", True)
        assert server.wait_for_job(waiting[1])["state"] == "done"
        dropped = server.wait_for_job(waiting[0])
        assert (dropped["state"], dropped["result"]) == ("cancelled", None)
        runs = {run["id"]: run for run in server.client.get("/api/runs").json()["runs"]}
        assert len(runs) == 2
        run_id = cancelled["result"]["run"]
        assert (runs[run_id]["status"], runs[run_id]["title"]) == ("interrupted", "8 rows · 8 rows")
        cases = server.client.get(f"/api/runs/{run_id}/cases").json()
        assert cases["total"] == len(TRUTH)


def test_number_of_cases_of_a_cancelled_batch_is_that_of_its_run(tmp_path, monkeypatch):
    def cancel_at_the_end(options, *, progress):
        score_with(options)
        progress(3, 0, None)
        raise JobCancelled

    monkeypatch.setattr(batch, "score_with", cancel_at_the_end)
    with live(tmp_path, write=True) as server:
        job = server.client.post("/api/batch", json=BODY).json()["id"]
        cancelled = server.wait_for_job(job)
        assert (cancelled["state"], cancelled["cases"]) == ("cancelled", len(TRUTH))


def test_number_of_waiting_jobs_is_limited():
    jobs = JobQueue(max_waiting=16, max_listed=50, redact=print)
    started_jobs, rejected = [], 0
    for _ in range(500):
        try:
            started_jobs.append(jobs.start("wait", lambda job: job.cancelled.wait(TIMEOUT) and {}))
        except ApiError:
            rejected += 1
    assert rejected >= 480
    jobs.close()
    assert all(
        job.state in {JobStatus.DONE, JobStatus.WAITING, JobStatus.RUNNING} for job in started_jobs
    )


def test_analyses_do_not_wait_for_batches_and_few_are_kept():
    jobs = JobQueue(max_waiting=16, max_listed=50, redact=print)
    batch = jobs.start("batch", lambda job: job.cancelled.wait(TIMEOUT) and {})
    for number in range(40):
        analysis = jobs.start("analysis", lambda _, n=number: {"n": n}, kind=JobKind.ANALYSIS)
        assert eventually(lambda analysis=analysis: analysis.is_finished)
    assert batch.state is JobStatus.RUNNING
    numbers = [job.result["n"] for job in jobs.all() if job.kind is JobKind.ANALYSIS]
    assert numbers == list(range(39, 23, -1))
    jobs.close()


def test_only_a_job_that_is_cancelled_before_it_starts_is_dropped():
    jobs = JobQueue(max_waiting=16, max_listed=50, redact=print)
    started, dropped = threading.Event(), []

    def wait_for_cancellation(job):
        started.set()
        job.cancelled.wait(TIMEOUT)
        raise JobCancelled

    running, waiting = (
        jobs.start(name, wait_for_cancellation, on_drop=partial(dropped.append, name))
        for name in ("running", "waiting")
    )
    assert started.wait(TIMEOUT)
    assert jobs.cancel(waiting.id).state is JobStatus.CANCELLED
    jobs.cancel(running.id)
    assert eventually(lambda: running.is_finished)
    for job in (running, waiting):
        assert jobs.cancel(job.id).state is JobStatus.CANCELLED
    jobs.close()
    assert dropped == ["waiting"]


def test_unknown_job_is_not_found(read_only_server):
    for method, path in (
        ("GET", "/api/jobs/x"),
        ("DELETE", "/api/jobs/x"),
        ("GET", "/api/jobs/x/events"),
    ):
        response = read_only_server.client.request(method, path)
        assert error_code(response) == "not_found", (method, path)


def test_event_stream_ends_with_the_job(read_only_server):
    job = read_only_server.client.post("/api/batch", json=BODY).json()["id"]
    with read_only_server.client.stream("GET", f"/api/jobs/{job}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        events = [json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: ")]
    assert events[-1]["state"] == "done"
