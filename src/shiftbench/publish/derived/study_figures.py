"""Make the figures and tables of a published study again from its source data."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from shiftbench.config import components, specs
from shiftbench.config.schema import Config
from shiftbench.evaluation import artefact_files
from shiftbench.publish import source_data
from shiftbench.publish.source_data import SourceData


def derive(study: Path, config: Config, target: Path, others: Collection[str]) -> list[str]:
    """Write the published artefacts of a study below `target`, if it has source data.

    Returns the paths of the files below `target`, such as figures/memory.svg. others: names of
    artefacts to skip. Artefacts that source data do not suffice for are skipped, too.
    """
    suffice = source_data.artefacts(study)
    if not suffice:
        return []
    data, names = SourceData(study), []
    for artefact in config.studies[study.name].artefacts:
        stem = f"{components.artefact_kind(artefact)}s/{artefact}"
        published = [path.suffix for path in sorted(study.glob(f"{stem}.*"))]
        if artefact in others or not published or artefact not in suffice:
            continue
        results = data.results(specs.artefact(config, study.name, artefact))
        artefact_files.save(artefact, results, target / stem)
        names += [f"{stem}{kind}" for kind in published]
    return names


def is_derived(path: Path) -> bool:
    """Return whether `derive` makes this file of a published study from its source data."""
    study = path.parents[1]
    folders = (study / "figures", study / "tables")
    return path.parent in folders and path.stem in source_data.artefacts(study)
