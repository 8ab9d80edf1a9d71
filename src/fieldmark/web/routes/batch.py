"""`POST /api/batch` and `/api/files`: compare two data sets in a background job."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final

import anyio.to_thread
from fastapi import APIRouter, Query

from fieldmark.analyses.runs import annotate, remove_run
from fieldmark.analyses.score import score_with
from fieldmark.data.roots import FileEntry
from fieldmark.errors import FieldmarkError
from fieldmark.model.json import JsonObject
from fieldmark.report.html.metrics import tiles
from fieldmark.runs.run_directory import RESULTS, new_run_id
from fieldmark.runs.run_options import complete_options
from fieldmark.runs.settings import resolve_settings
from fieldmark.runs.stored_run import open_run
from fieldmark.values.presence import is_blank
from fieldmark.values.records import to_json
from fieldmark.web.app_state import AppState, StateDependency
from fieldmark.web.jobs import BackgroundJob, JobCancelled
from fieldmark.web.request_models import (
    BatchRequest,
    FileQuery,
    resolve_rules,
)
from fieldmark.web.response_models import FileListResponse, JobResponse, errors
from fieldmark.web.strict_json import ApiResponse, StrictRoute
from fieldmark.web.uploads import InputSource, record_input_sources

router = APIRouter(route_class=StrictRoute, tags=["batch"])
_MAX_LISTED: Final = 2000


@router.post(
    "/batch", status_code=202, response_model=JobResponse, responses=errors(400, 403, 413, 422, 429)
)
async def start_batch(request: BatchRequest, state: StateDependency) -> ApiResponse:
    """Compare two data sets in a background job and return the job.

    Rules and reading options are checked before the job starts. If the server is read-only, the run
    is deleted when the server stops.
    """
    rules = resolve_rules(request.all_rules(state.options.rules or None), state.options.models)
    options = complete_options(**request.run_options(rules))
    resolve_settings(**options)
    batch = _Batch(request, state)
    try:
        await anyio.to_thread.run_sync(batch.copy_inputs)
        job = state.jobs.start(batch.title, batch.run, batch.uploads.close)
    except BaseException:
        batch.uploads.close()
        raise
    return ApiResponse(job.to_dict(), 202)


@router.get("/files", response_model=FileListResponse, responses=errors(403, 422))
def list_files(query: Annotated[FileQuery, Query()], state: StateDependency) -> ApiResponse:
    """List the roots, or the files and directories in a directory below a root."""
    if query.path:
        entries = state.roots.list_directory(query.path, _MAX_LISTED)
    else:
        entries = [FileEntry(name, directory=True, bytes=0) for name in state.roots.names]
    return ApiResponse({"path": query.path, "entries": [to_json(each) for each in entries]})


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


class _Batch:
    """One batch, from its inputs to its run."""

    def __init__(self, request: BatchRequest, state: AppState) -> None:
        self._request = request
        self._state = state
        self._pages = state.pages.location(request.pages) if request.pages else None
        self.uploads = state.uploads()
        self._sources: list[InputSource] = []
        self._sides = {
            side: source
            for side, source in (("truth", request.truth), ("candidate", request.candidate))
            if source is not None
        }
        names = [source.display_name for source in self._sides.values()]
        self.title = request.title.strip() or " · ".join(names)

    def copy_inputs(self) -> None:
        """Copy both sides to a private directory."""
        self._sources = [self.uploads.add(side, source) for side, source in self._sides.items()]

    def run(self, job: BackgroundJob) -> JsonObject:
        """Score the inputs; a cancelled job keeps the compared cases as an interrupted run."""
        run = self._state.new_runs / new_run_id()
        try:
            return self._score(job, run)
        except JobCancelled:
            if _size(run / RESULTS):
                record_input_sources(run, self._sources, self._request.pages)
                self._annotate(run)
                # Cases are stored after the progress that was reported last.
                job.cases = sum(1 for _ in open_run(run).lines())
                job.result = {"run": run.name, "saved": self._state.options.write}
            elif run.is_dir():
                remove_run(run)
            raise
        except BaseException:
            record_input_sources(run, self._sources, self._request.pages)
            raise
        finally:
            self.uploads.close()
            self._state.catalog.invalidate()

    def _score(self, job: BackgroundJob, run: Path) -> JsonObject:
        request, state = self._request, self._state
        recorded = False

        def report_progress(cases: int, bytes_read: int, bytes_total: int | None) -> None:
            # An interrupted run needs its inputs as well.
            nonlocal recorded
            if not recorded:
                recorded = True
                record_input_sources(run, self._sources, self._request.pages)
            job.report_progress(cases, bytes_read, bytes_total)

        truth, *candidate = [source.copy for source in self._sources]
        models = state.options.models.for_run()
        rules = resolve_rules(request.all_rules(state.options.rules or None), models)
        given = request.run_options(rules)
        given["pages"], given["out"] = self._pages, run
        options = complete_options(
            truth=truth,
            candidate=candidate[0] if candidate else None,
            **given,
        )
        result = score_with(options, progress=report_progress)
        record_input_sources(run, self._sources, self._request.pages)
        self._annotate(run)
        return {
            "run": run.name,
            "saved": state.options.write,
            "passed": result.passed,
            "notes": [state.redactor.redact_text(note) for note in result.notes],
            "headline": [tile.to_dict() for tile in tiles(result.summary)[:2]],
            "summary": state.redactor.redact(result.to_dict()),
        }

    def _annotate(self, run: Path) -> None:
        # The run exists even if its name and tags cannot be written.
        tags = [tag for tag in self._request.tags if not is_blank(tag)]
        with suppress(FieldmarkError):
            annotate(run, add=tags, name=self.title)
