"""The report for people: a view of a run as plain JSON, and one page that draws it."""
