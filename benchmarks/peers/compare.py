"""Prints how many documents peers score in a CPU second, and how many times that fieldmark does."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable

import orjson

from benchmarks.measure import print_table, reading
from benchmarks.peers.environments import PEERS, Peer, PeerUnavailable
from benchmarks.works import Work, cache_folder

__all__ = ["peers"]

_OFFLINE = {"HF_HUB_OFFLINE": "1", "NO_PROXY": "*", "PYTHONHASHSEED": "0"}
"""Peers may not fetch models while they are timed."""


def peers(works: Iterable[Work], *, limit: float) -> bool:
    """Time fieldmark and every peer on each data set; whether fieldmark is ahead everywhere."""
    ahead = True
    for work in _one_for_each_data_set(works):
        own = reading(work, "results", repeats=1)
        rate = own.documents / own.pipeline
        rows = [("fieldmark", "per-field rules, greedy", f"{rate:,.0f}", "")]
        for peer in PEERS:
            found = _peer_rate(peer, work, limit)
            if isinstance(found, str):
                rows.append((peer.package, peer.method, found, ""))
                continue
            ahead &= rate > found
            rows.append((peer.package, peer.method, f"{found:,.2f}", f"{rate / found:,.1f} times"))
        print_table((work.name, "method", "docs per CPU s", "fieldmark reaches"), rows)
    return ahead


def _one_for_each_data_set(works: Iterable[Work]) -> list[Work]:
    """The first work on each well-formed data set."""
    chosen = {work.data: work for work in reversed(list(works)) if not work.data.malformed}
    return sorted(chosen.values(), key=lambda work: work.data.items)


def _peer_rate(peer: Peer, work: Work, limit: float) -> float | str:
    """Documents per CPU second, or why there is no such figure."""
    truth, candidate = work.data.write(cache_folder("data"))
    patience = 2 * limit + 30  # wall-clock, with starting up
    try:
        command = [str(peer.python()), str(peer.script()), str(truth), str(candidate), str(limit)]
        done = subprocess.run(
            command,
            capture_output=True,
            env={**os.environ, **_OFFLINE},
            timeout=patience,
            check=True,
        )
    except PeerUnavailable as reason:
        return f"skipped: not installable here: {reason}"
    except subprocess.TimeoutExpired:
        return f"none in {patience:g} s"
    except subprocess.CalledProcessError as error:
        reasons = error.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
        return f"skipped: {reasons[-1]}"
    # A peer may print warnings of its own before the adapter's last line.
    answer = orjson.loads(done.stdout.splitlines()[-1])
    return float(answer["documents"] / answer["cpu"])
