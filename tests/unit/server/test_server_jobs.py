"""Jobs wait in a bounded queue, can be watched and can be cancelled."""

from __future__ import annotations

import json

from fieldmark.server.api_errors import ApiError
from fieldmark.server.jobs import JobQueue, JobStatus
from fieldmark.server.options import ServerLimits
from unit.server.live_server import (  # noqa: F401
    FOUND,
    PATIENCE,
    TRUTH,
    code,
    held_job,
    live,
    reading,
)

BODY = {"truth": {"rows": TRUTH}, "candidate": {"rows": FOUND}}


def test_a_job_that_is_cancelled_leaves_nothing_and_makes_room(tmp_path, held_job):  # noqa: F811
    with live(tmp_path, write=True, limits=ServerLimits(waiting_jobs=2)) as server:
        first = server.ask.post("/api/batch", json=BODY).json()["id"]
        assert held_job.started.wait(PATIENCE)
        waiting = [server.ask.post("/api/batch", json=BODY).json()["id"] for _ in range(2)]
        refused = server.ask.post("/api/batch", json=BODY)
        assert (refused.status_code, code(refused)) == (429, "too_many_jobs")
        assert "retry-after" in refused.headers
        assert server.ask.delete(f"/api/jobs/{waiting[0]}").json()["state"] == "cancelled"
        server.ask.delete(f"/api/jobs/{first}")
        held_job.released.set()
        assert server.finished(first)["state"] == "cancelled"
        assert server.finished(waiting[1])["state"] == "done"
        assert server.finished(waiting[0])["state"] == "cancelled"
        assert server.ask.get("/api/runs").json()["total"] == 1


def test_five_hundred_jobs_at_once_are_bounded():
    jobs = JobQueue(waiting=16, kept=50, redact=print)
    begun, refused = [], 0
    for _ in range(500):
        try:
            begun.append(jobs.start("wait", lambda job: job.cancelled.wait(PATIENCE) and {}))
        except ApiError:
            refused += 1
    assert refused >= 480
    jobs.close()
    assert all(job.state in {JobStatus.DONE, JobStatus.WAITING, JobStatus.RUNNING} for job in begun)


def test_a_job_that_is_unknown_is_not_found(reading):  # noqa: F811
    for method, path in (
        ("GET", "/api/jobs/x"),
        ("DELETE", "/api/jobs/x"),
        ("GET", "/api/jobs/x/events"),
    ):
        assert code(reading.ask.request(method, path)) == "not_found"


def test_events_end_with_the_job(reading):  # noqa: F811
    job = reading.ask.post(
        "/api/batch", json={"truth": {"rows": TRUTH}, "candidate": {"rows": FOUND}}
    ).json()["id"]
    with reading.ask.stream("GET", f"/api/jobs/{job}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        told = [json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: ")]
    assert told[-1]["state"] == "done"
