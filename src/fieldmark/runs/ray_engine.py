"""Partitions of a run, processed as tasks of a Ray cluster.

The result of a task does not depend on other tasks: it reports every attribute that its rows use,
and nothing is written before it arrives. So Ray may repeat any task, also after the node with its
result was lost. What is expensive to start stays open in a worker process.

Only the process that started the run calls judges and providers: workers send requests to one
actor, which passes them on. So rate limits, budgets, caches, credentials and programs are in one
process, and no request is made twice if a task is repeated. Responses of models are part of the
usage when the results of their task have arrived, because a resumed run repeats all other tasks.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import socket
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from itertools import count, islice
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, cast
from uuid import uuid4

import ray
from ray import ObjectRef, data
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from fieldmark.compare.provider_lookup import with_sources
from fieldmark.compare.semantic import SimilaritySource
from fieldmark.data.input_files import is_compressed
from fieldmark.data.pairing import PairStream
from fieldmark.data.partitions import (
    IdLine,
    IdRange,
    JoinedLine,
    Partitions,
    id_ranges,
    joined_partitions,
    partition_opener,
    read_ids,
)
from fieldmark.errors import ConfigError, DataError, FieldmarkError
from fieldmark.evaluators.base import Score
from fieldmark.judges.llm.usage_log import held_responses
from fieldmark.judges.similarity_providers import SimilarityMemo
from fieldmark.model.case import Case
from fieldmark.model.comparison import Similarity, TextPair
from fieldmark.runs.gc_tuning import relaxed_gc
from fieldmark.runs.partition_worker import (
    Job,
    NumberedPartition,
    PartitionResult,
    Task,
    Worker,
    WorkerJob,
    group_tasks,
)
from fieldmark.runs.process_engine import WorkersDiedError
from fieldmark.version import VERSION

_Item = TypeVar("_Item")
_Value = TypeVar("_Value")
_Result: TypeAlias = "tuple[ObjectRef[PartitionResult], ObjectRef[bytes]]"
"""The references of a result and its rows."""

_TASK_SEGMENTS: Final = 64
"""The maximum number of segments in a task."""
_TASK_BYTES: Final = 16 << 20
"""The input size in bytes at which a task is complete: about a second of work."""
_AHEAD: Final = 2
"""How many times as many tasks as may run have no consumed result."""
_MAX_RETRIES: Final = 5
"""How often a task is repeated after its worker or node was lost."""
_MAX_STARTS: Final = 5
"""How often it is tried to start a cluster on this machine."""
_CHECK_ADDRESS: Final = "check the address, and RAY_AUTH_TOKEN if the cluster requires a token"
_JOIN_BLOCKS: Final = 16
"""A task reads the ids of this number of blocks of 1 MB."""
_JOIN_BYTES: Final = 256 << 20
"""The input size in bytes for each partition of a join, which holds only ids and offsets."""
_JOIN_BATCH: Final = 4096
_SHARED: Final = "every worker must be able to read the inputs, for example on a shared file system"


def run_on_ray(
    job: Job,
    partitions: Iterable[NumberedPartition],
    *,
    engine: str,
    workers: int | None,
) -> Iterator[PartitionResult]:
    """Yield the results of all partitions, in order.

    At most `workers` tasks run at the same time, by default one for each core of the cluster. Only
    a limited number of tasks is submitted before their results are consumed, so that neither this
    process nor the object store of the cluster collects results.
    """
    segments = 1 if job.waits else _TASK_SEGMENTS
    tasks = group_tasks(partitions, segments=segments, size=_TASK_BYTES)
    pending: deque[_Result] = deque()
    with connection(engine, workers):
        work = ray.remote(num_returns=2, max_retries=_MAX_RETRIES)(_work)
        key, shared = uuid4().hex, [ray.put(job)]
        # Tasks that are left when the run ends early are not cancelled: they write nothing, are few
        # and short, and Ray may crash if a task is cancelled while it finishes.
        while True:
            most = _most_running(workers)
            waiting = [result for result, _ in pending]
            if waiting:
                _, waiting = ray.wait(
                    waiting, num_returns=len(waiting), timeout=0, fetch_local=False
                )
            free = min(most - len(waiting), _AHEAD * most - len(pending))
            for task in islice(tasks, max(0, free)):
                pending.append(cast("_Result", work.remote(key, shared, VERSION, task)))
                waiting.append(pending[-1][0])
            if not pending:
                return
            result, rows = pending[0]
            if result in waiting:
                # Results are consumed in order, but any that is finished makes room.
                ray.wait(waiting, fetch_local=False)
                continue
            fetched = _fetched(result)
            yield fetched._replace(rows=map(_fetched, [rows]) if job.keep_rows else ())
            pending.popleft()


def map_on_ray(
    function: Callable[[_Item], _Value], items: Iterable[_Item], *, workers: int | None
) -> Iterator[_Value]:
    """Yield the result of a function for each item, in order, within a `connection`.

    Only some results are computed before they are consumed.
    """
    call = ray.remote(max_retries=_MAX_RETRIES)(function)
    pending: deque[ObjectRef[_Value]] = deque()
    todo = iter(items)
    while True:
        free = max(1, _most_running(workers) - len(pending))
        pending.extend(call.remote(item) for item in islice(todo, free))
        if not pending:
            return
        yield _fetched(pending.popleft())


def why_not_joined(engine: str, stream: PairStream) -> str:
    """Return why Ray Data cannot join the rows of both sides; empty if it can."""
    if not (stream.by_id and all(side.layout.id_key for side in stream.sides)):
        return "rows have no ids"
    for source in (side.source for side in stream.sides):
        if source.is_table or is_compressed(Path(source.name)):
            return f"{source.name} is not an uncompressed JSONL file"
    if "://" in engine:
        return f"a client of {engine} cannot join them"
    missing = [name for name in ("pandas", "polars", "pyarrow") if find_spec(name) is None]
    extra = 'install "fieldmark[ray,tables]"'
    return f"{', '.join(missing)} is missing; {extra}" if missing else ""


def join_on_ray(stream: PairStream, size: int, *, workers: int | None) -> Partitions:
    """Divide a stream into partitions whose rows are in any order, within a `connection`.

    Ray Data joins the ids of both sides and sorts them by the order of the truth. Only the offsets
    of lines reach this process, a few at a time.
    """
    opener = partition_opener(stream)
    return Partitions(opener, joined_partitions(_joined_lines(stream, workers), size))


def _joined_lines(stream: PairStream, workers: int | None) -> Iterator[JoinedLine]:
    import pyarrow.compute as pc  # type: ignore[import-untyped]

    data.DataContext.get_current().enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    limit, search_map = stream.options.limits.line_bytes, partial(map_on_ray, workers=workers)
    ranges = (
        id_ranges(side.source, side.layout.id_key or "", limit, _JOIN_BLOCKS, search_map)
        for side in stream.sides
    )
    truth, candidate = (
        data.from_items([id_range._asdict() for id_range in own]).map_batches(
            _read_ids, batch_size=1
        )
        for own in ranges
    )
    candidate = candidate.rename_columns({name: f"candidate_{name}" for name in IdLine._fields})
    joined = truth.join(
        candidate,
        "full_outer",
        num_partitions=1 + stream.bytes_total // _JOIN_BYTES,
        on=("id",),
        right_on=("candidate_id",),
    )
    # Candidates without truth come first.
    joined = joined.map_batches(
        lambda table: table.set_column(
            table.schema.get_field_index("number"), "number", pc.fill_null(table["number"], -1)
        ),
        batch_format="pyarrow",
    ).sort("number")
    columns = [*IdLine._fields[1:], *(f"candidate_{name}" for name in IdLine._fields[1:])]
    try:
        for batch in joined.iter_batches(batch_size=_JOIN_BATCH, batch_format="pyarrow"):
            rows = zip(*(cast("Any", batch)[name].to_pylist() for name in columns), strict=True)
            yield from map(JoinedLine._make, rows)
    except RayError as error:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(getattr(cause, "cause", cause), FieldmarkError):
                raise getattr(cause, "cause", cause) from None
            cause = cause.__cause__
        raise


def _read_ids(batch: Any) -> Any:  # noqa: ANN401 - types of Ray
    """Return the ids of the lines of a range as columns."""
    # Ray Data converts values to types of numpy.
    values = (batch[name][0] for name in IdRange._fields)
    lines = read_ids(IdRange(*(getattr(value, "item", value.__str__)() for value in values)))
    return {name: [line[column] for line in lines] for column, name in enumerate(IdLine._fields)}


_worker: tuple[str, Worker] | None = None
"""The worker of the latest run in this process, and the key of the run."""
_open: Final = ExitStack()
"""What this process keeps open until it works for another run."""


def _work(
    key: str, shared: list[ObjectRef[Job]], version: str, task: Task
) -> tuple[PartitionResult, bytes]:
    """Process a task on a worker; its rows are one bytes object, which Ray does not copy.

    The job is in a list, so that Ray does not deserialize it for every task.
    """
    if version != VERSION:
        message = f"the workers have fieldmark {VERSION}, but the run was started with {version}"
        raise ConfigError.of(message, hint="install the same version on all nodes")
    worker = _worker_of(key, shared[0])
    start_task(task[0][0])
    rows: list[bytes] = []
    with relaxed_gc():
        worker.start_over()
        result = worker.work(task, rows.extend)
    return result, b"".join(rows)


def _worker_of(key: str, job: ObjectRef[Job]) -> Worker:
    """Return the worker of this process for a run; start it if the last task was of another run."""
    global _worker  # noqa: PLW0603 - Ray has no other way to keep something between tasks
    if _worker is not None and _worker[0] == key:
        return _worker[1]
    _worker = None
    _open.close()
    opened = ray.get(job)
    try:
        opened.check_readable()
    except DataError as error:
        message = f"{error.message} on {socket.gethostname()}; {_SHARED}"
        raise DataError(message, error.location) from None
    _worker = key, _open.enter_context(opened.open())
    return _worker[1]


def _fetched(reference: ObjectRef[_Value]) -> _Value:
    """Wait for a value; an error of a task is raised as in this process."""
    try:
        return ray.get(reference)
    except RayTaskError as error:
        if isinstance(error.cause, FieldmarkError):
            raise error.cause from None
        raise
    except RayError as error:
        reason = str(error).strip().partition("\n")[0]
        message = f"a task failed {_MAX_RETRIES + 1} times because its worker was lost: {reason}"
        raise WorkersDiedError(message) from error


def _most_running(workers: int | None) -> int:
    """Return how many tasks may run at the same time; clusters may grow and shrink.

    A task for each core waits, so that no core is idle between two tasks and that a cluster grows.
    """
    if workers is not None:
        return workers
    cores = ray.cluster_resources().get("CPU", 1)  # type: ignore[no-untyped-call]
    return 2 * max(1, int(cores))


@contextmanager
def connection(engine: str, workers: int | None) -> Iterator[None]:
    """Join the cluster of the engine, or start one on this machine; keep an open connection."""
    # Nothing may leave this machine unless it is configured.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if ray.is_initialized():
        yield
        return
    address = engine if "://" in engine else os.environ.get("RAY_ADDRESS", "")
    local: dict[str, Any] = {}
    if not address:
        # By default, Ray gives workers the lowest priority, so that any other process delays them.
        os.environ.setdefault("RAY_worker_niceness", "0")
        local = {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
        local["num_cpus"] = workers
    # Ray gives a node 30 seconds to start, which is too short on a busy machine.
    for attempt in range(1 if address else _MAX_STARTS, 0, -1):
        try:
            ray.init(address or "local", log_to_driver=False, logging_level=logging.ERROR, **local)
            break
        except Exception as error:
            ray.shutdown()
            if attempt == 1:
                reason = str(error).strip().partition("\n")[0]
                where = f"connect to {address}" if address else "start a cluster on this machine"
                hint = _CHECK_ADDRESS if address else ""
                raise ConfigError.of(f"engine ray: cannot {where}: {reason}", hint=hint) from error
    try:
        yield
    finally:
        ray.shutdown()


# --- judges and models ----------------------------------------------------------------------------

_MAX_REQUESTS: Final = 100_000
"""The maximum number of requests that wait for a response."""


class _Request(NamedTuple):
    """A request of a worker: the number of a judge or a provider, and its argument.

    Requests with the same `key` are the same, unless it is empty. `task` is the first segment of
    the task that sends it.
    """

    number: int
    argument: object
    key: str = ""
    task: int = 0


class _Response(NamedTuple):
    """The response to a request, or the exception that was raised."""

    value: object = None
    error: BaseException | None = None


class _RequestQueue:
    """The actor: it holds requests until there is a response."""

    def __init__(self) -> None:
        self._numbers = count()
        self._received: asyncio.Queue[tuple[int, _Request]] = asyncio.Queue()
        self._responses: dict[int, asyncio.Future[_Response]] = {}

    async def call(self, request: _Request) -> _Response:
        """Return the response to a request when there is one."""
        number = next(self._numbers)
        response: asyncio.Future[_Response] = asyncio.get_running_loop().create_future()
        self._responses[number] = response
        await self._received.put((number, request))
        try:
            return await response
        finally:
            del self._responses[number]

    async def take(self) -> list[tuple[int, _Request]]:
        """Return new requests with their numbers; wait for at least one."""
        taken = [await self._received.get()]
        while not self._received.empty():
            taken.append(self._received.get_nowait())
        return taken

    async def check(self) -> None:
        """Do nothing; an error is raised if the actor is lost."""

    async def respond(self, number: int, response: _Response) -> None:
        """Respond to a request; if its worker was lost, the response is not used."""
        waiting = self._responses.get(number)
        if waiting is not None and not waiting.done():
            waiting.set_result(response)


@dataclass(frozen=True, slots=True)
class _RemoteScorer:
    """Scores cases with a judge that is open in another process."""

    queue: Any
    number: int

    def __call__(self, case: Case) -> Score:
        return cast("Score", _call(self.queue, _Request(self.number, case, f"{case.id}")))


@dataclass(frozen=True, slots=True)
class _RemoteSource:
    """Returns the similarities of a provider that is used in another process."""

    queue: Any
    number: int

    def similarities(self, pairs: Sequence[TextPair]) -> Sequence[Similarity]:
        """Return one result for each pair, in order."""
        similarities = _call(self.queue, _Request(self.number, list(pairs)))
        return cast("Sequence[Similarity]", similarities)


_task = 0
"""The first segment of the task that this process works on."""


def start_task(segment: int) -> None:
    """Note the current task of this process, by its first segment."""
    global _task  # noqa: PLW0603 - any thread may send requests
    _task = segment


def _call(queue: Any, request: _Request) -> object:  # noqa: ANN401 - the handle of an actor
    response = ray.get(queue.call.remote(request._replace(task=_task)))
    if response.error is not None:
        raise response.error
    return response.value


class Services:
    """Responds to the requests of workers, with `job` for them."""

    def __init__(self, job: WorkerJob, queue: Any) -> None:  # noqa: ANN401 - see `_call`
        self._queue = queue
        self._functions: list[Callable[[Any], object]] = list(job.scorers)
        self._pool = ThreadPoolExecutor(max(1, job.concurrency), "service")
        self._known: dict[tuple[int, str], Future[object]] = {}
        self._responses: defaultdict[int, list[Callable[[], None]]] = defaultdict(list)
        self._settled = 0
        self._lock = threading.Lock()
        scorers = [_RemoteScorer(queue, number) for number in range(len(job.scorers))]
        sources: dict[int, SimilaritySource] = {}

        def remote(source: SimilaritySource) -> SimilaritySource:
            if id(source) not in sources:
                # Worker processes have memos, because a request for a known pair takes time, too.
                remote_source = _RemoteSource(queue, len(self._functions))
                sources[id(source)] = SimilarityMemo(remote_source)
                self._functions.append(source.similarities)
            return sources[id(source)]

        rules, evaluators = with_sources((job.settings.rules, tuple(job.evaluators)), remote)
        settings = replace(job.settings, rules=rules)
        self.job = replace(
            job, settings=settings, evaluators=evaluators, scorers=scorers, waits=True
        )

    def run(self) -> None:
        """Respond to requests until the actor is stopped."""
        try:
            while True:
                for number, request in ray.get(self._queue.take.remote()):
                    self._start(request).add_done_callback(self._sender(number))
        except RayError:
            self._pool.shutdown(cancel_futures=True)

    def _start(self, request: _Request) -> Future[object]:
        """Call the judge or the provider, unless the request of a lost worker is known."""
        key = request.number, request.key
        known = self._known.get(key)
        if known is None:
            known = self._pool.submit(self._call, request)
            if request.key:
                self._known[key] = known
        return known

    def _call(self, request: _Request) -> object:
        with held_responses() as responses:
            try:
                return self._functions[request.number](request.argument)
            finally:
                with self._lock:
                    self._responses[request.task] += responses
                    settled = self._settled
                # A memo may have answered the same request of a repeated task earlier.
                self._record(settled)

    def _record(self, before: int | None = None) -> None:
        """Record the responses of all tasks, or of tasks that start before a segment."""
        with self._lock:
            tasks = [task for task in sorted(self._responses) if before is None or task < before]
            responses = [record for task in tasks for record in self._responses.pop(task)]
        for record in responses:
            record()

    def _sender(self, number: int) -> Callable[[Future[object]], None]:
        def send(done: Future[object]) -> None:
            if done.cancelled():
                return
            error = done.exception()
            response = _Response(None if error else done.result(), error)
            try:
                pickle.dumps(response)
            except Exception as cause:  # noqa: BLE001 - a plug-in may return or raise anything
                response = _Response(error=RuntimeError(f"{error or cause!r}"))
            self._queue.respond.remote(number, response)

        return send

    def settle(self, result: PartitionResult) -> None:
        """Record the model responses behind a result that has arrived, and forget its requests.

        If the actor was lost, these are errors of the run and not of the cases.
        """
        try:
            ray.get(self._queue.check.remote())
        except RayError as error:
            message = "the actor that passes requests to judges and models was lost"
            raise WorkersDiedError(f"{message}; resume the run") from error
        with self._lock:
            self._settled = result.after
        self._record(result.after)
        for case_id in result.ids:
            for number in range(len(self._functions)):
                self._known.pop((number, case_id), None)

    def close(self) -> None:
        """Record all other responses: memos use them if the run continues in this process."""
        self._record()


@contextmanager
def open_services(job: WorkerJob) -> Iterator[Services]:
    """Start the actor, next to this process, and respond to the requests of workers."""
    node = ray.get_runtime_context().get_node_id()
    queue = (
        cast("Any", ray.remote(_RequestQueue))
        .options(
            num_cpus=0,
            max_concurrency=_MAX_REQUESTS,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False),
        )
        .remote()
    )
    services = Services(job, queue)
    thread = threading.Thread(target=services.run, name="services", daemon=True)
    thread.start()
    try:
        yield services
    finally:
        ray.kill(queue)
        thread.join()
        services.close()
