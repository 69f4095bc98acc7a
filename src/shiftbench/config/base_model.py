"""What all models of config files are made of."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=100)]
"""A part of paths, at most two of them in a file name, which has 255 bytes: see tune.smk."""


class Model(BaseModel):
    """A mapping of known keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def keys(model: type[BaseModel]) -> list[str]:
    """The keys of a model as people write them."""
    return [field.alias or name for name, field in model.model_fields.items()]
