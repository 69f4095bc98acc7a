"""Jobs that no node of a partition can run are refused before they wait for ever."""

from __future__ import annotations

from pathlib import Path

import yaml

from shiftbench import slurm
from shiftbench.errors import UserError
from shiftbench.planning.schema import Config


def refuse_beyond(plan: Config, profile: Path) -> None:
    """UserError with all methods that ask for more than the profile's partition gives."""
    partition = (yaml.safe_load(profile.read_text()).get("default-resources") or {}).get(
        "slurm_partition"
    )
    most = _most(slurm.ask("sinfo", "--noheader", "--format=%P|%l|%c|%m") or "", partition)
    if not most:
        return
    found = []
    for study, one in plan.studies.items():
        for method in one.learners:
            asked = one.resources(method)
            for key, limit in most.items():
                if (value := getattr(asked, key)) > limit:
                    found.append(f"{study}, {method}: {key} {value:g}, at most {limit:g}")
    if found:
        where = f"partition {partition}" if partition else "the default partition"
        raise UserError(
            f"{where} takes no such jobs:\n  "
            + "\n  ".join(found)
            + f"\nlower them in the config, or name another slurm_partition in {profile}"
        )


def _most(answer: str, partition: str | None) -> dict[str, float]:
    """The most that a node of the partition, or of the default one, gives to a job."""
    most: dict[str, float] = {}
    for line in answer.split():
        name, span, threads, memory = line.split("|")
        if name.rstrip("*") != partition if partition else not name.endswith("*"):
            continue
        limit = slurm.minutes(span)
        given = {
            "minutes": float("inf") if limit is None else limit,
            "threads": float(threads.rstrip("+")),
            "memory_mb": float(memory.rstrip("+")),
        }
        most = {key: max(value, most.get(key, 0.0)) for key, value in given.items()}
    return most
