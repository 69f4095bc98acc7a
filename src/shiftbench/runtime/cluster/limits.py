"""Jobs that no node of a partition can run are refused before they wait for ever."""

from __future__ import annotations

from pathlib import Path

import yaml

from shiftbench.config.schema import Config
from shiftbench.core.errors import UserError
from shiftbench.runtime import slurm


def refuse_beyond(plan: Config, profile: Path) -> None:
    """UserError with all methods that ask for more than the profile's partition gives."""
    partition = (yaml.safe_load(profile.read_text()).get("default-resources") or {}).get(
        "slurm_partition"
    )
    most, found = given(partition), []
    for study, one in plan.studies.items():
        for method in one.pipelines:
            asked = one.resources(method)
            more = excess({key: getattr(asked, key) for key in most}, most)
            found += [f"{study}, {method}: {said}" for said in more]
    if found:
        where = f"partition {partition}" if partition else "the default partition"
        raise UserError(
            f"{where} takes no such jobs:\n  "
            + "\n  ".join(found)
            + f"\nlower them in the config, or name another slurm_partition in {profile}"
        )


def given(partition: str | None) -> dict[str, float]:
    """The most that a node of the partition, or of the default one, gives to a job.

    minutes, threads, memory_mb; empty where Slurm does not say.
    """
    return _most(slurm.ask("sinfo", "--noheader", "--format=%P|%l|%c|%m") or "", partition)


def excess(asked: dict[str, float], most: dict[str, float]) -> list[str]:
    """What is asked for beyond the most that is given."""
    return [
        f"{key} {value:g}, at most {most[key]:g}"
        for key, value in asked.items()
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
