"""Models of the options that requests and tools can set.

The models are allow-lists: an option is part of one only if its declaration says so.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import partial
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, Field, WithJsonSchema, create_model

from fieldmark.values.annotations import Choices
from fieldmark.values.declared_options import DeclaredOption, declared_options

_ModelT = TypeVar("_ModelT", bound=BaseModel)
_MAX_CHARACTERS: Final = 200
_MAX_ITEMS: Final = 20
_MAX_KEYS: Final = 100


def with_options(
    kind: type,
    door: Literal["http", "mcp"],
    *,
    without: Container[str] = (),
    aliases: bool = False,
) -> Callable[[type[_ModelT]], type[_ModelT]]:
    """Return a decorator that adds the options of a class that can be set from outside to a model.

    With `aliases`, they are named as on the command line and in files.
    """

    def add(model: type[_ModelT]) -> type[_ModelT]:
        fields: dict[str, Any] = {
            name: (
                _field_type(option),
                Field(
                    option.default,
                    description=option.help,
                    alias=option.alias if aliases else None,
                ),
            )
            for name, option in declared_options(kind).items()
            if getattr(option.opt, door) and name not in without
        }
        return create_model(
            model.__name__,
            __base__=model,
            __doc__=model.__doc__,
            __module__=model.__module__,
            **fields,
        )

    return add


def given_options(model: BaseModel, kind: type) -> dict[str, Any]:
    """Return the options of a class that a model has, by name."""
    return {
        name: getattr(model, name)
        for name in declared_options(kind)
        if name in type(model).model_fields
    }


def _field_type(option: DeclaredOption) -> Any:  # noqa: ANN401 - pydantic reads it
    """Return the type of an option in a request, with limits on its size."""
    limits: dict[str, Any] = {}
    for constraint in option.constraints:
        if not isinstance(constraint, Choices):
            limits.update(constraint.to_schema())
    text = Annotated[str, Field(min_length=limits.get("minItems"), max_length=_MAX_CHARACTERS)]
    kind: Any
    if option.choices is not None:
        schema = {"type": "string", **option.choices.to_schema()}
        kind = Annotated[
            str, AfterValidator(partial(_checked_name, option.choices)), WithJsonSchema(schema)
        ]
    elif option.is_list:
        kind = Annotated[list[text], Field(max_length=_MAX_ITEMS)]
    elif option.is_mapping and float in getattr(option.types[0], "__args__", ()):
        number = Annotated[float, Field(allow_inf_nan=False)]
        kind = Annotated[dict[str, number], Field(max_length=_MAX_KEYS)]
    elif option.is_mapping:
        kind = dict[str, object]
    elif option.types == (int,):
        kind = Annotated[int, Field(ge=limits.get("minimum"), le=limits.get("maximum"))]
    elif option.types == (str,):
        kind = text
    else:
        (kind,) = option.types
    return kind | None if option.default is None else kind


def _checked_name(choices: Choices, name: str) -> str:
    """Return the name as it is registered."""
    if problem := choices.problem(name):
        raise ValueError(problem)
    return choices.canonical(name) or name
