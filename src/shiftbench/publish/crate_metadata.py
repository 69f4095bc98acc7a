"""Metadata of a crate: the description and origin of each of its files.

They follow Workflow Run RO-Crate, with its profiles for processes, workflows and provenance of
steps, https://www.researchobject.org/workflow-run-crate. crate_actions.py gives the actions,
crate_sources.py the cited works and data.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from rocrate import rocrate

from shiftbench import __version__
from shiftbench.config import result_paths
from shiftbench.config.library import Library
from shiftbench.config.schema import Config
from shiftbench.core import atomic_files
from shiftbench.core.errors import UserError
from shiftbench.data.store import checksum
from shiftbench.publish import crate_actions, crate_files, crate_sources, result_files, study_copy
from shiftbench.publish.crate_files import Limits
from shiftbench.publish.crate_sources import Entity, references

NAME = "ro-crate-metadata.json"
ROCRATE = "1.1"
"""Version that these profiles extend."""
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/ro/wfrun/provenance/0.5": "Provenance Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
TERMS = {
    name: f"https://w3id.org/ro/terms/workflow-run#{name}" for name in ("resourceUsage", "sha256")
}
"""Terms of these profiles that RO-Crate 1.1 lacks."""
LICENCE = f"{crate_sources.LICENCES}MIT"
"""The licence of the code."""
LOCK = "envs/requirements.lock"
CODE = "src/"
README = "README.md"
PACKAGES = "https://pypi.org/project"
INPUT, OUTPUT = "#input-config", "#output-summaries"
CONFIG = re.compile(r"config/[A-Za-z0-9][\w.-]*", re.ASCII)
"""Name of a config in a crate."""
TYPES = {
    ".zip": "application/zip", ".smk": "text/plain", ".rst": "text/x-rst", ".toml": "text/plain",
    ".yaml": "application/yaml", ".cff": "application/yaml", ".md": "text/markdown",
    ".csv": "text/csv", ".json": "application/json", ".svg": "image/svg+xml", ".png": "image/png",
}  # fmt: skip
"""Media types by suffix, else plain text; the tables of operating systems differ by machine."""


def write(crate: Path, plan: Config, library: Library, config: str, is_ours: bool) -> None:
    """Write the metadata of all other files of a crate.

    config: name of its config file; is_ours: whether that is one of this repository.
    """
    cited = crate_sources.citation(crate, is_ours)
    works, licence = crate_sources.cited_works(plan, library), crate_sources.licence(cited)
    data = [*crate_sources.datasets(plan, plan.streams), *crate_sources.raw_files(plan)]
    done = crate_actions.of_crate(crate, plan, config)
    described = rocrate.ROCrate(version=ROCRATE)
    described.metadata.extra_terms = TERMS
    _add_files(described, crate)
    workflow = _add_workflow(described, crate, done)
    packages = _packages(crate)
    _set(workflow, {"softwareRequirements": [{"@id": LOCK}, *references(packages)]})
    parameters = _parameters(crate, config)
    for parameter in parameters:
        for example in parameter["workExample"]:
            _set(described.get(example["@id"]), {"exampleOfWork": {"@id": parameter["@id"]}})
    mit = crate_sources.licence(cited._replace(licence="MIT"))
    licences = [mit] if licence == mit else [mit, licence]
    context = [*cited.authors, *works, *packages, *parameters, *_profiles(), *licences]
    for entity in (*data, *context, *done.tools, *done.steps, *done.actions):
        _add(described, entity)
    created = [action for action in done.actions if action["@type"] == "CreateAction"]
    ended = [origin.get("ended", "") for origin in result_files.origins(crate)]
    root = {
        "name": cited.name or f"shiftbench: results of {Path(config).stem}",
        "description": _description(crate, cited.title),
        "datePublished": max(ended) or crate_sources.released(crate),
        "license": {"@id": licence["@id"]},
        "author": references(cited.authors),
        "publisher": references(cited.authors),
        "citation": references(works),
        "mentions": references(created),
        "conformsTo": [{"@id": profile} for profile in PROFILES],
    }
    _set(described.root_dataset, root)
    _set(described.get(README), {"about": {"@id": "./"}})
    document = described.metadata.generate()
    document["@graph"] = [_plain(entity) for entity in document["@graph"]]
    text = json.dumps(document, indent=1, ensure_ascii=False)
    atomic_files.write(crate / NAME, f"{text}\n")


def checksums(crate: Path, limits: Limits = crate_files.DEFAULT) -> dict[str, str]:
    """Return the sha256 of each file in the metadata of a crate. Raises UserError without them."""
    return {
        unquote(entity["@id"]): entity["sha256"]
        for entity in _entities(crate, limits)
        if isinstance(entity.get("sha256"), str)
        and "://" not in entity["@id"]
        and not entity["@id"].startswith("#")
    }


def config_file(crate: Path, limits: Limits = crate_files.DEFAULT) -> str:
    """Return the name of the config of a crate. UserError where the metadata do not have it."""
    for entity in _entities(crate, limits):
        example = entity.get("workExample")
        if entity["@id"] == INPUT and isinstance(example, dict):
            name = example.get("@id")
            if isinstance(name, str) and CONFIG.fullmatch(name) and (crate / name).is_file():
                return name
    raise UserError(f"{crate / NAME}: names no config of this crate; get the crate again")


def _entities(crate: Path, limits: Limits) -> list[Entity]:
    """Return all entities of a crate, each with a text as @id. UserError where there are none."""
    document = crate_files.read_json(crate / NAME, limits)
    graph = document.get("@graph") if isinstance(document, dict) else None
    entities = graph if isinstance(graph, list) else []
    named = [
        entity
        for entity in entities
        if isinstance(entity, dict) and isinstance(entity.get("@id"), str)
    ]
    if not named or len(named) < len(entities):
        raise UserError(f"{crate / NAME}: not the metadata of a crate; get the crate again")
    return named


def _add_files(described: Any, crate: Path) -> None:
    """Add all files with their checksums, and the code as one folder."""
    for path in sorted(path for path in crate.rglob("*") if path.is_file()):
        name = path.relative_to(crate).as_posix()
        if not name.startswith(CODE) and name != crate_actions.WORKFLOW:
            described.add_file(path, name, properties=_file(path, name))
    code = {
        "name": "The code of shiftbench",
        "version": f"{__version__}, commit {study_copy.commit() or 'unknown'}",
    }
    described.add_dataset(crate / CODE, CODE, properties=code)


def _add_workflow(described: Any, crate: Path, done: crate_actions.Actions) -> Any:
    """Add the main entity, with the steps of the workflow, and return it."""
    path = crate / crate_actions.WORKFLOW
    engine = re.search(r"^snakemake==(\S+)", (crate / LOCK).read_text(encoding="utf-8"), re.M)
    version = engine[1] if engine else None
    workflow = described.add_workflow(
        path, crate_actions.WORKFLOW, main=True, lang="snakemake", lang_version=version,
        properties={
            "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"],
            **_file(path, crate_actions.WORKFLOW),
        },
    )  # fmt: skip
    described.add_jsonld(
        {
            "@id": crate_actions.ENGINE,
            "@type": "SoftwareApplication",
            "name": "Snakemake",
            "url": crate_actions.ENGINE,
            "softwareVersion": version or "unknown",
        }
    )
    properties = {
        "name": "The workflow of shiftbench",
        "version": study_copy.commit() or __version__,
        "license": {"@id": LICENCE},
        "hasPart": references(done.tools),
        "step": references(done.steps),
        "input": [{"@id": INPUT}],
        "output": [{"@id": OUTPUT}],
    }
    _set(workflow, properties)
    return workflow


def _profiles() -> list[Entity]:
    """Return the profiles that the crate conforms to."""
    return [
        {"@id": at, "@type": "CreativeWork", "name": name, "version": at.rpartition("/")[2]}
        for at, name in PROFILES.items()
    ]


def _parameters(crate: Path, config: str) -> list[Entity]:
    """Return input and output of the workflow: a config, and a summary of each of its studies."""
    summaries = [
        {
            "@id": (result_files.study_folder(crate, name) / result_paths.SUMMARY)
            .relative_to(crate)
            .as_posix()
        }
        for name in result_paths.finished(crate)
    ]
    return [
        {
            "@id": at,
            "@type": "FormalParameter",
            "additionalType": "File",
            "name": name,
            "workExample": examples,
        }
        for at, name, examples in (
            (INPUT, "config", [{"@id": config}]),
            (OUTPUT, "summaries", summaries),
        )
    ]


def _packages(crate: Path) -> list[Entity]:
    """Return the packages that results depend on, in the versions of the studies."""
    versions = {
        item
        for origin in result_files.origins(crate)
        for item in origin.get("versions", {}).items()
    }
    return [
        {
            "@id": f"{PACKAGES}/{name}/{version}",
            "@type": "SoftwareApplication",
            "name": name,
            "url": f"{PACKAGES}/{name}/{version}",
            "softwareVersion": version,
        }
        for name, version in sorted(versions)
    ]


def _file(path: Path, name: str) -> Entity:
    return {
        "name": name,
        "encodingFormat": TYPES.get(path.suffix, "text/plain"),
        "contentSize": str(path.stat().st_size),
        "sha256": checksum.sha256(path),
    }


def _add(described: Any, entity: Entity) -> None:
    """Add an entity; a file counts as data of the crate, even at another address."""
    properties = {key: value for key, value in entity.items() if key != "@id"}
    if entity["@type"] == "File":
        described.add_file(entity["@id"], properties=properties)
    else:
        described.add_jsonld(dict(entity))


def _set(entity: Any, properties: Entity) -> None:
    for key, value in properties.items():
        entity[key] = value


def _plain(entity: Entity) -> Entity:
    """Return an entity as RO-Crate requires: single values without a list, no empty values."""
    single = {
        key: value[0] if value and len(value) == 1 else value
        for key, value in entity.items()
        if isinstance(value, list)
    }
    return {key: value for key, value in (entity | single).items() if value not in ([], "")}


def _description(crate: Path, title: str) -> str:
    names = result_paths.finished(crate)
    return (
        f"{f'{title}. ' if title else ''}Results of {len(names)} studies ({', '.join(names)}), with"
        " the code, the config and the versions that made them."
    )
