"""Production of candidates with a target, in order and a few cases ahead."""

from __future__ import annotations

import hashlib
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future
from contextlib import closing
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Final, TypeAlias, cast

from fieldmark.data.document_forms import envelope_note
from fieldmark.data.input_warnings import warn_confidences
from fieldmark.data.inputs import Coverage, Envelopes, Inputs
from fieldmark.data.json_parser import JsonDialect, Role, parse_json
from fieldmark.data.json_rows import to_json_value
from fieldmark.data.model_text import REPAIRED, ParsedText, candidate_reader, warn_repaired
from fieldmark.errors import DataError, StorageError
from fieldmark.judges.judge_protocol import judge_request
from fieldmark.judges.retry import Backoff, CircuitBreaker, call_with_retries
from fieldmark.model.case import Case, CaseContext, CaseInput
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.rules.target_settings import Target
from fieldmark.runs.disk import write_atomic
from fieldmark.runs.targets.target import TargetCall, TargetResponse, TargetSource
from fieldmark.values.envelopes import NO_ENVELOPE, recognized
from fieldmark.values.equality import canonical_text
from fieldmark.values.json_text import all_finite, strict_json
from fieldmark.values.value_confidences import ConfidenceReader

_CASES_PER_THREAD: Final = 4
"""The number of cases per thread that are in progress or waiting."""
_REQUEST_KEYS: Final = ("case_id", "input", "question", "metadata")
_NEEDING_CANDIDATE: Final = frozenset({CaseInput.OK, CaseInput.MISSING})
_Task: TypeAlias = tuple[Future[TargetResponse], Callable[[], TargetResponse]]


class ThreadPool:
    """Daemon threads that run tasks in order; unlike with an executor, exit does not wait."""

    def __init__(self, size: int) -> None:
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._stopped = threading.Event()
        for number in range(size):
            threading.Thread(target=self._work, name=f"target-{number}", daemon=True).start()

    def submit(self, task: Callable[[], TargetResponse]) -> Future[TargetResponse]:
        """Run a task as soon as a thread is free."""
        future: Future[TargetResponse] = Future()
        self._tasks.put((future, task))
        return future

    def wait_for_stop(self, seconds: float) -> bool:
        """Wait for some seconds or until the pool is stopped; return whether it was stopped."""
        return self._stopped.wait(seconds)

    def close(self) -> None:
        """Start no further task."""
        self._stopped.set()
        self._tasks.put(None)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None and not self._stopped.is_set():
            future, function = task
            try:
                future.set_result(function())
            except BaseException as error:  # noqa: BLE001 - raised where the result is read
                future.set_exception(error)
        self._tasks.put(None)  # stops the next thread


def produce_candidates(
    target: Target,
    cases: Iterable[Case],
    *,
    warn: Callable[[str], None] = lambda _: None,
    dialect: JsonDialect | None = None,
    reading: Inputs | None = None,
    backoff: Backoff | None = None,
    run_cache: Path | None = None,
) -> Generator[Case, None, None]:
    """Yield every case with a candidate, in order; only a few cases are in memory at a time.

    A case that has a candidate or invalid ground truth is yielded unchanged. If the target fails,
    the case is an error with the reason as its note, never an omission. `warn` may be called from
    any thread. `run_cache` is the directory for cached responses unless the target has its own.
    """
    source = cast("TargetSource", target.source)
    used_dialect = JsonDialect(role=Role.CANDIDATE) if dialect is None else dialect
    reading = reading or Inputs()
    read = candidate_reader(reading, used_dialect)
    coverage = Coverage()
    counted = _CandidateReader(reading, coverage, warn).read
    finish = partial(_produced_case, dialect=used_dialect, read=read, warn=warn)
    size = max(1, target.concurrency)
    with source.opened(target.timeout) as call_once, closing(ThreadPool(size)) as pool:
        call = _with_retries(call_once, max(0, target.retries), backoff or Backoff(), pool)
        directory = run_cache if target.cache is None else target.cache
        if directory:
            identity: JsonObject = {target.type: source.identity()}
            call = TargetCache(directory, identity, warn).cached(call)
        waiting: deque[tuple[Case, Future[TargetResponse] | None]] = deque()
        for case in cases:
            needed = case.candidate is MISSING and case.input in _NEEDING_CANDIDATE
            task = partial(call, target_request(case)) if needed else None
            waiting.append((case, None if task is None else pool.submit(task)))
            if len(waiting) >= size * _CASES_PER_THREAD:
                first, future = waiting.popleft()
                yield counted(finish(first, future), produced=future is not None)
        while waiting:
            first, future = waiting.popleft()
            yield counted(finish(first, future), produced=future is not None)
    if coverage.repaired:
        warn(warn_repaired(coverage.repaired))
    for text in warn_confidences(coverage):
        warn(text)


class _CandidateReader:
    """Separates candidates from their metadata.

    Where a candidate has metadata is decided for each case, because the first candidates of a run
    that is resumed are not produced again.
    """

    def __init__(self, reading: Inputs, coverage: Coverage, warn: Callable[[str], None]) -> None:
        self._confidences = (
            None if reading.confidences is None else ConfidenceReader(reading.confidences)
        )
        self._unwraps = reading.envelopes == Envelopes.UNWRAP
        self._coverage = coverage
        self._warn = warn
        self._warned = False

    def read(self, case: Case, *, produced: bool) -> Case:
        """Return a case with the produced candidate separated from its metadata, and count it."""
        self._coverage.repaired += case.parsed_from == REPAIRED
        candidate, expected = case.candidate, case.expected
        if isinstance(candidate, Missing) or not produced:
            return case
        envelope = recognized([candidate], [expected]) if self._unwraps else NO_ENVELOPE
        if envelope and not self._warned:
            self._warned = True
            self._warn(envelope_note(envelope))
        if self._confidences is None:
            return case._replace(candidate=envelope.separate(candidate, expected).document)
        read = self._confidences.read(candidate, envelope=envelope, other=expected)
        document, confidences = self._coverage.separated(read)
        return case._replace(candidate=document, confidences=confidences)


def target_request(case: Case) -> JsonObject:
    """Return the request for a case, which never contains the ground truth.

    >>> target_request(Case("a", {"total": 1}))
    {'case_id': 'a', 'input': None, 'question': '', 'metadata': {}}
    """
    request = judge_request(case, {})
    case_input = MISSING if case.context is None else case.context.input
    request["input"] = None if case_input is MISSING else case_input
    return {key: request[key] for key in _REQUEST_KEYS}


def _with_retries(call: TargetCall, retries: int, backoff: Backoff, pool: ThreadPool) -> TargetCall:
    """Retry transient failures; an exception in a plug-in is a failure of the case.

    After too many failures in a row, and after a rejection of the credentials, nothing is sent.
    """
    breaker = CircuitBreaker()

    def call_once(request: JsonObject) -> TargetResponse:
        try:
            response = call(request)
            return response if response.failure else response._replace(transient=False)
        except Exception as error:  # noqa: BLE001 - a plug-in may raise anything
            return TargetResponse(failure=f"the target raised {type(error).__name__}: {error}")

    def wait(retry: int, retry_after: float | None) -> bool:
        return pool.wait_for_stop(backoff.delay(retry, retry_after))

    def retrying_call(request: JsonObject) -> TargetResponse:
        if refusal := breaker.refusal():
            return TargetResponse(failure=refusal)
        response, attempts = call_with_retries(lambda: call_once(request), retries, wait)
        breaker.record(
            response.failure, transient=response.transient, unauthorized=response.unauthorized
        )
        if retries and response.transient and attempts > retries:
            return response._replace(failure=f"{response.failure} ({attempts} attempts)")
        return response

    return retrying_call


def _produced_case(
    case: Case,
    future: Future[TargetResponse] | None,
    dialect: JsonDialect,
    read: Callable[[JsonValue, str], ParsedText],
    warn: Callable[[str], None],
) -> Case:
    if future is None:
        return case
    response = future.result()
    if response.warning:
        warn(response.warning)
    if response.on_use is not None:
        response.on_use()
    if response.failure:
        return case._replace(input=CaseInput.FAILED, note=response.failure)
    context = case.context or CaseContext()
    context = context._replace(text=response.text, usage=response.usage)
    case = case._replace(input=CaseInput.OK, note="", context=context)
    if response.unreadable:
        return case._replace(input=CaseInput.PARSE_ERROR, note=response.unreadable)
    if response.text is None:
        value = (
            MISSING
            if response.value is MISSING
            else to_json_value(response.value, dialect, nan_is_null=False)
        )
        return case._replace(candidate=value)
    try:
        parsed = read(case.expected, response.text)
    except DataError as error:
        return case._replace(input=CaseInput.PARSE_ERROR, note=error.message)
    return case._replace(candidate=parsed.value, parsed_from=parsed.parsed_from)


# --- cached responses -----------------------------------------------------------------------------

_FORMAT: Final = 1
_KINDS: Final = ("text", "value")


class TargetCache:
    """A directory of responses; failures are not cached, and corrupt entries are replaced."""

    def __init__(self, directory: Path, identity: JsonObject, warn: Callable[[str], None]) -> None:
        self._directory = directory
        self._identity = identity
        self._warn = warn
        self._pending: dict[str, Future[TargetResponse]] = {}
        self._lock = threading.Lock()
        self._unwritable = False

    def cached(self, call: TargetCall) -> TargetCall:
        """Wrap a call in the cache; identical requests at the same time are sent once."""

        def cached_call(request: JsonObject) -> TargetResponse:
            key = self.key(request)
            with self._lock:
                pending = self._pending.get(key)
                own: Future[TargetResponse] = Future()
                if pending is None:
                    self._pending[key] = own
            if pending is not None:
                return pending.result()
            try:
                own.set_result(self._load(key) or self._store(key, call(request)))
            except BaseException as error:
                own.set_exception(error)
                raise
            finally:
                with self._lock:
                    del self._pending[key]
            return own.result()

        return cached_call

    def key(self, request: JsonObject) -> str:
        """Return the key of a request."""
        depends_on: JsonObject = {"format": _FORMAT, "target": self._identity, "request": request}
        return hashlib.sha256(canonical_text(depends_on)).hexdigest()

    def path(self, key: str) -> Path:
        """Return the file of a cached response."""
        return self._directory / key[:2] / f"{key}.json"

    def _load(self, key: str) -> TargetResponse | None:
        path = self.path(key)
        try:
            return _read_entry(parse_json(path.read_bytes()), key)
        except FileNotFoundError:
            return None
        except (DataError, OSError) as error:
            why = error.message if isinstance(error, DataError) else error.strerror
            self._warn(f"{path}: invalid cached response, requested again: {why}")
            return None

    def _store(self, key: str, response: TargetResponse) -> TargetResponse:
        if response.failure or response.unreadable or self._unwritable:
            return response
        if response.value is not MISSING and not all_finite(response.value):
            return response  # JSON cannot represent it
        kind, content = (
            ("value", response.value) if response.text is None else ("text", response.text)
        )
        entry = {"format": _FORMAT, "key": key, kind: content}
        try:
            with self._lock:
                if not self._directory.is_dir():
                    self._directory.mkdir(parents=True, exist_ok=True)
                    # Responses quote documents, which do not belong in a repository.
                    write_atomic(self._directory / ".gitignore", b"*\n")
            self.path(key).parent.mkdir(exist_ok=True)
            write_atomic(self.path(key), strict_json(entry))
        except (StorageError, OSError) as error:
            self._unwritable = True
            self._warn(f"responses are no longer cached: {error}")
        return response


def _read_entry(entry: object, key: str) -> TargetResponse:
    if not isinstance(entry, dict) or entry.get("format") != _FORMAT or entry.get("key") != key:
        raise DataError("belongs to another request")
    kinds = [kind for kind in _KINDS if kind in entry]
    if kinds == ["text"] and isinstance(entry["text"], str):
        return TargetResponse(text=entry["text"])
    if kinds == ["value"]:
        return TargetResponse(value=entry["value"])
    raise DataError("contains no response")
