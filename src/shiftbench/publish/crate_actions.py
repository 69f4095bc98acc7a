"""Actions that made a crate: the run of the workflow, its studies, and their runs.

Times are those that jobs recorded. The description of an action says if there are none.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from shiftbench import __version__
from shiftbench.config import result_paths
from shiftbench.config.schema import Config
from shiftbench.core import atomic_files
from shiftbench.publish import croissant, result_files, store_metadata
from shiftbench.publish.crate_sources import Entity, datasets, references

WORKFLOW = "workflow/Snakefile"
ENGINE = "https://snakemake.github.io"
COMPLETED = "http://schema.org/CompletedActionStatus"
UNKNOWN = "When was not recorded."
TOOLS = {
    result_files.WARM_UPS: ("warm_up", "Learns from the data before a stream, for several runs"),
    result_files.RUNS: ("run_method", "Runs a method on a stream, for a block of seeds"),
    result_paths.STUDIES: ("study", "Joins the runs of a study, and draws its figures and tables"),
    result_files.OVERVIEW: ("overview", "Compares all studies: the ledger of claims"),
}
"""Steps of the workflow, by the folder of their results: name and summary."""
JOBS = (result_files.WARM_UPS, result_files.RUNS)
USAGES = {
    "cpu_seconds": ("processor time", "SEC"),
    "wall_seconds": ("wall time", "SEC"),
    "peak_memory_bytes": ("peak memory", "AD"),
}
"""Costs in the metadata: title, and UN/CEFACT code of the unit."""


class Actions(NamedTuple):
    """Tools, steps of the workflow that use them, and the actions of both."""

    tools: list[Entity]
    steps: list[Entity]
    actions: list[Entity]


def of_crate(crate: Path, plan: Config, config: str) -> Actions:
    """Return the actions that the files of a crate record. config: name of its config file."""
    studies = result_paths.finished(crate)
    inputs = {name: _inputs(plan, config, [name]) for name in studies}
    inputs[result_files.OVERVIEW] = _inputs(plan, config, studies)
    parts = {name: _part_action(crate, name, inputs[name]) for name in result_files.parts(crate)}
    overview = [parts.pop(result_files.OVERVIEW)] if result_files.OVERVIEW in parts else []
    by_folder = {
        kind: [_job_action(crate, kind, key, cost) for key, cost in _costs(crate, kind)]
        for kind in JOBS
    } | {
        result_paths.STUDIES: list(parts.values()),
        result_files.OVERVIEW: overview,
    }
    used = {folder: actions for folder, actions in by_folder.items() if actions}
    whole = _workflow_action(crate, inputs[result_files.OVERVIEW], [*parts.values(), *overview])
    controls = [_control(folder, actions) for folder, actions in used.items()]
    organised = {
        "@id": "#organisation",
        "@type": "OrganizeAction",
        "name": "Run of Snakemake",
        "instrument": {"@id": ENGINE},
        "object": references(controls),
        "result": {"@id": whole["@id"]},
    }
    usages = [
        usage for kind in JOBS for key, cost in _costs(crate, kind) for usage in _usages(key, cost)
    ]
    jobs = [action for actions in used.values() for action in actions]
    return Actions(
        [_tool(folder) for folder in used],
        [_step(position, folder) for position, folder in enumerate(used, 1)],
        [whole, *jobs, organised, *controls, *usages],
    )


def _inputs(plan: Config, config: str, studies: list[str]) -> list[Entity]:
    """Return the inputs of studies: the config, and their raw data."""
    streams = {name for study in studies for name in plan.studies[study].streams}
    return [{"@id": config}, *references(datasets(plan, sorted(streams)))]


def _tool(folder: str) -> Entity:
    name, summary = TOOLS[folder]
    return {
        "@id": f"#tool-{name}",
        "@type": "SoftwareApplication",
        "name": name,
        "description": summary,
        "softwareVersion": __version__,
    }


def _step(position: int, folder: str) -> Entity:
    name, summary = TOOLS[folder]
    return {
        "@id": f"#step-{name}",
        "@type": "HowToStep",
        "name": summary,
        "position": str(position),
        "workExample": {"@id": f"#tool-{name}"},
    }


def _control(folder: str, actions: list[Entity]) -> Entity:
    name, _ = TOOLS[folder]
    return {
        "@id": f"#control-{name}",
        "@type": "ControlAction",
        "name": f"Jobs of {name}",
        "instrument": {"@id": f"#step-{name}"},
        "object": references(actions),
    }


def _workflow_action(crate: Path, inputs: list[Entity], parts: list[Entity]) -> Entity:
    """Return the action of running the workflow."""
    return {
        "@id": "#workflow-run",
        "@type": "CreateAction",
        "name": "Run of the workflow",
        "instrument": {"@id": WORKFLOW},
        "object": inputs,
        "result": [result for part in parts for result in part["result"]],
        "actionStatus": COMPLETED,
        **_times(result_files.times(result_files.origins(crate))),
    }


def _part_action(crate: Path, name: str, inputs: list[Entity]) -> Entity:
    """Return the action that made a study, or the overview."""
    folder = result_files.study_folder(crate, name)
    origin = result_files.origin(folder)
    tool, _ = TOOLS[
        result_files.OVERVIEW if name == result_files.OVERVIEW else result_paths.STUDIES
    ]
    results = [*result_files.of_study(crate, name).values(), folder / result_files.PROVENANCE]
    action = {
        "@id": f"#{name if name == result_files.OVERVIEW else f'study/{name}'}",
        "@type": "CreateAction",
        "name": f"Study {name}" if name != result_files.OVERVIEW else "Overview of all studies",
        "instrument": {"@id": f"#tool-{tool}"},
        "object": inputs,
        "result": [{"@id": path.relative_to(crate).as_posix()} for path in results],
        "actionStatus": COMPLETED,
        **_times(origin),
    }
    notes = [f"Code of commit {origin['commit']}."] if origin.get("commit") else []
    notes += [f"{origin['runs']} runs."] if origin.get("runs") else []
    notes += [origin["note"]] if origin.get("note") else []
    return action | {"description": " ".join([*notes, action.get("description", "")]).strip()}


def _costs(crate: Path, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each job of a kind with its cost. The key is the path of its store without suffix."""
    for store in store_metadata.below(crate / kind):
        key = store.relative_to(crate).as_posix().removesuffix(result_paths.STORE)
        yield key, atomic_files.read_json(crate / f"{key}{result_paths.COST}")


def _job_action(crate: Path, kind: str, key: str, cost: dict[str, Any]) -> Entity:
    store = f"{key}{result_paths.STORE}"
    stream = store_metadata.spec(crate / store)["stream"]["name"]
    return {
        "@id": f"#{key}",
        "@type": "CreateAction",
        "name": key,
        "instrument": {"@id": f"#tool-{TOOLS[kind][0]}"},
        "object": [{"@id": croissant.place(stream).as_posix()}],
        "result": [{"@id": store}, {"@id": f"{key}{result_paths.COST}"}],
        "actionStatus": COMPLETED,
        "resourceUsage": references(_usages(key, cost)),
        **_times(cost),
    }


def _usages(key: str, cost: dict[str, Any]) -> list[Entity]:
    """Return the recorded resource usage of a job."""
    return [
        {
            "@id": f"#{key}/{name}",
            "@type": "PropertyValue",
            "name": title,
            "propertyID": name,
            "unitCode": unit,
            "value": str(cost[name]),
        }
        for name, (title, unit) in USAGES.items()
        if name in cost
    ]


def _times(record: dict[str, Any]) -> Entity:
    """Return start and end, or if they were not recorded, a description with this fact."""
    if "started" in record and "ended" in record:
        return {"startTime": record["started"], "endTime": record["ended"]}
    return {"description": UNKNOWN}
