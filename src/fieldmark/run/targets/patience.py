"""Asking again what failed for the moment, after a pause that nobody can foresee."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from fieldmark.model.json import JsonObject
from fieldmark.run.targets.asking import Asking, Produced

__all__ = ["PAUSES", "Pauses", "patient"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pauses:
    """How long to wait before asking again, in seconds.

    A pause is any time up to `first`, doubled with every attempt up to `longest`: those who failed
    together do not come back together. What the other side asks for is honoured up to
    `longest_asked_for`.
    """

    first: float = 0.5
    longest: float = 30.0
    longest_asked_for: float = 60.0

    def before(self, attempt: int, asked_for: float | None = None) -> float:
        """The pause before an attempt, where 1 is the first that is made again."""
        most = min(self.first * 2.0 ** min(attempt - 1, 64), self.longest)
        least = min(asked_for or 0.0, self.longest_asked_for)
        return least + random.uniform(0.0, most)  # noqa: S311 - nothing depends on the secrecy


PAUSES: Final = Pauses()


def patient(
    ask: Asking, retries: int, pauses: Pauses, interrupted: Callable[[float], bool]
) -> Asking:
    """Ask up to `retries` times more, if the failure may pass.

    `interrupted` waits for some seconds and says whether the run was broken off meanwhile.
    """

    def asked(request: JsonObject) -> Produced:
        answer = _once(ask, request)
        for attempt in range(1, retries + 1):
            if not (answer.failure and answer.transient):
                return answer
            if interrupted(pauses.before(attempt, answer.pause)):
                return answer
            answer = _once(ask, request)
        if retries and answer.failure and answer.transient:
            return answer._replace(failure=f"{answer.failure} (asked {retries + 1} times)")
        return answer

    return asked


def _once(ask: Asking, request: JsonObject) -> Produced:
    try:
        return ask(request)
    except Exception as error:  # noqa: BLE001 - what a plug-in raises is this case's error
        return Produced(failure=f"the target crashed: {type(error).__name__}: {error}")
