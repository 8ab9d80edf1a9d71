"""JSON Schemas of the files that people write and of the rows that a run writes.

They follow from the registry and from the readers of configuration: a new strategy or option is in
them as soon as it is registered.
"""

from __future__ import annotations

from fieldmark.config.schema.documents import SCHEMAS, file_name, schema_of

__all__ = ["SCHEMAS", "file_name", "schema_of"]
