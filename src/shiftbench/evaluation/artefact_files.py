"""The files of one artefact: a figure or a table of a study."""

from __future__ import annotations

from pathlib import Path

from shiftbench.config import components
from shiftbench.evaluation import figure_files, table_files
from shiftbench.evaluation.scoring.results import StudyResults


def save(artefact: str, study: StudyResults, stem: Path) -> None:
    """Write STEM.svg and STEM.png of a figure, or STEM.csv and STEM.md of a table."""
    module = components.load("artefacts", artefact)
    if hasattr(module, "draw"):
        figure_files.save(module.draw(study), stem, module.caption(study))
        return
    table = module.tabulate(study)
    shown = module.shown(table) if hasattr(module, "shown") else None
    table_files.save(table, stem, module.caption(study), shown)
