"""Needs of a method beside the rows of the current task: a memory, facts, guesses, passes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shiftbench.config import components
from shiftbench.config.schema import named_by_kind

PROTOCOL = {
    "boundaries": "to know when the distribution changes",
    "task_identity": "to know which task each row is of",
    "heads": "to know which task each row is of",
}
"""Phrases for what a component may need of the protocol."""
RATES = ("hazard", "prior_log_odds")
"""Settings that say how often the distribution changes."""
NOTHING = "each row once, and nothing else"


def of(pipeline: list[Any]) -> list[str]:
    """Return what the pipeline of a method needs, as phrases; empty where it needs nothing.

    pipeline: components from the outermost inwards, as a config writes them, with the settings that
        are not defaults.
    """
    return list(dict.fromkeys(phrase for part in named_by_kind(pipeline) for phrase in _of(*part)))


def sentence(pipeline: list[Any]) -> str:
    """Return these needs in a line, such as "needs 20 passes over each task"."""
    return f"needs {'; '.join(of(pipeline)) or NOTHING}"


def _of(kind: str, name: str, settings: dict[str, Any]) -> Iterator[str]:
    filled = components.check(kind, name, settings)
    if components.defines(kind, name, "rows_kept"):
        if (size := filled.get("size")) is None:
            yield "a memory of all rows"
        elif size:
            reservoir = filled.get("memory") == "reservoir"
            kept = "times the number of tasks, in a reservoir" if reservoir else "of each task"
            yield f"a memory of {size} rows {kept}"
    if filled.get("beta_p") and "window" in filled:
        yield f"a window of the last {filled['window']} rows"
    if any(setting in filled for setting in RATES):
        yield "a guess of how often the distribution changes"
    elif name == "forget":
        yield "a guess of how fast the past loses its value"
    facts = components.facts(kind, name)
    yield from (
        PROTOCOL[fact] for fact in (*facts.reveals, *facts.possible("requires")) if fact in PROTOCOL
    )
    if (passes := filled.get("epochs", 1)) > 1:
        yield f"{passes} passes over each task"
