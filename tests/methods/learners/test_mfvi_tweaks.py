"""MFVI with truncated noise, other optimisers, early stopping, and a constant first prior."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy import stats

from shiftbench.contract.learners import PARTS, after, batch_of, key, same
from shiftbench.core import seeds
from shiftbench.core.interface import Broadening, LearnerError
from shiftbench.methods.learners import mfvi
from shiftbench.methods.models import mlp
from tests.methods.learners.test_mfvi import learner, regression

CLASSES = PARTS.classes
TRUNCATED = {"family": "truncated", "truncation": 0.5}
STOPPING = {"held_back": 0.25, "patience": 2, "epochs": 12, "learning_rate": 0.1}


# Build each learner once, since tracing takes most of the time.
@functools.cache
def classifier(**settings):
    model = mlp.build(mlp.Settings(hidden=(5,)), CLASSES)
    quick = {"epochs": 2, "elbo_draws": 2, "batch_size": 8, "prediction_draws": 3}
    return mfvi.build(mfvi.Settings(**quick | settings), CLASSES, model)


@pytest.mark.parametrize("estimator", ["flipout", "sample"])
def test_truncated_predictions_have_the_variance_of_cut_normals(estimator):
    vi = learner(**TRUNCATED, estimator=estimator, prediction_draws=4000)
    mean, sd = np.array([0.5, -1.0, 0.2, 0.1]), np.array([0.3, 0.6, 0.5, 0.4])
    state = {"mean": np.float32(mean)[None, None], "sd": np.float32(sd)[None, None]}
    inputs = np.array([[[1.0, 2.0, -1.0], [0.0, 0.5, 3.0]]], np.float32)
    results = vi.predict(state, inputs, seeds.block([0], "draws"))
    design = np.concatenate([inputs[0], np.ones((2, 1))], axis=1)
    variance = design**2 @ sd**2 * stats.truncnorm(-0.5, 0.5).var() + 0.5**2
    np.testing.assert_allclose(results.mean[0, 0, :, 0], design @ mean, atol=0.1)
    np.testing.assert_allclose(results.variance[0, 0, :, 0], variance, rtol=0.05)


@pytest.mark.long
def test_truncated_fits_are_as_wide_as_the_whole_divergence_lets_them_be():
    """sd minimises precision_ii v sd^2 / 2 - log sd + sd^2 / 2; v: variance of truncated noise."""
    batch, _, precision, mean = regression()
    vi = learner(**TRUNCATED, estimator="sample", draws=8, epochs=1500, learning_rate=0.006)
    where = seeds.block([0, 1], "truncated")
    state, info = vi.observe(vi.init(where), batch, where)
    of_data = np.diagonal(precision, axis1=1, axis2=2) - 1
    sd = 1 / np.sqrt(1 + of_data * stats.truncnorm(-0.5, 0.5).var())
    assert np.abs((state["mean"][:, 0] - mean) * np.sqrt(1 + of_data)).max() < 0.25
    np.testing.assert_allclose(state["sd"][:, 0], sd, rtol=0.1)
    m, v = state["mean"][:, 0].astype(float), state["sd"][:, 0].astype(float) ** 2
    whole = 0.5 * (v + m**2 - 1 - np.log(v)).sum(axis=1)
    np.testing.assert_allclose(info["kl"][:, 0], whole, rtol=1e-4)


@pytest.mark.long
def test_a_far_cut_is_the_whole_normal():
    batch, *_ = regression()
    where, results = seeds.block([0, 1], "far"), {}
    for family in ("gaussian", "truncated"):
        vi = learner(family=family, truncation=12.0, estimator="sample", epochs=20)
        results[family], _ = vi.observe(vi.init(where), batch, where)
    for name in ("mean", "sd"):
        np.testing.assert_allclose(results["gaussian"][name], results["truncated"][name], atol=1e-4)


def test_truncated_draws_cannot_be_locally_reparameterised():
    with pytest.raises(LearnerError, match="truncated draws"):
        classifier(**TRUNCATED, estimator="local")


@pytest.mark.long
@pytest.mark.parametrize(
    "settings",
    [
        TRUNCATED | {"start": "prior"},
        {"optimiser": "amsgrad", "learning_rate_decay": 0.9},
        {"optimiser": "sgd", "learning_rate_decay": 0.9},
        {"start": "maximum-likelihood", "start_sd": 0.003, **STOPPING},
        {"prior": "first", "start": "prior", "gradient_draws": 3},
    ],
    ids=["truncated", "amsgrad", "sgd", "tweaked", "first"],
)
def test_keeps_the_contract(settings):
    """Resuming equals an uninterrupted run; hypotheses and seeds do not interact."""
    vi = classifier(**settings)
    whole, infos = after(vi, CLASSES, 3)
    saved, _ = after(vi, CLASSES, 1)
    assert same(after(vi, CLASSES, 3, saved, first=1)[0], whole)
    assert all(np.isfinite(a).all() for info in infos for a in info.values())
    batch, stacked = batch_of(CLASSES, seed=5), {}
    for name in saved:
        stacked[name] = np.concatenate([saved[name], whole[name]], axis=1)
    together, stacked_info = vi.observe(stacked, batch, key("o"))
    for slot, alone in enumerate((saved, whole)):
        results, info = vi.observe(alone, batch, key("o"))
        for name in results:
            np.testing.assert_allclose(
                together[name][:, slot], results[name][:, 0], rtol=2e-3, atol=2e-4
            )
        if "best_epoch" in info:
            np.testing.assert_array_equal(
                stacked_info["best_epoch"][:, slot], info["best_epoch"][:, 0]
            )
    first = batch._replace(**{k: getattr(batch, k)[:1] for k in batch._fields})
    results, info = vi.observe({k: a[:1] for k, a in stacked.items()}, first, key("o")[:1])
    # Compiled loops over fewer numbers round some of them differently.
    for name in results:
        np.testing.assert_allclose(results[name], together[name][:1], rtol=1e-4, atol=1e-6)
    if "best_epoch" in info:
        np.testing.assert_array_equal(info["best_epoch"], stacked_info["best_epoch"][:1])


@pytest.mark.long
def test_early_stopping_keeps_the_posterior_of_its_best_epoch():
    """It is that of training for as many epochs on the rows that are not held back."""
    vi, batch = classifier(**STOPPING, start_sd=0.3), batch_of(CLASSES)
    state, info = vi.observe(vi.init(key("init")), batch, key("o"))
    best, steps = info["best_epoch"], info["steps"]
    # The fifteen rows that are not held back make two minibatches.
    np.testing.assert_array_equal(steps, 2 * np.minimum(best + 2, 12))
    assert (best >= 1).all() and (steps < 24).any()
    epochs = int(best[0, 0])
    short = classifier(**STOPPING | {"epochs": epochs, "patience": 100}, start_sd=0.3)
    again, _ = short.observe(vi.init(key("init")), batch, key("o"))
    for name in state:
        np.testing.assert_array_equal(again[name][0], state[name][0])


@pytest.mark.long
def test_more_patience_finds_the_same_epoch_or_a_later_one():
    vi, batch = classifier(**STOPPING, start_sd=0.3), batch_of(CLASSES)
    best = vi.observe(vi.init(key("init")), batch, key("o"))[1]["best_epoch"]
    longer = classifier(**STOPPING | {"patience": 100}, start_sd=0.3)
    same_or_later = longer.observe(vi.init(key("init")), batch, key("o"))[1]["best_epoch"]
    assert (same_or_later >= best).all()


@pytest.mark.long
def test_rows_held_back_do_not_move_the_posterior_but_choose_the_epoch():
    one = classifier(**STOPPING | {"epochs": 1})
    batch = batch_of(CLASSES)
    kept, _ = mfvi.early_stopping.hold_back(batch, 0.25, key("o"))
    other = batch._replace(inputs=np.where(kept.mask[..., None], batch.inputs, 7))
    assert (other.inputs != batch.inputs).any()
    state, _ = one.observe(one.init(key("init")), batch, key("o"))
    changed, _ = one.observe(one.init(key("init")), other, key("o"))
    assert same(state, changed)


@pytest.mark.long
def test_rows_that_judge_the_elbo_are_learnt_from():
    batch, where = batch_of(CLASSES), key("o")
    by_elbo = classifier(held_back=0.25, stops_by="elbo", epochs=1)
    state, _ = by_elbo.observe(by_elbo.init(where), batch, where)
    plain = classifier(epochs=1)
    assert same(state, plain.observe(plain.init(where), batch, where)[0])


@pytest.mark.long
def test_training_ends_where_the_elbo_has_converged():
    """On a linear model, it ends at the exact posterior before the last epoch."""
    batch, _, precision, mean = regression()
    where = seeds.block([0, 1], "converged")
    vi = learner(
        estimator="local", draws=16, epochs=1000, learning_rate=0.03, elbo_draws=50,
        held_back=0.5, stops_by="elbo", patience=40, tolerance=1e-4, prediction_draws=200,
    )  # fmt: skip
    state, info = vi.observe(vi.init(where), batch, where)
    assert (info["steps"] < 600).all()
    np.testing.assert_array_equal(info["best_epoch"] + 40, info["steps"])
    of_data = np.diagonal(precision, axis1=1, axis2=2)
    assert np.abs((state["mean"][:, 0] - mean) * np.sqrt(of_data)).max() < 0.25
    np.testing.assert_allclose(state["sd"][:, 0], 1 / np.sqrt(of_data), rtol=0.15)


@pytest.mark.long
def test_pretraining_may_be_shorter_than_the_fit():
    def means(**settings):
        vi = classifier(start="maximum-likelihood", start_sd=1e-3, learning_rate=0.01, **settings)
        return vi.observe(vi.init(key("init")), batch_of(CLASSES), key("o"))[0]["mean"]

    same_length = means(epochs=3, pretraining_epochs=3)
    np.testing.assert_array_equal(means(epochs=3), same_length)
    assert np.abs(means(epochs=3, pretraining_epochs=60) - same_length).max() > 0.1


@pytest.mark.long
def test_a_first_prior_stays_while_the_posterior_goes_on():
    """Repeated rows count once, whereas with a carried prior they count twice."""
    batch, _, precision, _ = regression()
    where, sds = seeds.block([0, 1], "first"), {}
    for prior in ("first", "carried"):
        vi = learner(
            prior=prior, start="prior", estimator="local", draws=4, epochs=700, learning_rate=0.006
        )
        state = vi.init(where)
        for _ in range(3):
            state, info = vi.observe(state, batch, where)
        sds[prior] = state["sd"][:, 0], info["kl"]
    once = np.diagonal(precision, axis1=1, axis2=2)
    np.testing.assert_allclose(sds["first"][0], 1 / np.sqrt(once), rtol=0.1)
    np.testing.assert_allclose(sds["carried"][0], 1 / np.sqrt(3 * (once - 1) + 1), rtol=0.1)
    assert (sds["first"][1] > sds["carried"][1]).all()


@pytest.mark.long
def test_goes_on_from_where_it_was_and_leaves_heads_alone_that_have_no_rows():
    problem = PARTS.headed
    model = mlp.build(mlp.Settings(hidden=(5,)), problem)
    settings = mfvi.Settings(
        prior="first", start="prior", epochs=2, learning_rate=1e-9, elbo_draws=2, batch_size=8
    )
    vi, last = mfvi.build(settings, problem, model), model.layers[-1]
    state = vi.init(key("init"))
    state = {k: a + np.float32(0.25) * (a != 0) + np.float32(0.5) for k, a in state.items()}
    later, _ = vi.observe(state, batch_of(problem), key("o"))
    other_head = np.tile(np.arange(last.fan_out) >= last.fan_out // 2, last.fan_in)
    for name in state:
        weights = state[name][..., last.weights][..., other_head]
        np.testing.assert_array_equal(later[name][..., last.weights][..., other_head], weights)
        np.testing.assert_allclose(later[name][..., ~model.is_bias()],
                                   state[name][..., ~model.is_bias()], atol=1e-5)  # fmt: skip
    assert vi.broaden is None


@pytest.mark.long
def test_gradients_spread_as_the_noise_of_a_linear_model_says():
    """The gradient of a squared error is linear in the weights, so its spread is known."""
    batch, design, _, _ = regression()
    vi = learner(
        estimator="sample", gradient_draws=3000, epochs=1, learning_rate=1e-9, start_sd=0.2,
        elbo_draws=2,
    )  # fmt: skip
    where = seeds.block([0, 1], "spread")
    _, info = vi.observe(vi.init(where), batch, where)
    curvature = np.swapaxes(design, 1, 2) @ design / design.shape[1] / 0.5**2
    expected = np.sqrt((0.2 * curvature**2 * 0.2).sum(axis=2).mean(axis=1))
    np.testing.assert_allclose(info["gradient_sd"][:, 0], expected, rtol=0.05)
    assert "train_accuracy" not in info


@pytest.mark.long
def test_the_accuracy_on_the_rows_learnt_is_that_of_a_prediction():
    vi = classifier(gradient_draws=2, epochs=30, learning_rate=0.03, prediction_draws=50)
    batch = batch_of(CLASSES)
    mask = batch.mask.copy()
    mask[:, :5] = False
    state, info = vi.observe(vi.init(key("init")), batch._replace(mask=mask), key("o"))
    labels = vi.predict(state, batch.inputs, key("o")).probabilities[:, 0].argmax(axis=-1)
    right = (labels == batch.targets)[:, 5:].mean(axis=1)
    np.testing.assert_array_equal(info["train_accuracy"][:, 0], right)
    assert (right > 0.8).all()


@pytest.mark.long
def test_a_truncated_posterior_is_broadened_as_the_normal_one():
    vi = classifier(**TRUNCATED)
    state, _ = after(vi, CLASSES, 1)
    wide = vi.broaden(state, Broadening("temper", beta=0.25))
    np.testing.assert_allclose(wide["sd"], 2 * state["sd"], rtol=1e-6)
