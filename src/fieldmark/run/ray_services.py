"""Judges and providers for the workers of a cluster, which only one process calls.

Workers ask one actor, which passes their questions to the process that started the run. So rate
limits, budgets, caches, credentials and programs are those of that process, and nothing is asked
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

from fieldmark.compare.provider_lookup import with_sources
from fieldmark.compare.semantic import SimilaritySource
from fieldmark.evaluators.base import Score
from fieldmark.judges.llm.usage_log import held_responses
from fieldmark.judges.providers.similarity_memo import SimilarityMemo
from fieldmark.model.case import Case
from fieldmark.model.comparison import Similarity, TextPair
from fieldmark.run.partition_worker import PartitionResult, WorkerJob
from fieldmark.run.process_pool import WorkersDiedError

__all__ = ["Services", "open_services", "start_task"]

_MAX_QUESTIONS: Final = 100_000
"""The maximum number of questions that wait for an answer."""


class _Question(NamedTuple):
    """What a worker asks: the number of a judge or a provider, and its argument.

    Questions with the same `key` are the same, unless it is empty. `task` is the first segment of
    the task that asks.
    """

    number: int
    argument: object
    key: str = ""
    task: int = 0


class _Answer(NamedTuple):
    """The answer to a question, or the exception that was raised."""

    value: object = None
    error: BaseException | None = None


class _Mailbox:
    """The actor: it holds questions until they are answered."""

    def __init__(self) -> None:
        self._numbers = count()
        self._asked: asyncio.Queue[tuple[int, _Question]] = asyncio.Queue()
        self._answers: dict[int, asyncio.Future[_Answer]] = {}

    async def ask(self, question: _Question) -> _Answer:
        """Return the answer to a question when there is one."""
        number = next(self._numbers)
        answer: asyncio.Future[_Answer] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        await self._asked.put((number, question))
        try:
            return await answer
        finally:
            del self._answers[number]

    async def take(self) -> list[tuple[int, _Question]]:
        """Return new questions with their numbers; wait for at least one."""
        taken = [await self._asked.get()]
        while not self._asked.empty():
            taken.append(self._asked.get_nowait())
        return taken

    async def check(self) -> None:
        """Do nothing; an error is raised if the actor is lost."""

    async def answer(self, number: int, answer: _Answer) -> None:
        """Answer a question; if its worker was lost, the answer is not used."""
        waiting = self._answers.get(number)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)


@dataclass(frozen=True, slots=True)
class _RemoteScorer:
    """Scores cases with a judge that is open in another process."""

    mailbox: Any
    number: int

    def __call__(self, case: Case) -> Score:
        return cast("Score", _ask(self.mailbox, _Question(self.number, case, f"{case.id}")))


@dataclass(frozen=True, slots=True)
class _RemoteSource:
    """Returns the similarities of a provider that is used in another process."""

    mailbox: Any
    number: int

    def similarities(self, pairs: Sequence[TextPair]) -> Sequence[Similarity]:
        """Return one result for each pair, in order."""
        found = _ask(self.mailbox, _Question(self.number, list(pairs)))
        return cast("Sequence[Similarity]", found)


_task = 0
"""The first segment of the task that this process works on."""


def start_task(segment: int) -> None:
    """Note on which task this process works now, by its first segment."""
    global _task  # noqa: PLW0603 - questions are asked by any thread
    _task = segment


def _ask(mailbox: Any, question: _Question) -> object:  # noqa: ANN401 - the handle of an actor
    import ray

    answer = ray.get(mailbox.ask.remote(question._replace(task=_task)))
    if answer.error is not None:
        raise answer.error
    return answer.value


class Services:
    """Answers the questions of workers, with `job` for them."""

    def __init__(self, job: WorkerJob, mailbox: Any) -> None:  # noqa: ANN401 - see `_ask`
        self._mailbox = mailbox
        self._functions: list[Callable[[Any], object]] = list(job.scorers)
        self._pool = ThreadPoolExecutor(max(1, job.concurrency), "service")
        self._known: dict[tuple[int, str], Future[object]] = {}
        self._responses: defaultdict[int, list[Callable[[], None]]] = defaultdict(list)
        self._settled = 0
        self._lock = threading.Lock()
        scorers = [_RemoteScorer(mailbox, number) for number in range(len(job.scorers))]
        sources: dict[int, SimilaritySource] = {}

        def remote(source: SimilaritySource) -> SimilaritySource:
            if id(source) not in sources:
                # Worker processes have memos, because asking for what is known takes time, too.
                asked = _RemoteSource(mailbox, len(self._functions))
                sources[id(source)] = SimilarityMemo(asked)
                self._functions.append(source.similarities)
            return sources[id(source)]

        rules, evaluators = with_sources((job.settings.rules, tuple(job.evaluators)), remote)
        settings = replace(job.settings, rules=rules)
        self.job = replace(
            job, settings=settings, evaluators=evaluators, scorers=scorers, waits=True
        )

    def run(self) -> None:
        """Answer questions until the actor is stopped."""
        import ray
        from ray.exceptions import RayError

        try:
            while True:
                for number, question in ray.get(self._mailbox.take.remote()):
                    self._start(question).add_done_callback(self._sender(number))
        except RayError:
            self._pool.shutdown(cancel_futures=True)

    def _start(self, question: _Question) -> Future[object]:
        """Call the judge or the provider, unless the question of a lost worker is known."""
        key = question.number, question.key
        known = self._known.get(key)
        if known is None:
            known = self._pool.submit(self._call, question)
            if question.key:
                self._known[key] = known
        return known

    def _call(self, question: _Question) -> object:
        with held_responses() as responses:
            try:
                return self._functions[question.number](question.argument)
            finally:
                with self._lock:
                    self._responses[question.task] += responses
                    settled = self._settled
                # A memo may have answered the same question of a repeated task earlier.
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
            answer = _Answer(None if error else done.result(), error)
            try:
                pickle.dumps(answer)
            except Exception as cause:  # noqa: BLE001 - a plug-in may return or raise anything
                answer = _Answer(error=RuntimeError(f"{error or cause!r}"))
            self._mailbox.answer.remote(number, answer)

        return send

    def settle(self, result: PartitionResult) -> None:
        """Record the responses behind a result that has arrived, and forget its answers.

        If the actor was lost, these are errors of the run and not of the cases.
        """
        import ray
        from ray.exceptions import RayError

        try:
            ray.get(self._mailbox.check.remote())
        except RayError as error:
            message = "the actor that passes questions to judges and models was lost"
            raise WorkersDiedError(f"{message}; resume the run") from error
        with self._lock:
            self._settled = result.after
        self._record(result.after)
        for case_id in result.ids:
            for number in range(len(self._functions)):
                self._known.pop((number, case_id), None)

    def close(self) -> None:
        """Record all other responses: if the run continues elsewhere, memos answer with them."""
        self._record()


@contextmanager
def open_services(job: WorkerJob) -> Iterator[Services]:
    """Start the actor, next to this process, and answer the questions of workers."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    node = ray.get_runtime_context().get_node_id()
    mailbox = (
        cast("Any", ray.remote(_Mailbox))
        .options(
            num_cpus=0,
            max_concurrency=_MAX_QUESTIONS,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False),
        )
        .remote()
    )
    services = Services(job, mailbox)
    thread = threading.Thread(target=services.run, name="services", daemon=True)
    thread.start()
    try:
        yield services
    finally:
        ray.kill(mailbox)
        thread.join()
        services.close()
