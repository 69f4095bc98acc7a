"""`check` refuses ensembles, dropout and learnt noise where they do not fit."""

from __future__ import annotations

import pytest

from tests.config.test_compatibility import told, written

NOISE = {"mlp": {"noise": "learnt"}}
PLAIN = {"map": {"importance": "none"}}


@pytest.mark.parametrize("outer", ["beam", "forget", "run-length"])
def test_an_ensemble_is_neither_widened_nor_weighed(outer) -> None:
    (found,) = told(written("digits", [outer, "ensemble", "map"]), "methods")
    assert f'"{outer}" needs a' in found and '"ensemble" has none' in found
    assert f'put "map" directly inside "{outer}"' in found


def test_an_ensemble_of_beams_tells_no_changes() -> None:
    study = written("digits", ["ensemble", "beam", "map"], metrics=["shift_recall"])
    assert told(study, "methods") == []
    (found,) = told(study, "metrics")
    assert "needs a learner with decisions about changes" in found


@pytest.mark.parametrize(
    "pipeline", [["ensemble", "vogn"], ["reset", "ensemble", "map"], ["joint", "ensemble", "mfvi"]]
)
def test_an_ensemble_goes_with_all_that_does_not_look_inside(pipeline) -> None:
    assert told(written("digits", pipeline)) == []


def test_an_ensemble_passes_on_what_the_protocol_reveals() -> None:
    assert told(written("permuted-heads", ["ensemble", "hat"]), "methods") == []


def test_whole_vocabularies_have_no_ensemble() -> None:
    (found,) = told(written("words", ["ensemble", "per-word", "skipgram"]), "methods")
    assert '"ensemble" does not go with counts' in found


def test_draws_of_a_prediction_need_dropout() -> None:
    (found,) = told(written("digits", [{"map": {"prediction_draws": 50}}]), "methods")
    assert "set dropout above 0" in found
    for key in ("dropout", "input_dropout"):
        fitting = {"map": {"prediction_draws": 50, key: 0.5}}
        assert told(written("digits", [fitting]), "methods") == []


def test_networks_take_real_targets_and_learn_their_noise() -> None:
    assert told(written("numbers", [PLAIN], model=NOISE), "methods") == []
    assert told(written("numbers", ["map"]), "methods") == []


@pytest.mark.parametrize("model", ["mlp", "linear"])
def test_classes_have_no_noise_to_learn(model) -> None:
    (found,) = told(written("digits", [PLAIN], model={model: {"noise": "learnt"}}), "methods")
    assert "does not go with images" in found and "set `noise` of model" in found


def test_a_fisher_of_fixed_noise_is_refused_where_noise_is_learnt() -> None:
    (found,) = told(written("numbers", ["map"], model=NOISE), "methods")
    assert "does not go with a noise that is learnt" in found
    assert 'set `importance` of "map" to none or path' in found
    observed = {"map": {"fisher_labels": "observed"}}
    assert told(written("numbers", [observed], model=NOISE), "methods") == []
