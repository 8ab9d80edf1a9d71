"""Outcomes become counts, counts become rates, rates become summaries: pure functions of facts."""
