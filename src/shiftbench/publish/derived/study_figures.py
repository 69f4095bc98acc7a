"""Make the figures and tables of a published study again from its source data."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from shiftbench.config import jobs, specs
from shiftbench.config.schema import Config
from shiftbench.evaluation import artefact_files
from shiftbench.publish import result_files, source_data
from shiftbench.publish.source_data import SourceData


def derive(study: Path, config: Config, target: Path, others: Collection[str]) -> list[str]:
    """Write the published artefacts of a study below `target`, if it has source data.

    Returns the paths of the files below `target`, such as figures/memory.svg. others: names of
    artefacts to skip. Artefacts that show images are skipped, too, if the images are not kept.
    """
    if not result_files.source_data(study):
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
    """Return whether `derive` makes this file of a published study from its source data.

    No for artefacts that show images, which are not always kept.
    """
    study = path.parents[1]
    folders = (study / "figures", study / "tables")
    return (
        path.parent in folders
        and path.stem not in source_data.SHOWS_IMAGES
        and bool(result_files.source_data(study))
    )
