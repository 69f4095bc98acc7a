"""The results of one study that figures and tables are made from: scores, runs and streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
import xarray as xr

from shiftbench.config import provenance
from shiftbench.config.claim_schema import Claim
from shiftbench.core.errors import UserError
from shiftbench.data.store import zarr_groups, zarr_zip
from shiftbench.evaluation.scoring import (
    calibration,
    caption_notes,
    paper_numbers,
    summary_files,
    units,
)
from shiftbench.evaluation.scoring.summarise import covered, failures, succeeded

STORE_SUFFIX = ".zarr.zip"


class ScoreSets(Protocol):
    """Data sets by name, as `scoring.summarise` arranges them: `scores`, `runs/STREAM/METHOD`."""

    def __getitem__(self, name: str, /) -> xr.Dataset:
        """Return the data set of a name."""


@dataclass(frozen=True, eq=False)
class StudyResults:
    """The results of one study.

    Parameters
    ----------
    cuts, origin, tuning
        What is reduced against the paper, where hyper-parameters come from and how settings were
        found, as sentences; empty for nothing.
    scores, summary
        The data sets and the table of `scoring.summarise`.
    words
        The vocabulary words to show, on streams of counts.
    baseline, reference
        The method that others are compared with, and the one that starts from scratch.
    method_of
        The name in the library of each method of the study that has one there.
    labels, method_styles
        What figures call a method, where that is not its name; its colour and marker.
    claims
        The claims that the study judges, each with its streams.
    cells
        The streams of a study with axes, each with its value on every axis.
    configurations
        The settings that each seed has drawn, if any.
    bounds
        The methods that see more than the others; figures show them and do not rank them.
    """

    name: str
    title: str
    cuts: str
    origin: str
    scores: ScoreSets
    summary: pd.DataFrame
    streams: Mapping[str, xr.Dataset]
    words: Sequence[str] = ()
    baseline: str | None = None
    reference: str | None = None
    method_of: Mapping[str, str] = field(default_factory=dict)
    tuning: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    method_styles: Mapping[str, Sequence[str]] = field(default_factory=dict)
    claims: Sequence[tuple[Claim, Sequence[str]]] = ()
    cells: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    configurations: Sequence[Mapping[str, Any]] = ()
    bounds: Sequence[str] = ()

    @property
    def cube(self) -> xr.Dataset:
        """score, score_by_task and status over stream, learner (a method), metric, seed, task."""
        return self.scores["scores"].load()

    @property
    def methods(self) -> list[str]:
        """Names of the methods, in the study's order."""
        return self.cube["learner"].values.tolist()

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics, in the study's order."""
        return self.cube["metric"].values.tolist()

    def run(self, stream: str, method: str) -> xr.Dataset:
        """Return the run store of a method on a stream, without the seeds that failed."""
        return succeeded(self.scores[f"runs/{stream}/{method}"].load())

    def offering(self, word: str) -> dict[str, dict[str, xr.Dataset]]:
        """Return runs with seeds and a component that offers `word`, by stream and method."""
        runs: dict[str, dict[str, xr.Dataset]] = {}
        for stream in self.streams:
            for method in self.methods:
                run = self.run(stream, method)
                if provenance.offering(run, word) is not None and run.sizes["seed"]:
                    runs.setdefault(stream, {})[method] = run
        return runs

    def tuned(self, stream: str, method: str) -> dict[str, Any] | None:
        """Return the settings of the method's best trial; None for a study without tuning."""
        whole = self.scores[f"runs/{stream}/{method}"]
        return provenance.spec(whole).get("tuned")

    def score(self, stream: str, method: str, metric: str) -> np.ndarray:
        """Return scores [seed]; NaN for failed seeds."""
        place = {"stream": stream, "learner": method, "metric": metric}
        return self.cube["score"].sel(place).values

    def on_seeds(self, run: xr.Dataset, values: np.ndarray) -> np.ndarray:
        """Return values [seed] of a run on the seeds of the study; NaN for failed seeds."""
        of_run = xr.DataArray(values, {"seed": run["seed"].values}, ("seed",))
        return of_run.reindex(seed=self.cube["seed"].values).values

    def label(self, method: str) -> str:
        """Return the name of a method in figures."""
        return self.labels.get(method, method)

    def published(self, stream: str, method: str, metric: str) -> paper_numbers.PaperNumber | None:
        """Return what a paper prints for the method, or None."""
        whole = self.scores[f"runs/{stream}/{method}"]
        return paper_numbers.number(self.streams[stream], whole, self.method_of.get(method), metric)

    def share(self, stream: str, method: str, metric: str, paper: str) -> float | None:
        """Return our share of a paper's training of a method of the library.

        See `paper_numbers.share`.
        """
        whole = self.scores[f"runs/{stream}/{self.row_of(method)}"]
        return paper_numbers.share(self.streams[stream], whole, paper, method, metric)

    def same_data(self, stream: str) -> bool:
        """Return whether all seeds see the same data of a stream, as far as it declares."""
        return caption_notes.same_data(self.streams[stream])

    def row_of(self, method: str) -> str:
        """Return what the study calls a method of the library. KeyError if it has none."""
        return {name: row for row, name in self.method_of.items()}[method]

    def by_task(self, stream: str, method: str, metric: str) -> np.ndarray:
        """Return scores [seed, task] over the stream's tasks; NaN for failed seeds."""
        place = {"stream": stream, "learner": method, "metric": metric}
        tasks = self.streams[stream].sizes["task"]
        return self.cube["score_by_task"].sel(place).isel(task=slice(tasks)).values

    def require_metrics(self, artefact: str, *metrics: str) -> None:
        """Raise UserError where an artefact shows a metric that the study does not have."""
        for metric in metrics:
            if metric not in self.metrics:
                raise self.lacking(artefact, f"the metric {metric}")

    def lacking(self, artefact: str, what: str) -> UserError:
        """Return the error for an artefact that needs something which the study lacks."""
        return UserError(
            f"study {self.name}: {artefact} needs {what}; add it, or take {artefact} out of the"
            " study's artefacts"
        )

    def coverage(self, streams: Sequence[str]) -> str:
        """Return a sentence on how many runs the numbers rest on, and why others failed."""
        by_text: dict[str, list[str]] = {}
        for stream in streams:
            by_text.setdefault(self._covered(stream), []).append(stream)
        words = ". ".join(
            f"{names[0] if len(names) == 1 else f'{len(names)} streams'}: {covered}"
            for covered, names in by_text.items()
        )
        return words + failures(self.cube["status"].sel(stream=list(streams)).values)

    def basis(self, streams: Sequence[str] | None = None) -> caption_notes.Basis:
        """Return sentences on what the numbers rest on, for these streams (all if None).

        Coverage, calibration, cuts, tuning, what seeds vary, what looks ahead, and units of errors.
        `brief` has coverage, whether settings are tuned, units, and where reductions are listed.
        """
        names = list(self.streams) if streams is None else streams
        coverage, cuts = self.coverage(names), self.cuts.strip().rstrip(".")
        unit = units.sentence({name: self.streams[name] for name in names}, self.metrics)
        notes = [coverage, self.calibration(names), cuts, self.tuning, *self._caption_notes(names)]
        brief = [coverage, self.tuning.partition(":")[0], unit, cuts and caption_notes.ELSEWHERE]
        return caption_notes.Basis([*notes, unit], brief)

    def calibration(self, streams: Sequence[str] | None = None) -> str:
        """Say whether predictions are calibrated on these streams (all if None), if known."""
        names = list(self.streams) if streams is None else streams
        stores = {name: self.streams[name] for name in names}
        return calibration.sentence(self.cube, stores, self.labels)

    def _caption_notes(self, streams: Sequence[str]) -> tuple[str, str]:
        """Return notes on what several seeds vary and on what looks ahead; each may be empty."""
        stores = {name: self.streams[name] for name in streams}
        runs = [
            self.scores[f"runs/{stream}/{method}"] for stream in streams for method in self.methods
        ]
        several = self.cube.sizes["seed"] > 1
        return caption_notes.varied(stores, runs) if several else "", caption_notes.ahead(stores)

    def _covered(self, stream: str) -> str:
        status = self.cube["status"].sel(stream=stream)
        words = {name: covered(status.sel(learner=name).values) for name in self.methods}
        common = max(words.values(), key=list(words.values()).count)
        others = [f"{name} {text}" for name, text in words.items() if text != common]
        return ", but ".join([f"{common} per method", *others])


def load(
    spec: Mapping[str, Any], scores: Path, summary: Path, streams: Sequence[Path]
) -> StudyResults:
    """Read the results of a study from its files.

    spec: `study`, `title` and, where given, `cuts` and `origin`. streams: the stream
    stores, named NAME.zarr.zip. UserError for a missing or damaged store or summary.
    """
    stores = {
        Path(path).name.removesuffix(STORE_SUFFIX): zarr_zip.read_any(path) for path in streams
    }
    return of_spec(spec, zarr_groups.Groups(scores), summary_files.read(summary), stores)


def of_spec(
    spec: Mapping[str, Any],
    scores: ScoreSets,
    summary: pd.DataFrame,
    streams: Mapping[str, Any],
) -> StudyResults:
    """Return the results of a study from what its files hold. spec: as of `load`."""
    return StudyResults(
        name=spec["study"],
        title=spec["title"],
        cuts=spec.get("cuts") or "",
        origin=spec.get("origin") or "",
        words=spec.get("words") or (),
        baseline=spec.get("baseline"),
        reference=spec.get("reference"),
        bounds=spec.get("bounds") or (),
        method_of=spec.get("methods") or {},
        tuning=spec.get("tuning") or "",
        labels=spec.get("labels") or {},
        method_styles=spec.get("styles") or {},
        claims=[claim(entry) for entry in spec.get("claims") or ()],
        cells=spec.get("cells") or {},
        configurations=spec.get("configurations") or (),
        scores=scores,
        summary=summary,
        streams=streams,
    )


def claim(entry: Mapping[str, Any]) -> tuple[Claim, Sequence[str]]:
    """Return a claim of a spec, with its streams."""
    claim = {key: value for key, value in entry.items() if key != "streams"}
    return Claim.model_validate(claim), entry["streams"]
