"""Evaluators by fields: pure arithmetic from two documents to a score, loaded one by one."""
