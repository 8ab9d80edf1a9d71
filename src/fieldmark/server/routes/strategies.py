"""`/api/strategies`: the rules of the workspace, imported, exported, checked and proposed."""

from __future__ import annotations

from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Depends, Query

from fieldmark.api.infer import infer as proposed
from fieldmark.config.rules_file import read_rules
from fieldmark.config.yaml_file import parse_yaml
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.server.answers import Reply, StrictRoute
from fieldmark.server.desk import Desk, desk_of
from fieldmark.server.flattening import flattened, nested_document
from fieldmark.server.queries import StrategyQuery
from fieldmark.server.replies import Flattened, Proposed, StrategyState
from fieldmark.server.replies_refused import refused
from fieldmark.server.rules_asked import allowed_rules, rules_under
from fieldmark.server.schemas import (
    FlattenRequest,
    ImportRequest,
    InferRequest,
    Strategies,
    as_json,
)
from fieldmark.server.strategy_file import checked, read_strategies, write_strategies
from fieldmark.server.strategy_rows import counts_of, flat, nested, rows_of

__all__ = ["router"]

router = APIRouter(route_class=StrictRoute, tags=["strategies"])
OurDesk = Annotated[Desk, Depends(desk_of)]


@router.get("/strategies", response_model=StrategyState, responses=refused(422))
def strategies(desk: OurDesk) -> Reply:
    """The rules of the workspace, with how results are counted and judged."""
    return Reply(read_strategies(desk))


@router.put("/strategies", response_model=StrategyState, responses=refused(400, 403, 409, 422))
def put_strategies(asked: Strategies, desk: OurDesk) -> Reply:
    """Put other rules in their place; they are checked first."""
    desk.must_write()
    write_strategies(asked, desk)
    return Reply(read_strategies(desk))


@router.post("/strategies/check", responses=refused(400, 403, 422))
def check(asked: Strategies, desk: OurDesk) -> Reply:
    """Whether rules, options and gates could be used; nothing is written."""
    checked(asked, desk)
    rows = rows_of(as_json(asked.rules))
    return Reply({"fine": True, "rows": rows, "counts": counts_of(rows)})


@router.post("/strategies/import", responses=refused(400, 403, 422))
def import_strategies(asked: ImportRequest, desk: OurDesk) -> Reply:
    """Read a strategy or rules file, flat or nested; nothing is written."""
    value = parse_yaml(asked.text).value if asked.text is not None else as_json(asked.value)
    allowed_rules(value)
    rules_under(value, desk.options.provider, "four_phase")
    read_rules(value)
    rows = rows_of(value)
    return Reply({"rules": value, "rows": rows, "counts": counts_of(rows)})


@router.get("/strategies/export", responses=refused(422))
def export(asked: Annotated[StrategyQuery, Query()], desk: OurDesk) -> Reply:
    """The rules of the workspace as a file: flat, nested, or with everything that is set."""
    known = read_strategies(desk)
    return Reply(_exported(asked.form, known.get("rules")))


@router.post("/strategies/export", responses=refused(400, 422))
def export_given(
    asked: ImportRequest, form: Annotated[StrategyQuery, Query()], desk: OurDesk
) -> Reply:
    """Rules that are sent along, in another form."""
    value = parse_yaml(asked.text).value if asked.text is not None else as_json(asked.value)
    rules_under(value, desk.options.provider, "four_phase")
    return Reply(_exported(form.form, value))


@router.post("/infer", response_model=Proposed, responses=refused(400, 422, 429))
async def infer(asked: InferRequest, desk: OurDesk) -> Reply:
    """Propose rules from documents, with a reason for every choice."""
    desk.must_have_a_turn()
    return Reply(await anyio.to_thread.run_sync(_proposed, asked, limiter=desk.turns))


@router.post("/flatten", response_model=Flattened, responses=refused(400, 422))
def flatten(asked: FlattenRequest) -> Reply:
    """A nested document as flat rows, or flat rows as a nested document."""
    if asked.rows is None:
        rows = flattened(as_json(asked.document))
        return Reply({"rows": [{"path": path, "value": value} for path, value in rows]})
    return Reply(
        {"document": nested_document((row.path, as_json(row.value)) for row in asked.rows)}
    )


def _proposed(asked: InferRequest) -> JsonObject:
    text = proposed(asked.truth, asked.candidate)
    value = parse_yaml(text).value
    return {"text": text, "rules": value, "rows": list(rows_of(value))}


def _exported(form: str, rules: JsonValue) -> JsonValue:
    if form == "rules":
        return rules
    rows = rows_of(rules)
    return nested(rows) if form == "nested" else flat(rows)
