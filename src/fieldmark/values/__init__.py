"""JSON values: presence, equality, and parsing of dates, numbers, paths and shapes."""
