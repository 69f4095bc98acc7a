"""What the site shows, as plain data: the studies that have results, in the order of their configs.

Results are read from the files that are published (see results/README.md); what a study asks, its
streams, methods and settings come from its config. Nothing is computed here.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from shiftbench.config import claims, config_file, schema
from shiftbench.config.claim_schema import Claim
from shiftbench.config.composition import Composition
from shiftbench.config.library import OURS, Library
from shiftbench.config.tuning import TRIALS
from shiftbench.core.errors import UserError
from shiftbench.evaluation.overview import ledger
from shiftbench.evaluation.scoring.summarise import COLUMNS
from shiftbench.publish import publish

Row = Mapping[str, Any]
"""A row of a summary, by column."""


@dataclass(frozen=True)
class Plan:
    """A config: its name, its file as people name it, what it plans, and where each key stands."""

    name: str
    path: Path
    config: schema.Config
    made: Composition


@dataclass(frozen=True)
class Study:
    """A study with results. folder: of its files; trials: of those of its tuning, if it has."""

    plan: Plan
    name: str
    folder: Path

    @property
    def planned(self) -> schema.Study:
        """What its config says of it."""
        return self.plan.config.studies[self.name]

    @property
    def place(self) -> str:
        """Where its pages and files are in the site: CONFIG/STUDY."""
        return f"{self.plan.name}/{self.name}"

    @property
    def trials(self) -> Path:
        """The folder of its trials, which need not be there."""
        return self.folder.with_name(self.name + TRIALS)

    @cached_property
    def summary(self) -> pd.DataFrame:
        """The table of means. UserError where it is none."""
        path = self.folder / "summary.csv"
        table = pd.read_csv(path, keep_default_na=True)
        # Published before it was a column.
        table["published_note"] = table.get("published_note", pd.Series(dtype=object))
        if missing := [name for name in COLUMNS if name not in table]:
            raise UserError(f"{path}: not a summary of this workflow, without {missing[0]}")
        return table.astype({"published_note": object}).fillna({"published_note": ""})

    @cached_property
    def rows(self) -> dict[tuple[str, str, str], Row]:
        """The rows of the summary, by stream, learner and metric."""
        records: list[Any] = self.summary.to_dict("records")
        return {(row["stream"], row["learner"], row["metric"]): row for row in records}

    @cached_property
    def scores(self) -> pd.DataFrame | None:
        """The score of every seed; None where it was published without."""
        path = self.folder / "scores.csv"
        return pd.read_csv(path) if path.exists() else None

    @property
    def streams(self) -> list[str]:
        """Streams that have results."""
        return list(dict.fromkeys(self.summary["stream"]))

    @property
    def learners(self) -> list[str]:
        """Learners that have results, in the study's order."""
        return list(dict.fromkeys(self.summary["learner"]))

    @property
    def metrics(self) -> list[str]:
        """Metrics with a number, such as none of those of known changes has where none is known;
        all of them where every run failed."""
        numbers = self.summary[self.summary["mean"].notna()]
        return list(dict.fromkeys((self.summary if numbers.empty else numbers)["metric"]))

    def by_seed(self, stream: str, metric: str) -> dict[str, np.ndarray]:
        """Scores [seed] of each learner; its mean alone where scores were not published."""
        if self.scores is None:
            rows = self.summary[["stream", "metric", "learner", "mean"]]
            rows = rows.rename(columns={"mean": "score"}).assign(seed=0)
        else:
            rows = self.scores
        chosen = rows[(rows["stream"] == stream) & (rows["metric"] == metric)]
        table = chosen.pivot(index="seed", columns="learner", values="score")
        return {name: table[name].to_numpy(float) for name in self.learners if name in table}

    def label(self, learner: str) -> str:
        """What figures call a learner."""
        known = learner in self.planned.methods
        return self.planned.label(learner) if known else learner

    def method(self, learner: str) -> str | None:
        """The method of the library that a learner is, also with other settings."""
        found = self.planned.methods.get(learner)
        return found.method if found else None

    @cached_property
    def origin(self) -> dict[str, Any]:
        """Core-hours, processors, versions; of published results the commit too."""
        return _origin(self.folder)

    @cached_property
    def trial_hours(self) -> float | None:
        """Core-hours of its trials; None without."""
        return _origin(self.trials).get("core_hours") if self.trials.is_dir() else None

    def chosen(self, stream: str, learner: str) -> dict[str, Any]:
        """What the best of a learner's trials changed; empty where nothing was tried."""
        path = self.trials / "choices" / stream / f"{learner}.json"
        return json.loads(path.read_text(encoding="utf-8"))["settings"] if path.exists() else {}


@dataclass(frozen=True)
class Results:
    """All that the site is made of. ledger: every claim with its verdicts; left_out: studies of
    the folder that no config plans any more; figures: of all studies together."""

    plans: Sequence[Plan]
    studies: Sequence[Study]
    library: Library
    claims: Mapping[str, Claim]
    ledger: pd.DataFrame
    left_out: Sequence[str] = ()
    figures: Sequence[Path] = field(default_factory=list)

    @cached_property
    def namesakes(self) -> set[str]:
        """The methods whose label others have too, as VCL on images and on words."""
        labels = {name: method.data["label"] for name, method in self.library.methods.items()}
        count = Counter(labels.values())
        return {name for name, label in labels.items() if count[label] > 1}


def collect(results: Path, configs: Sequence[Path] = ()) -> Results:
    """What is in a folder of results of one config, or in one of several such folders.

    configs: the files of configs that are not `config/NAME.yaml`. UserError where there are no
    results, or no config is known for them.
    """
    folders = _folders(results)
    plans = {folder: _plan(folder.name, configs) for folder in folders}
    studies = [
        Study(plan, name, folder / "studies" / name)
        for folder, plan in plans.items()
        for name in plan.config.studies
        if not name.endswith(TRIALS) and (folder / "studies" / name / "summary.csv").exists()
    ]
    # Ours, with what a user has beside a config.
    library = next(iter(plans.values())).made.library
    known = claims.load(library)
    tables = {
        (study.plan.name, study.name): path
        for study in studies
        if (path := study.folder / "tables" / "claims.csv").exists()
    }
    spoken = [claim.model_dump(exclude_none=True) for claim in known.values()]
    return Results(
        list(plans.values()),
        studies,
        library,
        known,
        ledger.collect(spoken, tables),
        [name for folder, plan in plans.items() for name in _unplanned(folder, plan)],
        sorted({*results.glob("ranks.png"), *results.glob("overview/ranks.png")}),
    )


def _folders(results: Path) -> list[Path]:
    """The folders of results of one config each."""
    if not results.is_dir():
        raise UserError(f"{results}: there is no such folder; run the workflow first")
    folders = [results] if (results / "studies").is_dir() else sorted(results.iterdir())
    found = [folder for folder in folders if any(folder.glob("studies/*/summary.csv"))]
    if not found:
        raise UserError(f"{results}: no study is finished there; run the workflow first")
    # What needs no download comes first.
    return sorted(found, key=lambda folder: folder.name != "embedded")


def _plan(name: str, configs: Sequence[Path]) -> Plan:
    named = {path.stem: path for path in configs}
    path = named.get(name, Path("config", f"{name}.yaml"))
    found = path if path.is_file() else OURS / path.name
    if not found.is_file():
        raise UserError(
            f"results of the config {name}: there is no {path}; name its file with --config"
        )
    made = config_file.composed(found)
    return Plan(name, path, config_file.planned(made), made)


def _unplanned(folder: Path, plan: Plan) -> Iterator[str]:
    for path in sorted(folder.glob("studies/*/summary.csv")):
        study = path.parent.name.removesuffix(TRIALS)
        if study not in plan.config.studies:
            yield f"{plan.name}/{path.parent.name}"


def _origin(folder: Path) -> dict[str, Any]:
    path = folder / "provenance.json"
    if path.exists():
        return json.loads(path.read_text(encoding="utf-8"))
    known = publish.provenance(folder.parents[1], folder.name, code="")
    del known["commit"]  # the runs need not be of the code that is here today
    return known
