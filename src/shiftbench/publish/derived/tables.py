"""Tables of a published study, derived again from the scores that are committed with it.

The cube of scores and the runs behind it are not committed, so that only tables that rest on
scores by seed can be derived; `NEEDS_RUNS` names the others, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from shiftbench.config import components, specs
from shiftbench.config.schema import Config
from shiftbench.evaluation import table_files
from shiftbench.evaluation.scoring import results
from shiftbench.evaluation.scoring.results import StudyResults

FROM_SCORES = ("claims", "neighbours", "regime-table", "score-table")
"""Tables that scores by seed are enough for; of claims, the share of training is as published."""
NEEDS_RUNS = {
    "average-accuracy": "the spread within segments is of scores by task",
    "changepoint-dates": "the dates and the sizes of changes are in the streams",
    "changepoint-table": "the score of no changepoint needs the series",
    "continual-table": "the settings that won are read from the runs",
    "published-table": "the printed numbers are found by the specs of streams and runs",
    "referral-table": "the printed numbers are found by the specs of streams and runs",
    "regression-table": "the units of targets are in the streams",
    "regret-table": "the printed numbers are found by the specs of streams and runs",
    "word-changes": "the words that changed are in the runs",
}
"""All other tables, with what they need that is not committed."""
SEEDS = re.compile(r" (?:Seeds vary|All seeds see|Looks ahead: ).*\Z", re.DOTALL)
"""The end of a caption, about what seeds vary: it is read from the runs, and kept as published."""


@dataclass(frozen=True)
class _Published(StudyResults):
    """The results of a study without runs: what is told of them is as published.

    seeds: the end of a caption about seeds. shares: of the paper's training, by stream and method.
    by_metric: the scores of the cube, as `by_metric` has them.
    """

    seeds: str = ""
    shares: Mapping[tuple[str, str], float] = field(default_factory=dict)
    by_metric: Mapping[tuple[str, str], Mapping[str, np.ndarray]] = field(default_factory=dict)

    def score(self, stream: str, learner: str, metric: str) -> np.ndarray:
        """Scores [seed]; NaN for failed seeds."""
        return self.by_metric[stream, metric][learner]

    def share(self, stream: str, method: str, paper: str) -> float:
        """The published share; rounded, as the table has it."""
        return self.shares[stream, method]

    def _caption_notes(self, streams: Sequence[str]) -> tuple[str, str]:
        return self.seeds, ""


_NO_STREAM = xr.Dataset(attrs={"spec": "{}"})
"""Stands for a stream, whose store is not published; it has no setting of a user's data."""


def derive(study: Path, config: Config, stem: Path) -> list[str]:
    """Write the tables of a published study that scores are enough for below the folder `stem`.

    Returns their names below the study's folder, such as tables/neighbours.csv.
    """
    there = [path.stem for path in sorted(study.glob("tables/*.csv"))]
    names = [name for name in there if name in FROM_SCORES]
    found = cube(scores(study)) if names else xr.Dataset()
    for name in names:
        spec = specs.artefact(config, study.name, name)
        _derive(name, _results(study, spec, found), stem / "tables" / name)
    return [f"tables/{name}.{kind}" for name in names for kind in ("csv", "md")]


def _derive(name: str, found: StudyResults, stem: Path) -> None:
    module = components.load("artefacts", name)
    table = module.tabulate(found)
    shown = module.shown(table) if hasattr(module, "shown") else None
    table_files.save(table, stem, module.caption(found), shown)


def _results(study: Path, spec: Mapping[str, Any], scores: xr.Dataset) -> StudyResults:
    published = (study / "tables" / f"{spec['artefact']}.md").read_text(encoding="utf-8")
    claims = [results.claim(entry) for entry in spec.get("claims") or ()]
    seeds = SEEDS.search(published.rstrip("\n"))
    return _Published(
        name=spec["study"],
        title=spec["title"],
        cuts=spec.get("cuts") or "",
        origin=spec.get("origin") or "",
        baseline=spec.get("baseline"),
        reference=spec.get("reference"),
        methods=spec.get("methods") or {},
        tuning=spec.get("tuning") or "",
        labels=spec.get("labels") or {},
        claims=claims,
        cells=spec.get("cells") or {},
        scores=xr.DataTree.from_dict({"/scores": scores}),
        summary=pd.read_csv(study / "summary.csv"),
        streams=dict.fromkeys(scores["stream"].values.tolist(), _NO_STREAM),
        seeds=seeds.group().strip().rstrip(".") if seeds else "",
        shares=_shares(study, claims),
        by_metric=by_metric(scores),
    )


def scores(study: Path) -> pd.DataFrame:
    """The committed scores of a study, as rows of `scoring.tidy`."""
    path = study / "scores.csv"
    return pd.read_csv(path, keep_default_na=False, na_values={"score": [""]})


def cube(rows: pd.DataFrame) -> xr.Dataset:
    """score and status over stream, learner, metric and seed, of the rows of `scoring.tidy`."""
    axes = ["stream", "learner", "metric", "seed"]
    labels = {name: rows[name].unique() for name in axes}
    found = rows.set_index(axes)[["score", "status"]].to_xarray().reindex(labels)
    status = found["status"].isel(metric=0, drop=True).fillna("").astype(str)
    return xr.Dataset({"score": found["score"].astype(float), "status": status})


def by_metric(scores: xr.Dataset) -> dict[tuple[str, str], dict[str, np.ndarray]]:
    """Scores [seed] by stream and metric, then learner: a look-up that takes no time."""
    values = scores["score"].transpose("stream", "metric", "learner", "seed").values
    streams, metrics, learners = (scores[axis].values for axis in ("stream", "metric", "learner"))
    return {
        (str(stream), str(metric)): dict(zip(map(str, learners), of_learners, strict=True))
        for stream, of_stream in zip(streams, values, strict=True)
        for metric, of_learners in zip(metrics, of_stream, strict=True)
    }


def _shares(study: Path, claims: Sequence[Any]) -> dict[tuple[str, str], float]:
    """By stream and method, the largest published share of a claim that is about the method.

    The share of a claim is the least of its methods, and that of these numbers is the same.
    """
    path = study / "tables" / "claims.csv"
    if not path.exists():
        return {}
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    told = {(row.claim, row.stream): float(row.share) for row in rows.itertuples()}
    shares: dict[tuple[str, str], float] = {}
    for claim, streams in claims:
        for stream in streams:
            for method in claim.holds.methods:
                place = stream, method
                shares[place] = max(shares.get(place, 0.0), told[claim.name, stream])
    return shares
