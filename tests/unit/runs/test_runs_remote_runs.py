"""The local copies of remote runs."""

from __future__ import annotations

import pytest

from fieldmark.judges.llm.response_cache import CACHE_DIRECTORY_VARIABLE
from fieldmark.runs.remote_runs import _cache


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("s3://bucket/runs/first", "first"),
        ("s3://bucket/runs/2026-11-18T02:30/", "2026-11-18T02_30"),
        ('s3://bucket/a<b>"c|d*', "a_b__c_d_"),
    ],
)
def test_directory_of_a_copy_has_a_name_that_every_system_allows(tmp_path, monkeypatch, url, name):
    monkeypatch.setenv(CACHE_DIRECTORY_VARIABLE, str(tmp_path))
    assert _cache(url).name == name
