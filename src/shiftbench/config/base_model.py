"""The base class of all models of config files."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints

MISSING = ("nan", "null")
"""Names that pandas reads from a table as missing values."""


def _readable(name: str) -> str:
    """Return a name. ValueError for one that pandas would read as a missing value."""
    if name in MISSING:
        raise ValueError(f'tables read the name "{name}" as a missing value; take another name')
    return name


Name = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=100),
    AfterValidator(_readable),
]
"""A name that is part of paths. File names have at most 255 bytes and may join two: see
tune.smk."""


class Model(BaseModel):
    """A mapping with a fixed set of keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def keys(model: type[BaseModel]) -> list[str]:
    """Return the keys of a model as users write them."""
    return [field.alias or name for name, field in model.model_fields.items()]
