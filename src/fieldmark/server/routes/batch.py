"""`POST /api/batch`: two data sets become a job, and the job a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Depends, Query

from fieldmark.api.runs import annotate, remove_run
from fieldmark.api.score import score
from fieldmark.api.settings import settle
from fieldmark.api.watching import Progress
from fieldmark.errors import FieldmarkError
from fieldmark.model.json import JsonObject
from fieldmark.server.answers import Reply, StrictRoute
from fieldmark.server.desk import Desk, desk_of
from fieldmark.server.jobs import Cancelled, Job
from fieldmark.server.provenance import Origin, tell_origin
from fieldmark.server.queries import FileQuery
from fieldmark.server.replies import FileList, JobState
from fieldmark.server.replies_refused import refused
from fieldmark.server.rules_asked import of_one_run, rules_under
from fieldmark.server.schemas import BatchRequest, Source, as_json, as_object
from fieldmark.store.rundir import new_run_id

__all__ = ["router"]

router = APIRouter(route_class=StrictRoute, tags=["batch"])
_MOST_LISTED = 2000


@router.post(
    "/batch", status_code=202, response_model=JobState, responses=refused(400, 403, 413, 422, 429)
)
async def batch(asked: BatchRequest, desk: Annotated[Desk, Depends(desk_of)]) -> Reply:
    """Compare two data sets in the background; the answer is the job.

    Rules are checked at once. The run is kept if the server may write, else it lasts as long as
    the server.
    """
    rules = rules_under(as_json(asked.rules), desk.options.provider, asked.convention)
    settle(rules, convention=asked.convention, options=as_object(asked.options))
    work = _Batch(asked, desk)
    await anyio.to_thread.run_sync(work.bring)
    try:
        job = desk.jobs.start(work.title, work, work.inbox.close)
    except BaseException:
        work.inbox.close()
        raise
    return Reply(job.to_dict(), 202)


@router.get("/files", response_model=FileList, responses=refused(403, 422))
def files(asked: Annotated[FileQuery, Query()], desk: Annotated[Desk, Depends(desk_of)]) -> Reply:
    """The declared roots, or what is in a folder below one of them."""
    if not asked.path:
        roots = [{"name": name, "folder": True, "bytes": 0} for name in desk.places.names]
        return Reply({"path": "", "entries": roots})
    entries = [
        {"name": name, "folder": folder, "bytes": size}
        for name, folder, size in desk.places.listed(asked.path, _MOST_LISTED)
    ]
    return Reply({"path": asked.path, "entries": entries})


class _Batch:
    """One batch, from its inputs to its run."""

    def __init__(self, asked: BatchRequest, desk: Desk) -> None:
        self._asked = asked
        self._desk = desk
        self.inbox = desk.inbox()
        self._origins: list[Origin] = []
        names = [_name(each) for each in (asked.truth, asked.candidate) if each is not None]
        self.title = asked.title.strip() or " · ".join(names)

    def bring(self) -> None:
        """Put both sides where nobody else can change them."""
        sides = (("truth", self._asked.truth), ("candidate", self._asked.candidate))
        try:
            self._origins = [
                self._brought(side, source) for side, source in sides if source is not None
            ]
        except BaseException:
            self.inbox.close()
            raise

    def __call__(self, job: Job) -> JsonObject:
        """Do the work of the job."""
        run = self._desk.new_runs / new_run_id()
        try:
            return self._scored(job, run)
        except Cancelled:
            if run.is_dir():
                remove_run(run)
            raise
        except BaseException:
            tell_origin(run, self._origins)
            raise
        finally:
            self.inbox.close()
            self._desk.shelf.forget()

    def _scored(self, job: Job, run: Path) -> JsonObject:
        asked = self._asked
        truth, *candidate = [each.copy for each in self._origins]
        result = score(
            truth,
            candidate[0] if candidate else None,
            rules=rules_under(
                as_json(asked.rules), of_one_run(self._desk.options.provider), asked.convention
            ),
            convention=asked.convention,
            options=as_object(asked.options),
            inputs=asked.inputs.inputs(),
            at_least=asked.gates.min,
            at_most=asked.gates.max,
            values=asked.values,
            out=run,
            progress=self._telling(job, run),
        )
        tell_origin(run, self._origins)
        self._note(run)
        return {
            "run": run.name,
            "kept": self._desk.options.write,
            "passed": result.passed,
            "notes": [self._desk.hiding.text(note) for note in result.notes],
            "summary": self._desk.hiding.value(result.to_dict()),
        }

    def _telling(self, job: Job, run: Path) -> Progress:
        """How far the work is; a run that is broken off knows where it came from, too."""
        told = False

        def tell(cases: int, bytes_read: int, bytes_total: int | None) -> None:
            nonlocal told
            if not told:
                told = True
                tell_origin(run, self._origins)
            job.tell(cases, bytes_read, bytes_total)

        return tell

    def _brought(self, side: str, source: Source) -> Origin:
        """A copy of one side, and what it was called."""
        name, inbox = _name(source), self.inbox
        if source.path is not None:
            copy = inbox.from_path(side, source.path)
            return Origin(name=name, copy=copy, file=self._desk.places.where(source.path))
        if source.text is not None:
            return Origin(name=name, copy=inbox.from_text(side, source.name, source.text))
        return Origin(name=name, copy=inbox.from_rows(side, source.rows or []))

    def _note(self, run: Path) -> None:
        try:
            annotate(run, add=[tag for tag in self._asked.tags if tag.strip()], note=self.title)
        except FieldmarkError:
            # The run is complete without its note.
            return


def _name(source: Source) -> str:
    if source.path is not None:
        return source.path
    if source.text is not None:
        return source.name
    number = len(source.rows or [])
    return f"{number:,} {'row' if number == 1 else 'rows'}"
