"""Collect what the site shows: the studies with results, in the order of their configs.

Results are read from published files (see results/README.md); questions, streams, methods and
settings come from the config. Nothing is computed here.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from shiftbench.config import claims, config_file, result_paths, schema
from shiftbench.config.claim_schema import Claim
from shiftbench.config.composition import Composition
from shiftbench.config.library import OURS, Library, YamlValue
from shiftbench.config.tuning import TRIALS
from shiftbench.core.errors import UserError
from shiftbench.evaluation.overview import ledger
from shiftbench.evaluation.scoring import summary_files, tidy_files
from shiftbench.publish import result_files, study_copy
from shiftbench.publish.results_folder import ResultsFolder

Row = Mapping[str, Any]
"""A row of a summary, by column."""


@dataclass(frozen=True)
class SiteConfig:
    """A config: its name, its file as users name it, its plan, and the lines of its keys."""

    name: str
    path: Path
    config: schema.Config
    composition: Composition


@dataclass(frozen=True)
class SiteStudy:
    """A study with results. folder: with its files."""

    plan: SiteConfig
    name: str
    folder: Path

    @property
    def planned(self) -> schema.Study:
        """Its plan in the config."""
        return self.plan.config.studies[self.name]

    @property
    def place(self) -> str:
        """Path of its pages and files in the site: CONFIG/STUDY."""
        return f"{self.plan.name}/{self.name}"

    @property
    def trials(self) -> Path:
        """Folder of its trials, which need not exist."""
        return self.folder.with_name(self.name + TRIALS)

    @cached_property
    def summary(self) -> pd.DataFrame:
        """Table of means. Raises UserError if the file is not a summary."""
        return summary_files.read(self.folder / result_paths.SUMMARY)

    @cached_property
    def rows(self) -> dict[tuple[str, str, str], Row]:
        """Rows of the summary, by stream, method and metric."""
        records: list[Any] = self.summary.to_dict("records")
        return {(row["stream"], row["learner"], row["metric"]): row for row in records}

    @cached_property
    def scores(self) -> pd.DataFrame | None:
        """Score of every seed; None if they are not published."""
        path = self.folder / result_paths.SCORE_TABLE
        return tidy_files.read(path) if path.exists() else None

    @cached_property
    def streams(self) -> list[str]:
        """Streams with results."""
        return list(dict.fromkeys(self.summary["stream"]))

    @cached_property
    def methods(self) -> list[str]:
        """Methods with results, in the study's order."""
        return list(dict.fromkeys(self.summary["learner"]))

    @cached_property
    def metrics(self) -> list[str]:
        """Metrics with at least one value; all metrics if every run failed."""
        numbers = self.summary[self.summary["mean"].notna()]
        return list(dict.fromkeys((self.summary if numbers.empty else numbers)["metric"]))

    def by_seed(self, stream: str, metric: str) -> dict[str, np.ndarray]:
        """Return scores [seed] of each method, or only its mean if scores are not published."""
        if self.scores is None:
            rows = self.summary[["stream", "metric", "learner", "mean"]]
            rows = rows.rename(columns={"mean": "score"}).assign(seed=0)
        else:
            rows = self.scores
        chosen = rows[(rows["stream"] == stream) & (rows["metric"] == metric)]
        table = chosen.pivot(index="seed", columns="learner", values="score")
        return {name: table[name].to_numpy(float) for name in self.methods if name in table}

    def label(self, method: str) -> str:
        """Return the label of a method in figures."""
        is_planned = method in self.planned.methods
        return self.planned.label(method) if is_planned else method

    def library_method(self, method: str) -> str | None:
        """Return the method of the library behind one of the study, also with other settings."""
        planned = self.planned.methods.get(method)
        return planned.method if planned else None

    @cached_property
    def origin(self) -> dict[str, Any]:
        """Core-hours, processors and versions; for published results also the commit."""
        return _origin(self.folder)

    @cached_property
    def trial_hours(self) -> float | None:
        """Core-hours of its trials; None without trials."""
        return _origin(self.trials).get("core_hours") if self.trials.is_dir() else None

    def chosen(self, stream: str, method: str) -> dict[str, Any]:
        """Return the settings changed by the best of a method's trials; empty without trials."""
        path = self.trials / result_paths.choice(stream, method)
        return json.loads(path.read_text(encoding="utf-8"))["settings"] if path.exists() else {}


@dataclass(frozen=True)
class SiteResults:
    """All data of the site.

    ledger: every claim with its verdicts; left_out: studies of the folder that no config plans now;
    figures: those about all studies.
    """

    plans: Sequence[SiteConfig]
    studies: Sequence[SiteStudy]
    library: Library
    claims: Mapping[str, Claim]
    ledger: pd.DataFrame
    left_out: Sequence[str] = ()
    figures: Sequence[Path] = field(default_factory=list)

    @cached_property
    def own_methods(self) -> dict[str, YamlValue]:
        """Methods that the configs define under `methods`, outside the library."""
        made = [plan.composition for plan in self.plans]
        return {
            name: method
            for one in made
            for name, method in one.methods.items()
            if method is not one.library.methods.get(name)
        }

    @cached_property
    def methods(self) -> dict[str, YamlValue]:
        """All methods by name: those of the configs first, then those of the library."""
        return {**self.own_methods, **self.library.methods, **self.own_methods}

    @cached_property
    def drawings(self) -> list[Path]:
        """Figures as SVG: those of all studies, and those about all studies."""
        folders = [study.folder / "figures" for study in self.studies]
        of_all = [path.with_suffix(".svg") for path in self.figures]
        return [
            *(path for folder in folders for path in sorted(folder.glob("*.svg"))),
            *filter(Path.exists, of_all),
        ]

    @cached_property
    def namesakes(self) -> set[str]:
        """Methods that share their label with another, as VCL on images and on words."""
        labels = {name: method.data["label"] for name, method in self.methods.items()}
        count = Counter(labels.values())
        return {name for name, label in labels.items() if count[label] > 1}


def collect(results: Path, configs: Sequence[Path] = ()) -> SiteResults:
    """Collect a folder of results of one config, or of several such folders.

    configs: files of configs other than `config/NAME.yaml`. Raises UserError without results, or
    without a config for them.
    """
    folders = _folders(results)
    plans = {folder: _plan(folder.name, configs) for folder in folders}
    finished = {folder: {*result_paths.finished(folder)} for folder in folders}
    studies = [
        SiteStudy(plan, name, result_paths.study(folder, name))
        for folder, plan in plans.items()
        for name in plan.config.studies
        if not name.endswith(TRIALS) and name in finished[folder]
    ]
    if not studies:
        of_configs = ", ".join(str(plan.path) for plan in plans.values())
        raise UserError(
            f"{results}: has results of no study of {of_configs}; run the workflow first, or name"
            " the config of these results with --config"
        )
    # Our library, with the files that a user has beside a config.
    library = next(iter(plans.values())).composition.library
    all_claims = claims.load(library)
    tables = {
        (study.plan.name, study.name): path
        for study in studies
        if (path := study.folder / "tables" / "claims.csv").exists()
    }
    rows = [claim.model_dump(exclude_none=True) for claim in all_claims.values()]
    return SiteResults(
        list(plans.values()),
        studies,
        library,
        all_claims,
        ledger.collect(rows, tables),
        [
            f"{plan.name}/{name}"
            for folder, plan in plans.items()
            for name in result_paths.finished(folder)
            if name.removesuffix(TRIALS) not in plan.config.studies
        ],
        [*results.glob("ranks.png")],
    )


def _folders(results: Path) -> list[Path]:
    """Return the folders of results, each of one config."""
    if not results.is_dir():
        raise UserError(f"{results}: there is no such folder; run the workflow first")
    folders = [results] if (results / result_paths.STUDIES).is_dir() else sorted(results.iterdir())
    finished = [folder for folder in folders if result_paths.finished(folder)]
    if not finished:
        raise UserError(f"{results}: no study is finished there; run the workflow first")
    # The config that needs no download comes first.
    return sorted(finished, key=lambda folder: folder.name != "embedded")


def _plan(name: str, configs: Sequence[Path]) -> SiteConfig:
    by_name = {path.stem: path for path in configs}
    path = by_name.get(name, Path("config", f"{name}.yaml"))
    file = path if path.is_file() else OURS / path.name
    if not file.is_file():
        raise UserError(
            f"results of the config {name}: there is no {path}; name its file with --config"
        )
    composition = config_file.composed(file)
    return SiteConfig(name, path, config_file.planned(composition), composition)


def _origin(folder: Path) -> dict[str, Any]:
    if published := result_files.origin(folder):
        return published
    origin = study_copy.provenance(ResultsFolder(folder.parents[1]), folder.name, code="")
    del origin["commit"]  # the runs need not be of the code that is here today
    return origin
