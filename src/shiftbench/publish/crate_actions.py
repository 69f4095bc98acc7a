"""What was done for a crate: the run of the workflow, its studies, and the runs of each.

Times are those that jobs recorded; of what did not record any the description says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from shiftbench import __version__
from shiftbench.config.schema import Config
from shiftbench.core import atomic_files
from shiftbench.publish import files, stores
from shiftbench.publish.crate_sources import Entity, datasets, references

WORKFLOW = "workflow/Snakefile"
ENGINE = "https://snakemake.github.io"
COMPLETED = "http://schema.org/CompletedActionStatus"
UNKNOWN = "When was not recorded."
TOOLS = {
    files.WARM_UPS: ("warm_up", "Learns from the data before a stream, for several runs"),
    files.RUNS: ("run_learner", "Runs a learner on a stream, for a block of seeds"),
    "studies": ("study", "Joins the runs of a study, and draws its figures and tables"),
    files.OVERVIEW: ("overview", "Compares all studies: the ledger of claims, and ranks"),
}
"""What the steps of the workflow do, by the folder of what they make: name and summary."""
USAGES = {
    "cpu_seconds": ("processor time", "SEC"),
    "wall_seconds": ("wall time", "SEC"),
    "peak_memory_bytes": ("peak memory", "AD"),
}
"""What of a cost the metadata repeat: name, and the unit's UN/CEFACT code."""


class Done(NamedTuple):
    """Tools that were used, steps of the workflow that use them, and the actions of both."""

    tools: list[Entity]
    steps: list[Entity]
    actions: list[Entity]


def done(crate: Path, plan: Config, config: str) -> Done:
    """All that the files of a crate tell. config: the file of the plan, in the crate."""
    studies = files.studies(crate)
    inputs = {name: _inputs(plan, config, [name]) for name in studies}
    inputs[files.OVERVIEW] = _inputs(plan, config, studies)
    parts = {name: _part(crate, name, inputs[name]) for name in files.parts(crate)}
    overview = [parts.pop(files.OVERVIEW)] if files.OVERVIEW in parts else []
    by_folder = {
        files.WARM_UPS: _jobs(crate, files.WARM_UPS),
        files.RUNS: _jobs(crate, files.RUNS),
        "studies": list(parts.values()),
        files.OVERVIEW: overview,
    }
    used = {folder: actions for folder, actions in by_folder.items() if actions}
    whole = _whole(crate, inputs[files.OVERVIEW], [*parts.values(), *overview])
    controls = [_control(folder, actions) for folder, actions in used.items()]
    organised = {
        "@id": "#organisation",
        "@type": "OrganizeAction",
        "name": "Run of Snakemake",
        "instrument": {"@id": ENGINE},
        "object": references(controls),
        "result": {"@id": whole["@id"]},
    }
    costs = [one for kind in (files.WARM_UPS, files.RUNS) for one in _costs(crate, kind)]
    usages = [usage for key, cost in costs for usage in _usages(key, cost)]
    jobs = [action for actions in used.values() for action in actions]
    return Done(
        [_tool(folder) for folder in used],
        [_step(position, folder) for position, folder in enumerate(used, 1)],
        [whole, *jobs, organised, *controls, *usages],
    )


def _inputs(plan: Config, config: str, studies: list[str]) -> list[Entity]:
    """What studies begin with: the config, and their raw data."""
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


def _whole(crate: Path, inputs: list[Entity], parts: list[Entity]) -> Entity:
    """The run of the workflow."""
    return {
        "@id": "#workflow-run",
        "@type": "CreateAction",
        "name": "Run of the workflow",
        "instrument": {"@id": WORKFLOW},
        "object": inputs,
        "result": [result for part in parts for result in part["result"]],
        "actionStatus": COMPLETED,
        **_times(files.times([atomic_files.read_json(path) for path in _origins(crate)])),
    }


def _origins(crate: Path) -> list[Path]:
    return [files.place(crate, name) / files.PROVENANCE for name in files.studies(crate)]


def _part(crate: Path, name: str, inputs: list[Entity]) -> Entity:
    """The action behind a study, or behind the overview."""
    folder = files.place(crate, name)
    origin = atomic_files.read_json(folder / files.PROVENANCE)
    tool, _ = TOOLS[files.OVERVIEW if name == files.OVERVIEW else "studies"]
    made = [*files.of_study(crate, name).values(), folder / files.PROVENANCE]
    action = {
        "@id": f"#{name if name == files.OVERVIEW else f'study/{name}'}",
        "@type": "CreateAction",
        "name": f"Study {name}" if name != files.OVERVIEW else "Overview of all studies",
        "instrument": {"@id": f"#tool-{tool}"},
        "object": inputs,
        "result": [{"@id": path.relative_to(crate).as_posix()} for path in made],
        "actionStatus": COMPLETED,
        **_times(origin),
    }
    told = [f"Code of commit {origin['commit']}."] if origin.get("commit") else []
    told += [f"{origin['runs']} runs."] if origin.get("runs") else []
    told += [origin["note"]] if origin.get("note") else []
    return action | {"description": " ".join([*told, action.get("description", "")]).strip()}


def _jobs(crate: Path, kind: str) -> list[Entity]:
    """The actions of the runs or of the warm-ups."""
    return [_job(crate, kind, key, cost) for key, cost in _costs(crate, kind)]


def _costs(crate: Path, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """What each job of a kind did cost, by the path of its store without the suffix."""
    for store in stores.below(crate / kind):
        key = store.relative_to(crate).as_posix().removesuffix(stores.SUFFIX)
        yield key, atomic_files.read_json(crate / f"{key}{files.COST}")


def _job(crate: Path, kind: str, key: str, cost: dict[str, Any]) -> Entity:
    store = f"{key}{stores.SUFFIX}"
    stream = stores.spec(crate / store)["stream"]["name"]
    return {
        "@id": f"#{key}",
        "@type": "CreateAction",
        "name": key,
        "instrument": {"@id": f"#tool-{TOOLS[kind][0]}"},
        "object": [{"@id": f"streams/{stream}.croissant.json"}],
        "result": [{"@id": store}, {"@id": f"{key}{files.COST}"}],
        "actionStatus": COMPLETED,
        "resourceUsage": references(_usages(key, cost)),
        **_times(cost),
    }


def _usages(key: str, cost: dict[str, Any]) -> list[Entity]:
    """What a job used, of what its cost tells."""
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


def _times(told: dict[str, Any]) -> Entity:
    """Start and end where a job told them, and words where it did not."""
    if "started" in told and "ended" in told:
        return {"startTime": told["started"], "endTime": told["ended"]}
    return {"description": UNKNOWN}
