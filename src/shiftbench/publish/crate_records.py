"""Checks the form of costs and provenance in a crate; no decision depends on their content."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from shiftbench.config import form_errors
from shiftbench.config.spec_files import Spec
from shiftbench.core.errors import UserError
from shiftbench.core.plain_text import printable
from shiftbench.publish import crate_files
from shiftbench.publish.crate_files import Limits

Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]
OF_MACHINES = ("code", "environment", "digest", "stack", "instructions", "device", "cuda", "tuned")
"""Keys of a spec that depend on where, and with which version, it was planned."""


class _Record(BaseModel):
    """A JSON file whose known keys have these types; further keys are allowed."""

    model_config = ConfigDict(extra="allow", strict=True)

    started: str = ""
    ended: str = ""
    versions: dict[str, str] = {}


class _Cost(_Record):
    """The cost of a run."""

    cpu_seconds: Amount
    wall_seconds: Amount
    peak_memory_bytes: Count
    device: str = "cpu"
    processor: str = ""
    instructions: str = ""


class _Provenance(_Record):
    """The provenance of a study."""

    commit: str
    runs: Count
    core_hours: Amount
    processors: list[str]
    instructions: list[str] = []
    gpus: list[str] = []
    gpu_hours: Amount = 0.0
    note: str = ""
    spec: dict[str, Any] = {}


R = TypeVar("R", bound=_Record)


def meaning(spec: Spec) -> str:
    """Return a spec as text, without what depends on the planning machine and version."""
    kept = {key: value for key, value in spec.items() if key not in OF_MACHINES}
    return json.dumps(kept, sort_keys=True)


def refuse_wrong_cost(path: Path, limits: Limits) -> None:
    """Raise UserError unless a file has the cost of a run."""
    _checked(_Cost, path, limits)


def refuse_wrong_provenance(path: Path, planned: Spec | None, limits: Limits) -> None:
    """Raise UserError unless a file has the provenance of a study, with the planned spec, if any.

    planned: None for published results, which may be older than the config.
    """
    spec = _checked(_Provenance, path, limits).spec
    if planned and spec and meaning(spec) != meaning(planned):
        raise UserError(
            f"{path}: its spec is not that of {planned['study']} in the config of the crate; get it"
            " again"
        )


def _checked(model: type[R], path: Path, limits: Limits) -> R:
    try:
        return model.model_validate(crate_files.read_json(path, limits))
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        place = ".".join(map(str, wrong["loc"])) or "the file"
        message = f"{printable(place)}: {printable(form_errors.message(wrong))}"
        raise UserError(f"{path}: {message}; get the crate again") from None
