"""`POST /api/batch` and `/api/files`: compare two data sets in a background job.

A batch reads copies of its inputs, which are deleted with its job. A run can be resumed if both
sides are files below a root, but not if a side was sent in the request, because it is not stored
anywhere else.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final

import anyio.to_thread
from fastapi import APIRouter, Query

from fieldmark.analyses.runs import annotate, remove_run
from fieldmark.analyses.score import score_with
from fieldmark.data.roots import DataRoots, FileEntry, OpenedPath
from fieldmark.errors import FieldmarkError
from fieldmark.model.json import JsonObject
from fieldmark.runs.disk import write_atomic
from fieldmark.runs.run_directory import MANIFEST, RESULTS, new_run_id
from fieldmark.runs.run_options import complete_options
from fieldmark.runs.settings import resolve_settings
from fieldmark.runs.stored_run import open_run
from fieldmark.values.json_text import pretty_json
from fieldmark.values.presence import is_blank
from fieldmark.values.records import to_json
from fieldmark.web.api_errors import ApiError, ErrorCode
from fieldmark.web.app_state import INBOX, AppState, StateDependency
from fieldmark.web.jobs import BackgroundJob, JobCancelled
from fieldmark.web.request_models import BatchRequest, BatchSource, FileQuery
from fieldmark.web.response_models import FileListResponse, JobResponse, errors
from fieldmark.web.responses import ApiResponse, StrictRoute
from fieldmark.web.server_options import ServerLimits, resolve_rules
from fieldmark.web.views import job_result

router = APIRouter(route_class=StrictRoute, tags=["batch"])
_MAX_LISTED: Final = 2000
_CHUNK: Final = 1 << 20
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")
_SUFFIXES: Final = (".jsonl", ".ndjson", ".json", ".csv", ".tsv")


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
    return ApiResponse({"path": query.path, "entries": [to_json(entry) for entry in entries]})


class _Batch:
    """One batch, from its inputs to its run."""

    def __init__(self, request: BatchRequest, state: AppState) -> None:
        self._request = request
        self._state = state
        self._pages = state.pages.location(request.pages) if request.pages else None
        self.uploads = Uploads(
            state.scratch / INBOX / secrets.token_hex(8), state.roots, state.options.limits
        )
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
            results = run / RESULTS
            if results.is_file() and results.stat().st_size:
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
        run_options = request.run_options(rules)
        run_options["pages"], run_options["out"] = self._pages, run
        options = complete_options(
            truth=truth,
            candidate=candidate[0] if candidate else None,
            **run_options,
        )
        result = score_with(options, progress=report_progress)
        record_input_sources(run, self._sources, self._request.pages)
        self._annotate(run)
        return {"run": run.name, **job_result(state, result)}

    def _annotate(self, run: Path) -> None:
        # The run exists even if its name and tags cannot be written.
        tags = [tag for tag in self._request.tags if not is_blank(tag)]
        with suppress(FieldmarkError):
            annotate(run, add=tags, name=self.title)


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSource:
    """One side of a batch: display name, copy, and original path if it is below a root."""

    name: str
    copy: Path
    file: str | None = None


class Uploads:
    """The inputs of one job in a private directory, which is deleted with the job."""

    def __init__(self, directory: Path, roots: DataRoots, limits: ServerLimits) -> None:
        self._directory = directory
        self._roots = roots
        self._max_bytes = self._bytes_left = limits.input_bytes
        self._max_files = limits.input_files

    def close(self) -> None:
        """Delete the directory."""
        shutil.rmtree(self._directory, ignore_errors=True)

    def add(self, side: str, source: BatchSource) -> InputSource:
        """Copy one side of a batch into the directory."""
        file = None
        if source.path is not None:
            # A copy cannot change after the check.
            with self._roots.open(source.path) as opened:
                copy = self._target(side, _safe_name(source.path.rsplit("/", 1)[-1]))
                if opened.is_file:
                    self._copy(opened, copy)
                else:
                    copy.mkdir()
                    for inner in self._roots.files_in(opened, self._max_files):
                        self._copy(inner, copy / inner.name)
            file = self._roots.location(source.path)
        elif source.text is not None:
            # The suffix determines the format.
            copy = self._target(side, _safe_name(source.name))
            copy.write_bytes(source.text.encode("utf-8", "surrogatepass"))
        elif source.files is not None:
            copy = self._target(side, "files")
            copy.mkdir()
            for uploaded in source.files:
                (copy / uploaded.name).write_bytes(uploaded.text.encode("utf-8", "surrogatepass"))
        else:
            copy = self._target(side, f"{side}.jsonl")
            with copy.open("wb") as lines:
                for row in source.rows or []:
                    lines.write(json.dumps(row, allow_nan=False).encode("ascii") + b"\n")
        return InputSource(name=source.display_name, copy=copy, file=file)

    def _target(self, side: str, name: str) -> Path:
        # The two sides may have files of the same name.
        directory = self._directory / side
        directory.mkdir(parents=True, exist_ok=True)
        return directory / name

    def _copy(self, opened: OpenedPath, target: Path) -> None:
        with target.open("xb") as file:
            while chunk := os.read(opened.fd, _CHUNK):
                self._bytes_left -= len(chunk)
                if self._bytes_left < 0:
                    message = f"The inputs exceed the limit of {self._max_bytes:,} bytes."
                    raise ApiError(ErrorCode.TOO_LARGE, message)
                file.write(chunk)


def _safe_name(name: str) -> str:
    """Return a safe file name with the same suffixes, which determine the format."""
    safe = _UNSAFE.sub("_", name).lstrip("._")[-80:]
    known = safe.lower().removesuffix(".gz").endswith(_SUFFIXES)
    return safe if known else f"{safe or 'rows'}.json" if "." not in safe else safe


def record_input_sources(run: Path, sources: Sequence[InputSource], pages: str) -> None:
    """Replace the copies in the manifest of a run, if it exists, with the original inputs.

    `pages` is the name of the root with its page images, which may differ from the directory's
    name.
    """
    names = {str(source.copy): source.name for source in sources}
    files = [source.file for source in sources]
    try:
        manifest = open_run(run).manifest
        inputs = tuple(
            stored._replace(name=names.get(stored.name, stored.name)) for stored in manifest.inputs
        )
        options = manifest.options
        if None in files:
            # An input was sent in the request and is not stored.
            options = None
        elif options is not None:
            candidate = files[1] if len(files) > 1 else None
            options = {**options, "truth": files[0], "candidate": candidate}
        changed = replace(manifest, inputs=inputs, options=options, pages=pages)
        write_atomic(run / MANIFEST, pretty_json(to_json(changed)))
    except FieldmarkError:
        # Only the names of the inputs are affected: the manifest still refers to the copies.
        return
