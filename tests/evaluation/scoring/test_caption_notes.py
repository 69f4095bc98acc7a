"""The notes of captions on seeds and on look-ahead."""

from __future__ import annotations

import json

import pytest
import xarray as xr

from shiftbench.evaluation.scoring import caption_notes
from tests.evaluation.scoring import continual_stores, stores


def stream(family, realisations=3, **settings):
    spec = json.dumps({"stream": "s", "family": family, "settings": settings})
    return xr.Dataset(coords={"realisation": range(realisations)}, attrs={"spec": spec})


def run(learner):
    return xr.Dataset(attrs={"spec": json.dumps({"learner": [["beam", {}], [learner, {}]]})})


PERMUTED = stream("permuted-images", train_per_task=0)
GIVEN = stream(
    "split-images", class_order="given", train_per_task=0, blurry=0.0, normalisation="z-score"
)
NILE = stream("series", 1, dataset="nile", scaling="none", centre="none")
NETWORK, EXACT = [run("map")], [run("gaussian-mean")]
TRAINS = "Seeds vary initialisation, order of minibatches"


@pytest.mark.parametrize(
    ("streams", "runs", "words"),
    [
        ({"a": PERMUTED}, NETWORK, f"{TRAINS}, permutations"),
        ({"a": PERMUTED}, EXACT, "Seeds vary permutations"),
        ({"a": GIVEN}, NETWORK, f"{TRAINS}; all see the same data"),
        ({"a": NILE}, EXACT, "All seeds see the same data"),
        ({"a": stream("permuted-images", 1, train_per_task=0)}, NETWORK,
         f"{TRAINS}; all see the same data"),
        ({"a": PERMUTED, "b": GIVEN}, EXACT + NETWORK,
         f"{TRAINS}, permutations (a); all see the same data on b"),
        ({"a": stream("n-grams", 1)}, EXACT, "All seeds see the same data"),
        ({"a": stream("n-grams", 2)}, EXACT, ""),
        ({"a": PERMUTED}, [run("a learner that is gone")], "Seeds vary permutations"),
    ],
)  # fmt: skip
def test_what_seeds_vary_is_what_streams_declare_and_networks_draw(streams, runs, words):
    assert caption_notes.varied(streams, runs) == words


def test_settings_that_each_seed_draws_are_said_first():
    spec = {"learner": [["map", {}]], "configuration": {"map.learning_rate": 0.1, "map.epochs": 5}}
    drawn = xr.Dataset(attrs={"spec": json.dumps(spec)})
    words = "Seeds vary settings (epochs, learning rate), initialisation, order of minibatches"
    assert caption_notes.varied({"a": GIVEN}, [drawn]) == f"{words}; all see the same data"


def test_what_looks_ahead_names_its_streams():
    table = {"dataset": "diabetes", "scaling": "z-score", "target_scaling": "none"}
    diabetes = stream("tabular", **table)
    features = "features are scaled by all rows"
    assert caption_notes.ahead({"a": diabetes}) == f"Looks ahead: {features}"
    assert caption_notes.ahead({"a": diabetes, "b": NILE}) == f"Looks ahead: {features} (a)"
    assert caption_notes.ahead({"b": NILE}) == ""


def test_captions_say_it_after_the_cuts():
    basis = continual_stores.study(["vcl", "ewc"]).basis()
    assert f"in place of 100. {TRAINS}, choices of training images, permutations." in basis


def test_one_seed_varies_nothing():
    assert "eeds" not in continual_stores.study(["vcl"], seeds=1).basis()
    assert stores.toy_study(2).basis().endswith("Seeds vary noise, steps.")
