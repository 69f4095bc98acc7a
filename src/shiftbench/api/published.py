"""Reads finished results: published ones, and those of a run of the workflow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd
import xarray as xr

from shiftbench.api import _labelled_scores, _own_components
from shiftbench.api._own_components import Folders
from shiftbench.api.arguments import file_path, text
from shiftbench.config import result_paths
from shiftbench.core.errors import UserError
from shiftbench.core.suggestions import refuse_unknown
from shiftbench.data.store import zarr_zip
from shiftbench.evaluation.scoring import tidy_files

CUBES, TABLE = (result_paths.SCORES, result_paths.SOURCE_DATA), result_paths.SCORE_TABLE
"""Names of the stores with a study's scores by task: of a run, and of published results."""


@dataclass(frozen=True)
class Results:
    """The scores of all studies of a config.

    Attributes
    ----------
    folder
        `results/published/CONFIG`, or `results/CONFIG` of a run.
    components
        The folders with components of yours that describe metrics of the studies.
    """

    folder: Path
    components: Folders = ()

    @cached_property
    def studies(self) -> list[str]:
        """The names of the studies that have scores, sorted."""
        return sorted(
            path.parent.name for path in self.folder.glob(f"{result_paths.STUDIES}/*/{TABLE}")
        )

    @cached_property
    def scores(self) -> pd.DataFrame:
        """Every score, a row each, with the columns of `scores.csv`.

        These are study, stream, learner (what the study calls the method), method (its name in the
        library, if it has one), metric, seed, score (NaN for failed seeds and where a metric does
        not apply) and status. It is a table, since an array of all studies would be empty nearly
        everywhere.
        """
        return pd.concat([self._table(name) for name in self.studies], ignore_index=True)

    def study(self, name: str) -> xr.Dataset:
        """Return the scores of one study, labelled as those of `run`.

        Parameters
        ----------
        name
            The name of the study.

        Returns
        -------
        xarray.Dataset
            `score` [stream, learner, metric, seed] and `status` [stream, learner, seed];
            `score_by_task` [..., task] as well in results of a run, and in published ones if the
            study's source data are published.

        Raises
        ------
        UserError
            For a name that is not among `studies`, and for a damaged file.
        """
        refuse_unknown("study", text("name", name), self.studies)
        study = result_paths.study(self.folder, name)
        cubes = [path for one in CUBES if (path := study / one).is_file()]
        with _own_components.known(self.components):
            if not cubes:
                return _labelled_scores.of_table(self._table(name), name)
            tree = zarr_zip.read_tree(cubes[0])
            if "scores" not in tree.children:
                raise UserError(f"{cubes[0]} is not a store of scores; restore it")
            return _labelled_scores.of_tree(tree)

    def intervals(self, name: str) -> pd.DataFrame:
        """Return the mean score of each method of a study, with its 95 % interval over seeds.

        The numbers are those of score tables and of `summary.csv`, in the unit of the metric.

        Parameters
        ----------
        name
            The name of the study.

        Returns
        -------
        pandas.DataFrame
            One row for each `stream`, `learner` and `metric`: `mean`, standard deviation `sd`,
            `low` and `high`, the ends of the interval, and `n`, the number of seeds with a score.
            If no seed has a score, `n` is 0 and the others are NaN; `sd`, `low` and `high` are NaN
            with a single seed, too.

        Raises
        ------
        UserError
            For a name that is not among `studies`, and for a damaged file.
        """
        return _labelled_scores.intervals(self.study(name))

    def _table(self, name: str) -> pd.DataFrame:
        return tidy_files.read(result_paths.study(self.folder, name) / TABLE)

    def __repr__(self) -> str:
        shown = ", ".join(self.studies[:8]) + (", ..." if len(self.studies) > 8 else "")
        return f"<results of {len(self.studies)} studies in {self.folder}: {shown}>"


def load(
    folder: str | Path, components: str | Path | Sequence[str | Path] | None = None
) -> Results:
    """Return the scores of published results, or of a run of the workflow.

    Parameters
    ----------
    folder
        `results/published/CONFIG` or `results/CONFIG`.
    components
        A folder with components of yours, or several, as the config names them. Results hold only
        the names of metrics, so they describe those of your own.

    Returns
    -------
    Results
        `studies`, `study(name)`, `intervals(name)` and `scores`, a table of all.

    Raises
    ------
    UserError
        For a folder without scores.

    Examples
    --------
    >>> import shiftbench as sb
    >>> published = sb.load("results/published/embedded")
    >>> nile = published.study("nile")
    >>> nile["score"].sel(learner="robust", metric="f1", seed=0, stream="nile").item()
    1.0
    >>> published.intervals("regimes").columns.tolist()
    ['stream', 'learner', 'metric', 'mean', 'sd', 'low', 'high', 'n']
    """
    results = Results(file_path("folder", folder), _own_components.folders(components))
    if results.studies:
        return results
    inside = [
        str(path.parent) for at in ("*", "*/*") for path in results.folder.glob(f"{at}/studies")
    ]
    remedy = f"name {' or '.join(sorted(inside))}" if inside else "name results/CONFIG"
    raise UserError(f"{folder}: there are no scores of studies; {remedy}")
