"""Derive tables of a published study again from the scores that are committed with it.

Most studies have no source data, so only tables that need nothing but scores by seed can be derived
for all of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from shiftbench.config import paper_training, result_paths, specs, tuning
from shiftbench.config.paper_training import OurTraining
from shiftbench.config.schema import Config, Study
from shiftbench.config.spec_files import Spec
from shiftbench.evaluation import artefact_files
from shiftbench.evaluation.overview import ledger
from shiftbench.evaluation.scoring import (
    caption_notes,
    paper_numbers,
    results,
    summary_files,
    tidy_files,
)
from shiftbench.evaluation.scoring.paper_numbers import PaperNumber
from shiftbench.evaluation.scoring.results import StudyResults

FROM_SCORES = ("claims", "neighbours", "regime-table", "score-table")
"""Tables that need only scores by seed, and settings."""
SEEDS = re.compile(r" (?:Seeds vary|All seeds see|Looks ahead: ).*\Z", re.DOTALL)
"""End of a caption on what seeds vary: it depends on runs, and is kept as published."""


@dataclass(frozen=True)
class WithoutRuns(StudyResults):
    """Results of a study without its runs, whose properties are as published.

    seeds: end of the caption, on seeds; config: of the study; published_shares: of the
    paper's training, by metric of the claim, stream and method; by_metric: result of
    `by_metric`.
    """

    seeds: str = ""
    config: Config | None = None
    published_shares: Mapping[tuple[str, str, str], float] = field(default_factory=dict)
    by_metric: Mapping[tuple[str, str], Mapping[str, np.ndarray]] = field(default_factory=dict)

    def score(self, stream: str, method: str, metric: str) -> np.ndarray:
        """Return scores [seed]; NaN for failed seeds."""
        return self.by_metric[stream, metric][method]

    def share(self, stream: str, method: str, metric: str, paper: str) -> float | None:
        """Return our share of a paper's training of a method, by the settings of the config.

        Where trials search epochs, only runs know how many won: the most of them are an upper
        bound, and the published share counts if it is lower.
        """
        row = self.row_of(method)
        spec, searched = self._spec(stream, row), self.most_epochs(row)
        pipeline = [*spec["learner"], *([["trials", {"epochs": searched}]] if searched else [])]
        ours = OurTraining(spec["stream"], pipeline, spec["model"])
        found = paper_training.share(paper, method, metric, ours)
        if found is None or not searched:
            return found
        return min(found, self.published_shares.get((metric, stream, method), found))

    def same_data(self, stream: str) -> bool:
        """Return whether all seeds see the same data, by the settings of the config."""
        assert self.config is not None
        planned = self.config.streams[stream]
        number = planned.settings.get("realisations", 1)
        return caption_notes.same_realisations((planned.family, planned.settings), number)

    def published(self, stream: str, method: str, metric: str) -> PaperNumber | None:
        """Return what a paper prints for the method, or None, by the settings of the config."""
        assert self.config is not None
        of_library, planned = self.method_of.get(method), self.config.streams[stream]
        spec: Spec = {"family": planned.family, "settings": planned.settings}

        def share(paper: str) -> float | None:
            return self.share(stream, str(of_library), metric, paper)

        return paper_numbers.on_stream(spec, of_library, metric, share)

    def run(self, stream: str, method: str) -> xr.Dataset:
        """Return a run store with its spec alone."""
        return xr.Dataset(attrs={"spec": json.dumps(self._spec(stream, method))})

    def most_epochs(self, method: str) -> float:
        """Return the most epochs that trials of a method search; 0 if they search none."""
        assert self.config is not None
        return _most_epochs(self.config.studies[self.name], method)

    def _spec(self, stream: str, method: str) -> Spec:
        assert self.config is not None
        return specs.run(self.config, self.name, stream, method, (0, 0))

    def _caption_notes(self, streams: Sequence[str]) -> tuple[str, str]:
        return self.seeds, ""


_NO_STREAM = xr.Dataset(attrs={"spec": "{}"})
"""Placeholder for a stream, whose store is not published, without settings of a user's data."""


def derive(study: Path, config: Config, target: Path) -> list[str]:
    """Write the tables of a published study that need only scores below the folder `target`.

    Returns their names below the study's folder, such as tables/neighbours.csv.
    """
    published = [path.stem for path in sorted(study.glob("tables/*.csv"))]
    names = [name for name in published if name in FROM_SCORES]
    of_study = (
        tidy_files.cube(tidy_files.read(study / result_paths.SCORE_TABLE))
        if names
        else xr.Dataset()
    )
    for name in names:
        made = results_of(study, config, name, of_study)
        artefact_files.save(name, made, target / "tables" / name)
    return [f"tables/{name}.{kind}" for name in names for kind in ("csv", "md")]


def results_of(study: Path, config: Config, name: str, scores: xr.Dataset) -> WithoutRuns:
    """Return what an artefact of a published study can be made from without its runs.

    scores: the cube of the study.
    """
    spec = specs.artefact(config, study.name, name)
    table = study / "tables" / f"{name}.md"
    published = table.read_text(encoding="utf-8") if table.exists() else ""
    values = by_metric(scores)
    found = results.of_spec(
        spec,
        {"scores": scores},
        summary_files.read(study / result_paths.SUMMARY),
        dict.fromkeys(scores["stream"].values.tolist(), _NO_STREAM),
    )
    claims = _with_scores(found.claims, found.method_of, values)
    seeds = SEEDS.search(published.rstrip("\n"))
    return WithoutRuns(
        **vars(found) | {"claims": claims},
        seeds=seeds.group().strip().rstrip(".") if seeds else "",
        config=config,
        published_shares=_published_shares(study, claims),
        by_metric=values,
    )


def by_metric(scores: xr.Dataset) -> dict[tuple[str, str], dict[str, np.ndarray]]:
    """Return scores [seed] by stream and metric, then by method, for fast look-ups."""
    values = scores["score"].transpose("stream", "metric", "learner", "seed").values
    streams, metrics, methods = (scores[axis].values for axis in ("stream", "metric", "learner"))
    return {
        (str(stream), str(metric)): dict(zip(map(str, methods), of_methods, strict=True))
        for stream, of_stream in zip(streams, values, strict=True)
        for metric, of_methods in zip(metrics, of_stream, strict=True)
    }


def _with_scores(
    claims: Sequence[Any],
    method_of: Mapping[str, str],
    values: Mapping[tuple[str, str], Mapping[str, np.ndarray]],
) -> list[Any]:
    """Return the claims whose scores are published; newer ones wait for the next publication."""
    row_of = {method: row for row, method in method_of.items()}

    def has(claim: Any, stream: str) -> bool:
        return all(
            row_of[method] in values.get((stream, metric), ())
            for metric in (claim.metric, *claim.holds.metrics)
            for method in claim.holds.methods
        )

    judged = [(one, [stream for stream in streams if has(one, stream)]) for one, streams in claims]
    return [(one, streams) for one, streams in judged if streams]


def _most_epochs(study: Study, method: str) -> float:
    """Return the most epochs that trials of a method search; 0 if they search none."""
    space = tuning.space(study, method) if study.tuning else {}
    searched = [values for key, values in space.items() if key.endswith(".epochs")]
    return max((max(values) for values in searched), default=0)


def _published_shares(study: Path, claims: Sequence[Any]) -> dict[tuple[str, str, str], float]:
    """Return by metric, stream and method the largest published share of a claim about them.

    The published share of a claim is the smallest of its methods; these numbers give the same.
    """
    path = study / "tables" / "claims.csv"
    if not path.exists():
        return {}
    rows = ledger.read(path)
    keys = zip(rows["claim"], rows["stream"], strict=True)
    published = dict(zip(keys, rows["share"], strict=True))
    shares: dict[tuple[str, str, str], float] = {}
    for claim, streams in claims:
        for stream in streams:
            if share := published.get((claim.name, stream)):
                for method in claim.holds.methods:
                    key = claim.metric, stream, method
                    shares[key] = max(shares.get(key, 0.0), float(share))
    return shares
