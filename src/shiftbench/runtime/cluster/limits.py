"""Refusal of jobs that no node of a partition can run, and that would wait forever."""

from __future__ import annotations

from pathlib import Path

import yaml

from shiftbench.config.schema import Config
from shiftbench.core.errors import UserError
from shiftbench.runtime import slurm


def refuse_beyond(plan: Config, profile: Path) -> None:
    """Raise UserError listing all methods that request more than the profile's partition has."""
    partition = (yaml.safe_load(profile.read_text()).get("default-resources") or {}).get(
        "slurm_partition"
    )
    most, excesses = available(partition), []
    for name, study in plan.studies.items():
        for method in study.pipelines:
            resources = study.resources(method)
            requested = {key: getattr(resources, key) for key in most}
            excesses += [f"{name}, {method}: {more}" for more in excess(requested, most)]
    if excesses:
        where = f"partition {partition}" if partition else "the default partition"
        raise UserError(
            f"{where} cannot run these:\n  "
            + "\n  ".join(excesses)
            + f"\nlower them in the config, or name another slurm_partition in {profile}"
        )


def available(partition: str | None) -> dict[str, float]:
    """Return the most that a node of a partition, or of the default one, can give to a job.

    Keys: minutes, threads, memory_mb; empty if Slurm does not answer.
    """
    return _most(slurm.ask("sinfo", "--noheader", "--format=%P|%l|%c|%m") or "", partition)


def excess(requested: dict[str, float], most: dict[str, float]) -> list[str]:
    """Return messages about the requests that exceed the most that is available."""
    return [
        f"{key} {value:g}, at most {most[key]:g}"
        for key, value in requested.items()
        if value > most.get(key, value)
    ]


def _most(answer: str, partition: str | None) -> dict[str, float]:
    most: dict[str, float] = {}
    for line in answer.split():
        name, span, threads, memory = line.split("|")
        if name.rstrip("*") != partition if partition else not name.endswith("*"):
            continue
        limit = slurm.minutes(span)
        node = {
            "minutes": float("inf") if limit is None else limit,
            "threads": float(threads.rstrip("+")),
            "memory_mb": float(memory.rstrip("+")),
        }
        most = {key: max(value, most.get(key, 0.0)) for key, value in node.items()}
    return most
