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
from fieldmark.server.app_state import AppState, get_state
from fieldmark.server.error_models import error_responses
from fieldmark.server.input_sources import InputSource, record_input_sources
from fieldmark.server.jobs import BackgroundJob, JobCancelled
from fieldmark.server.queries import FileQuery
from fieldmark.server.request_models import BatchRequest, BatchSource, as_json, as_object
from fieldmark.server.request_rules import provider_for_run, resolve_rules
from fieldmark.server.response_models import FileListResponse, JobResponse
from fieldmark.server.strict_json import ApiResponse, StrictRoute
from fieldmark.store.rundir import new_run_id

__all__ = ["router"]

router = APIRouter(route_class=StrictRoute, tags=["batch"])
_MOST_LISTED = 2000


@router.post(
    "/batch",
    status_code=202,
    response_model=JobResponse,
    responses=error_responses(400, 403, 413, 422, 429),
)
async def batch(asked: BatchRequest, state: Annotated[AppState, Depends(get_state)]) -> ApiResponse:
    """Compare two data sets in the background; the answer is the job.

    Rules are checked at once. The run is kept if the server may write, else it lasts as long as
    the server.
    """
    rules = resolve_rules(as_json(asked.rules), state.options.provider, asked.convention)
    settle(rules, convention=asked.convention, options=as_object(asked.options))
    work = _Batch(asked, state)
    await anyio.to_thread.run_sync(work.bring)
    try:
        job = state.jobs.start(work.title, work, work.uploads.close)
    except BaseException:
        work.uploads.close()
        raise
    return ApiResponse(job.to_dict(), 202)


@router.get("/files", response_model=FileListResponse, responses=error_responses(403, 422))
def files(
    asked: Annotated[FileQuery, Query()], state: Annotated[AppState, Depends(get_state)]
) -> ApiResponse:
    """The declared roots, or what is in a folder below one of them."""
    if not asked.path:
        roots = [{"name": name, "folder": True, "bytes": 0} for name in state.roots.names]
        return ApiResponse({"path": "", "entries": roots})
    entries = [
        {"name": name, "folder": folder, "bytes": size}
        for name, folder, size in state.roots.listed(asked.path, _MOST_LISTED)
    ]
    return ApiResponse({"path": asked.path, "entries": entries})


class _Batch:
    """One batch, from its inputs to its run."""

    def __init__(self, asked: BatchRequest, state: AppState) -> None:
        self._asked = asked
        self._state = state
        self.uploads = state.uploads()
        self._origins: list[InputSource] = []
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
            self.uploads.close()
            raise

    def __call__(self, job: BackgroundJob) -> JsonObject:
        """Do the work of the job."""
        run = self._state.new_runs / new_run_id()
        try:
            return self._scored(job, run)
        except JobCancelled:
            if run.is_dir():
                remove_run(run)
            raise
        except BaseException:
            record_input_sources(run, self._origins)
            raise
        finally:
            self.uploads.close()
            self._state.catalog.forget()

    def _scored(self, job: BackgroundJob, run: Path) -> JsonObject:
        asked = self._asked
        truth, *candidate = [each.copy for each in self._origins]
        result = score(
            truth,
            candidate[0] if candidate else None,
            rules=resolve_rules(
                as_json(asked.rules),
                provider_for_run(self._state.options.provider),
                asked.convention,
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
        record_input_sources(run, self._origins)
        self._note(run)
        return {
            "run": run.name,
            "kept": self._state.options.write,
            "passed": result.passed,
            "notes": [self._state.redactor.text(note) for note in result.notes],
            "summary": self._state.redactor.value(result.to_dict()),
        }

    def _telling(self, job: BackgroundJob, run: Path) -> Progress:
        """How far the work is; a run that is broken off knows where it came from, too."""
        told = False

        def tell(cases: int, bytes_read: int, bytes_total: int | None) -> None:
            nonlocal told
            if not told:
                told = True
                record_input_sources(run, self._origins)
            job.tell(cases, bytes_read, bytes_total)

        return tell

    def _brought(self, side: str, source: BatchSource) -> InputSource:
        """A copy of one side, and what it was called."""
        name, uploads = _name(source), self.uploads
        if source.path is not None:
            copy = uploads.from_path(side, source.path)
            return InputSource(name=name, copy=copy, file=self._state.roots.where(source.path))
        if source.text is not None:
            return InputSource(name=name, copy=uploads.from_text(side, source.name, source.text))
        return InputSource(name=name, copy=uploads.from_rows(side, source.rows or []))

    def _note(self, run: Path) -> None:
        try:
            annotate(run, add=[tag for tag in self._asked.tags if tag.strip()], note=self.title)
        except FieldmarkError:
            # The run is complete without its note.
            return


def _name(source: BatchSource) -> str:
    if source.path is not None:
        return source.path
    if source.text is not None:
        return source.name
    number = len(source.rows or [])
    return f"{number:,} {'row' if number == 1 else 'rows'}"
