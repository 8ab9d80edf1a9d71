"""Cached responses of models."""

from __future__ import annotations

import threading

import pytest

from fieldmark.judges.llm.response_cache import CachedResponse, CacheError, FileResponseCache
from fieldmark.judges.llm.usage_log import LlmCall


def test_first_response_to_a_question_is_never_replaced(tmp_path):
    first, second = (
        CachedResponse({"score": score}, LlmCall("id", "model", 1, 1)) for score in (0.5, 1.0)
    )
    with FileResponseCache.opened(tmp_path / "cache.sqlite3") as cache:
        assert cache.find(["a"]) == {}
        assert cache.store([("a", first)]) == {"a": first}
        assert cache.store([("a", second)]) == {"a": first}


def test_cache_is_not_closed_while_a_thread_uses_it(tmp_path):
    opened = FileResponseCache.opened(tmp_path / "cache.sqlite3")
    cache = opened.__enter__()
    closing = threading.Thread(target=opened.__exit__, args=(None, None, None))
    with cache._lock:
        closing.start()
        closing.join(0.2)
        assert closing.is_alive()
        assert cache._database.execute("SELECT 1").fetchone() == (1,)
    closing.join()
    with pytest.raises(CacheError, match="closed"):
        cache.find(["a"])
