"""Judges and providers for the workers of a cluster, which only one process calls.

Workers send requests to one actor, which passes them to the process that started the run. So rate
limits, budgets, caches, credentials and programs belong to that process, and no request is made
twice if a task is repeated. Responses of models are part of the usage when the results of their
task have arrived, because a resumed run repeats all other tasks.
"""

from __future__ import annotations

import asyncio
import pickle
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Final, NamedTuple, cast

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from fieldmark.compare.provider_lookup import with_sources
from fieldmark.compare.semantic import SimilaritySource
from fieldmark.evaluators.base import Score
from fieldmark.judges.llm.usage_log import held_responses
from fieldmark.judges.similarity_providers import SimilarityMemo
from fieldmark.model.case import Case
from fieldmark.model.comparison import Similarity, TextPair
from fieldmark.runs.partition_worker import PartitionResult, WorkerJob
from fieldmark.runs.process_engine import WorkersDiedError

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
        found = _call(self.queue, _Request(self.number, list(pairs)))
        return cast("Sequence[Similarity]", found)


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
        """Record the responses of all tasks, or of those that start before a segment."""
        with self._lock:
            tasks = [each for each in sorted(self._responses) if before is None or each < before]
            responses = [each for task in tasks for each in self._responses.pop(task)]
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
        """Record all other responses, so that the run can continue on another machine."""
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
