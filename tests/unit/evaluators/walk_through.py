"""The documents of the worked example of the response quality score."""

from __future__ import annotations

from fieldmark.compare.providers import Recorded
from fieldmark.rules.rules_file import read_rules

__all__ = ["CANDIDATE", "EXPECTED", "STRATEGIES"]

EXPECTED = {
    "name": "John Smith",
    "email": "john@example.com",
    "bio": "Senior engineer with 10 years of experience...",
    "internal_id": None,
    "status": "active",
}
CANDIDATE = {
    "name": "John Smyth",
    "email": "john@example.com",
    "bio": "Experienced senior engineer, 10+ years...",
    "internal_id": "abc123",
    "extra_field": "surprise",
}
JUDGED = Recorded(
    scores={
        (EXPECTED["name"], CANDIDATE["name"]): 0.92,
        (EXPECTED["bio"], CANDIDATE["bio"]): 0.88,
    }
)
STRATEGIES = read_rules({"name": "FUZZY", "bio": "SEMANTIC"}, provider=JUDGED).rules.fields
