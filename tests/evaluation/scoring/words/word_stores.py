"""A small study of planted words, run by the harness, for tests of metrics and artefacts."""

from __future__ import annotations

import functools
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import xarray as xr

from shiftbench.data.text import planted_words
from shiftbench.evaluation.running import build_run, harness, run_store
from shiftbench.evaluation.running.cost import Meter
from shiftbench.evaluation.scoring import summarise
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.methods.combinators import beam, per_word, reset
from shiftbench.methods.learners import skipgram
from tests.evaluation.scoring.stores import by_path

PERIODS = 5
METRICS = [
    "change_f1",
    "change_precision",
    "change_recall",
    "dating_error",
    "dating_error_of_periods",
    "updates_per_period",
    "dating_error_of_binning",
    "heldout_loglik",
]
SETTINGS = planted_words.Settings(
    realisations=2,
    periods=PERIODS,
    documents=20,
    document_length=150,
    themes=3,
    words_per_theme=6,
    common_words=4,
    changes=3,
)
BETWEEN = {
    "vbs": [
        [
            "beam",
            asdict(
                replace(
                    beam.Settings(),
                    size=3,
                    broadening="temper-prior",
                    beta=0.1,
                    prior_log_odds=-20.0,
                )
            ),
        ]
    ],
    "vcl": [],
    "independent": [["reset", asdict(reset.Settings())]],
}


@functools.cache
def stream() -> xr.DataTree:
    store = planted_words.build(SETTINGS, Path())
    spec = {"stream": "planted-words", "family": "planted-words", "settings": {}}
    store.attrs["spec"] = json.dumps(spec)
    return store


def spec(variant: str) -> dict[str, Any]:
    """Return the spec of a run of a variant in BETWEEN."""
    words = asdict(per_word.Settings(dimension=4, block=22))
    pipeline = [["per-word", words], *BETWEEN[variant], ["skipgram", asdict(skipgram.Settings())]]
    return {
        "study": "words",
        "stream": {"name": "planted-words", "family": "planted-words"},
        "method": variant,
        "learner": pipeline,
        "model": None,
        "seeds": [0, 1],
        "reveals": [],
        "drift": "before-prediction",
        "metrics": [],
        "code": "",
    }


@functools.cache
def run(variant: str) -> xr.Dataset:
    """Return a run of two seeds of a variant in BETWEEN."""
    made = build_run.run(spec(variant), stream())
    position, meter = harness.start(made), Meter()
    while position.next_task < PERIODS:
        position = harness.advance(made, position, meter)
    return run_store.dataset(made, position)


@functools.cache
def study(words: tuple[str, ...] = ()) -> StudyResults:
    spec = {
        "study": "words",
        "metrics": METRICS,
        "learners": list(BETWEEN),
        "streams": ["planted-words"],
        "methods": {},
        "reference": None,
    }
    streams = {"planted-words": stream()}
    tree, table = summarise.summarise(spec, streams, [run(name) for name in BETWEEN])
    return StudyResults("words", "Words", "few documents", "", by_path(tree), table, streams, words)
