"""Make the figures and tables of a published study again from its source data."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from shiftbench.config import jobs, specs
from shiftbench.config.schema import Config
from shiftbench.evaluation import artefact_files
from shiftbench.publish import source_data
from shiftbench.publish.source_data import SourceData


def derive(study: Path, config: Config, target: Path, others: Collection[str]) -> list[str]:
    """Write the published artefacts of a study below `target`, if it has source data.

    Returns the names of the files below the study's folder, such as figures/memory.svg. others:
    names of artefacts that are left alone, as are those that show images which were not kept.
    """
    if not (study / source_data.FILE).exists():
        return []
    data, names = SourceData(study), []
    for artefact in config.studies[study.name].artefacts:
        stem = f"{'figures' if jobs.is_figure(artefact) else 'tables'}/{artefact}"
        published = [path.suffix for path in sorted(study.glob(f"{stem}.*"))]
        if artefact in others or not published or not data.suffices(artefact):
            continue
        results = data.results(specs.artefact(config, study.name, artefact))
        artefact_files.save(artefact, results, target / stem)
        names += [f"{stem}{kind}" for kind in published]
    return names


def is_derived(path: Path) -> bool:
    """Return whether source data are published from which `derive` can make this file."""
    study = path.parents[1]
    folders = (study / "figures", study / "tables")
    return (
        path.parent in folders
        and path.stem not in source_data.SHOWS_IMAGES
        and (study / source_data.FILE).exists()
    )
