"""`POST /api/batch` and `/api/files`: two data sets become a job, and the job a run."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final

import anyio.to_thread
from fastapi import APIRouter, Query

from fieldmark.api.runs import annotate, remove_run
from fieldmark.api.score import score_with
from fieldmark.data.inputs import Inputs
from fieldmark.errors import FieldmarkError
from fieldmark.model.json import JsonObject
from fieldmark.run.options import RunOptions
from fieldmark.run.settings import resolve_settings
from fieldmark.server.app_state import AppState, StateDependency
from fieldmark.server.data_roots import FileEntry
from fieldmark.server.jobs import BackgroundJob, JobCancelled
from fieldmark.server.request_models import (
    BatchRequest,
    BatchSource,
    FileQuery,
    as_json,
    as_object,
)
from fieldmark.server.request_rules import provider_for_run, resolve_rules
from fieldmark.server.response_models import FileListResponse, JobResponse, error_responses
from fieldmark.server.strict_json import ApiResponse, StrictRoute
from fieldmark.server.uploads import InputSource, record_input_sources
from fieldmark.store.run_folder import new_run_id
from fieldmark.values.presence import is_blank

__all__ = ["router"]

router = APIRouter(route_class=StrictRoute, tags=["batch"])
_MAX_LISTED: Final = 2000


@router.post(
    "/batch",
    status_code=202,
    response_model=JobResponse,
    responses=error_responses(400, 403, 413, 422, 429),
)
async def batch(request: BatchRequest, state: StateDependency) -> ApiResponse:
    """Compare two data sets in the background; the answer is the job.

    Rules are checked at once. The run is kept if the server may write, else it lasts as long as
    the server.
    """
    rules = resolve_rules(as_json(request.rules), state.options.provider, request.convention)
    resolve_settings(rules, convention=request.convention, options=as_object(request.options))
    batch = _Batch(request, state)
    try:
        await anyio.to_thread.run_sync(batch.copy_inputs)
        job = state.jobs.start(batch.title, batch.run, batch.uploads.close)
    except BaseException:
        batch.uploads.close()
        raise
    return ApiResponse(job.to_dict(), 202)


@router.get("/files", response_model=FileListResponse, responses=error_responses(403, 422))
def files(query: Annotated[FileQuery, Query()], state: StateDependency) -> ApiResponse:
    """The declared roots, or what is in a folder below one of them."""
    if query.path:
        entries = state.roots.list_folder(query.path, _MAX_LISTED)
    else:
        entries = [FileEntry(name, folder=True, bytes=0) for name in state.roots.names]
    return ApiResponse({"path": query.path, "entries": [each._asdict() for each in entries]})


class _Batch:
    """One batch, from its inputs to its run."""

    def __init__(self, request: BatchRequest, state: AppState) -> None:
        self._request = request
        self._state = state
        self.uploads = state.uploads()
        self._sources: list[InputSource] = []
        sides = (request.truth, request.candidate)
        names = [_display_name(each) for each in sides if each is not None]
        self.title = request.title.strip() or " · ".join(names)

    def copy_inputs(self) -> None:
        """Copy both sides to a private folder."""
        sides = (("truth", self._request.truth), ("candidate", self._request.candidate))
        for side, source in sides:
            if source is None:
                continue
            file = None
            if source.path is not None:
                copy = self.uploads.add_path(side, source.path)
                file = self._state.roots.location(source.path)
            elif source.text is not None:
                copy = self.uploads.add_text(side, source.name, source.text)
            else:
                copy = self.uploads.add_rows(side, source.rows or [])
            self._sources.append(InputSource(name=_display_name(source), copy=copy, file=file))

    def run(self, job: BackgroundJob) -> JsonObject:
        """Score the inputs; a cancelled job leaves no run."""
        run = self._state.new_runs / new_run_id()
        try:
            return self._score(job, run)
        except JobCancelled:
            if run.is_dir():
                remove_run(run)
            raise
        except BaseException:
            record_input_sources(run, self._sources)
            raise
        finally:
            self.uploads.close()
            self._state.catalog.invalidate()

    def _score(self, job: BackgroundJob, run: Path) -> JsonObject:
        request, state = self._request, self._state
        recorded = False

        def report_progress(cases: int, bytes_read: int, bytes_total: int | None) -> None:
            # An interrupted run must know its inputs, too.
            nonlocal recorded
            if not recorded:
                recorded = True
                record_input_sources(run, self._sources)
            job.report_progress(cases, bytes_read, bytes_total)

        truth, *candidate = [source.copy for source in self._sources]
        provider = provider_for_run(state.options.provider)
        options = RunOptions(
            truth=truth,
            candidate=candidate[0] if candidate else None,
            rules=resolve_rules(as_json(request.rules), provider, request.convention),
            convention=request.convention,
            options=as_object(request.options),
            inputs=Inputs(**request.inputs.model_dump()),
            at_least=request.gates.min,
            at_most=request.gates.max,
            values=request.values,
            out=run,
        )
        result = score_with(options, progress=report_progress)
        record_input_sources(run, self._sources)
        # The run is complete without its note.
        with suppress(FieldmarkError):
            annotate(run, add=[tag for tag in request.tags if not is_blank(tag)], note=self.title)
        return {
            "run": run.name,
            "kept": state.options.write,
            "passed": result.passed,
            "notes": [state.redactor.redact_text(note) for note in result.notes],
            "summary": state.redactor.redact(result.to_dict()),
        }


def _display_name(source: BatchSource) -> str:
    if source.path is not None:
        return source.path
    if source.text is not None:
        return source.name
    number = len(source.rows or [])
    return f"{number:,} {'row' if number == 1 else 'rows'}"
