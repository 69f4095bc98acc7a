"""Figures of gradients and truncated noise, from known numbers."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import xarray as xr

from shiftbench.config import components
from shiftbench.core.errors import UserError
from shiftbench.data.images import transformed_images
from shiftbench.evaluation.artefacts import gradient_noise, training_dynamics, truncation
from tests.evaluation.scoring import stores

gradient_growth = components.load_metric("gradient_growth")
gradient_sd = components.load_metric("gradient_sd")
training_accuracy_lost = components.load_metric("training_accuracy_lost")
nll_rise = components.load_metric("nll_rise")

SDS = [1.0, 0.1, 3.0]
STREAM = stores.image_stream(tasks=2)
SEEDS = 3


def noise_run(name, power, sds=SDS, **infos):
    """Return a run whose gradient sd is `sd` to a power, doubled in the second task."""
    settings = {"family": "gaussian", "sds": sds, "draws": 5, "layer": ""}
    spread = np.ones((SEEDS, 2, 1)) * np.array(sds) ** power
    spread[:, 1] *= 2
    infos = {"gradient_sd": spread} | {key: factor * spread for key, factor in infos.items()}
    score = np.full((1, SEEDS, 2), np.nan)
    learner = [["gradient-noise", settings]]
    return stores.run_store(score, ["gradient_growth"], STREAM, name, learner, infos)


def noise_study():
    runs = [noise_run("normal", 2), noise_run("radial", 0.5, published_sd=0.1, full_sd=10.0)]
    return stores.study("noise", STREAM, ["gradient_growth"], runs)


def test_growth_is_the_ratio_of_the_spreads_at_one_and_a_tenth():
    study = noise_study()
    np.testing.assert_allclose(study.score("images", "normal", "gradient_growth"), 100)
    np.testing.assert_allclose(study.score("images", "radial", "gradient_growth"), np.sqrt(10))
    without = gradient_growth.score(noise_run("normal", 2, sds=[1.0, 3.0]), STREAM)
    assert np.isnan(without).all() and without.shape == (SEEDS,)


def means(axes):
    """Return the lines that have a label, without marks and single seeds."""
    return [line for line in axes.get_lines() if not line.get_label().startswith("_")]


def test_the_end_of_training_is_that_of_the_last_task():
    one = np.array([[[0.9], [0.7]], [[0.6], [0.8]], [[0.5], [0.5]]])
    run = mfvi_run("told", 0.8, {"train_accuracy": one, "gradient_sd": 2 * one}, gradient_draws=4)
    np.testing.assert_allclose(
        gradient_sd.score(run, STREAM), np.log10([1.4, 1.6, 1.0]), atol=1e-12
    )
    np.testing.assert_allclose(training_accuracy_lost.score(run, STREAM), [0.2, 0, 0], atol=1e-12)
    fits = -np.array([[[2.0], [200.0]], [[3.0], [1.0]], [[5.0], [5.0]]])
    run = mfvi_run("told", 0.8, {"train_accuracy": one, "expected_log_likelihood": fits})
    np.testing.assert_allclose(nll_rise.score(run, STREAM), [2, 0, 0], atol=1e-12)
    for metric in (gradient_sd, training_accuracy_lost, nll_rise):
        assert np.isnan(metric.score(mfvi_run("not", 0.8), STREAM)).all()


def test_gradient_noise_draws_each_family_in_the_order_of_the_widths():
    study = noise_study()
    left, right = gradient_noise.draw(study).get_axes()
    normal, radial = means(left)
    np.testing.assert_allclose(normal.get_xdata(), [0.1, 1, 3])
    # The mean over both tasks.
    np.testing.assert_allclose(normal.get_ydata(), 1.5 * np.array([0.01, 1, 9]))
    assert left.get_xscale() == left.get_yscale() == "log"
    published, full = means(right)
    assert [line.get_label() for line in (published, full)] == ["eq. 44", "with the Jacobian"]
    np.testing.assert_allclose(full.get_ydata(), 100 * published.get_ydata())
    np.testing.assert_allclose(full.get_ydata(), 10 * radial.get_ydata())
    said = (
        "images: as the weights' standard deviation grows from 0.1 to 3, that of the gradient"
        " grows by a factor of 900 with normal and 5.5 with radial"
    )
    assert gradient_noise.draw(study).get_suptitle() == said
    assert gradient_noise.caption(study).startswith(f"{said}. Root mean square")
    assert "5 draws" in gradient_noise.caption(study) and "3 of 3 runs" in gradient_noise.caption(
        study
    )


def mfvi_run(name, accuracy, infos=None, **settings):
    """Return a run of mfvi with this test accuracy, and half of it in nats."""
    known = {"family": "gaussian", "draws": 1, "epochs": 5, "gradient_draws": 0} | settings
    score = np.stack([np.full((SEEDS, 2), accuracy), np.full((SEEDS, 2), accuracy / 2)])
    wobble = np.linspace(-0.01, 0.01, SEEDS)[:, np.newaxis]
    return stores.run_store(
        score + wobble, ["accuracy", "nll"], STREAM, name, [["mfvi", known]], infos
    )


def dynamics(**accuracies):
    """Return a study of runs that measure gradients, with test accuracies; NaN for failed ones."""
    one = np.ones((SEEDS, 2, 1))
    fields = ("train_accuracy", "expected_log_likelihood", "kl", "gradient_sd")
    infos = dict.fromkeys(fields, one)
    runs = [
        mfvi_run(name, accuracy, infos, gradient_draws=4) for name, accuracy in accuracies.items()
    ]
    return stores.study("dynamics", STREAM, ["accuracy", "nll"], runs)


def test_the_title_has_the_test_accuracy_at_the_end_of_training_best_first():
    results = dynamics(low=0.6, failed=np.nan, high=0.875)
    said = "images: after 10 epochs high has a test accuracy of 87.5 %, low 60.0 %"
    (block,) = training_dynamics.draw(results).subfigs
    assert block.get_suptitle() == training_dynamics.message(results, "images") == said
    assert training_dynamics.caption(results).startswith(f"{said}. As Fig. 7")
    bounded = dataclasses.replace(results, bounds=["high"])
    said = "images: after 10 epochs low has a test accuracy of 60.0 %"
    assert training_dynamics.message(bounded, "images") == said


def test_the_title_fits_many_methods_and_none():
    names = "abcdefg"
    many = dynamics(**{name: 0.1 * place for place, name in enumerate(names, start=1)})
    said = training_dynamics.message(many, "images")
    shown = ", ".join(f"{name} {10 * names.index(name) + 10}.0 %" for name in "fedc")
    assert said == (
        "images: after 10 epochs g has a test accuracy of 70.0 %, "
        f"{shown} (the best 5 of 7 methods)"
    )
    none = training_dynamics.message(dynamics(failed=np.nan), "images")
    assert none == "images: no method has a test accuracy at the end of training"


def test_runs_of_other_lengths_are_compared_at_the_end_of_training():
    one = np.ones((SEEDS, 2, 1))
    infos = dict.fromkeys(("train_accuracy", "expected_log_likelihood", "kl", "gradient_sd"), one)
    runs = [
        mfvi_run(name, 0.5, infos, gradient_draws=4, epochs=epochs)
        for name, epochs in (("short", 5), ("long", 50))
    ]
    study = stores.study("dynamics", STREAM, ["accuracy", "nll"], runs)
    said = "images: at the end of training short has a test accuracy of 50.0 %, long 50.0 %"
    assert training_dynamics.message(study, "images") == said


def test_training_goes_on_over_the_epochs_of_the_tasks():
    one = np.ones((SEEDS, 2, 1))
    infos = {
        "train_accuracy": 0.9 * one,
        "expected_log_likelihood": -40 * one,
        "kl": 10 * one,
        "gradient_sd": 0.3 * one,
    }
    told = mfvi_run("told", 0.8, infos, gradient_draws=4)
    study = stores.study("dynamics", STREAM, ["accuracy", "nll"], [told, mfvi_run("not", 0.5)])
    accuracy, terms, spread = training_dynamics.draw(study).get_axes()
    test, train = means(accuracy)
    np.testing.assert_array_equal(test.get_xdata(), [5, 10])
    np.testing.assert_allclose(test.get_ydata(), 80)
    np.testing.assert_allclose(train.get_ydata(), 90)
    rows = transformed_images.problem(STREAM).n_train
    nll, kl = means(terms)
    np.testing.assert_allclose(nll.get_ydata(), 40 / rows)
    np.testing.assert_allclose(kl.get_ydata(), 10 / rows)
    (line,) = means(spread)
    np.testing.assert_allclose(line.get_ydata(), 0.3)
    assert "over 4 draws" in training_dynamics.caption(study)


def test_scores_stand_against_the_cut_a_curve_for_each_number_of_draws():
    def cut(at, number):
        settings = {"family": "truncated", "truncation": at, "draws": number}
        return mfvi_run(f"cut-{at}-{number}", 0.9 - at / 10, **settings)

    runs = [cut(at, number) for number in (1, 4) for at in (3.0, 1.0)]
    runs += [mfvi_run("whole-1", 0.4), mfvi_run("whole-4", 0.7, draws=4)]
    runs += [mfvi_run("radial", 0.99, family="radial")]
    study = stores.study("truncation", STREAM, ["accuracy", "nll"], runs)
    accuracy, nll = truncation.draw(study).get_axes()
    for container in accuracy.containers:
        np.testing.assert_allclose(container.lines[0].get_ydata(), [80, 60])
    assert accuracy.get_ylabel() == "accuracy (%)"
    assert nll.get_ylabel() == "negative log likelihood (nats per example)"
    dotted = [line.get_ydata()[0] for line in accuracy.get_lines() if line.get_ls() == ":"]
    np.testing.assert_allclose(dotted, [40, 70])
    assert [one.get_label() for one in accuracy.containers] == [
        "1 draw a step", "4 draws a step",
    ]  # fmt: skip
    np.testing.assert_allclose(nll.containers[0].lines[0].get_ydata(), [0.4, 0.3])


def truncated(cuts, whole, bounds=()):
    """Return results with accuracies of cuts and of whole normals, by cut and draws, or draws."""

    def name(*parts):
        return "-".join(f"{part:g}" for part in parts)

    runs = [
        mfvi_run(name(*place), accuracy, family="truncated", truncation=place[0], draws=place[1])
        for place, accuracy in cuts.items()
    ]
    runs += [mfvi_run(name(draws), accuracy, draws=draws) for draws, accuracy in whole.items()]
    study = stores.study("truncation", STREAM, ["accuracy", "nll"], runs)
    return dataclasses.replace(study, bounds=bounds)


NAN = np.nan


@pytest.mark.parametrize(
    ("study", "said"),
    [
        (
            truncated({(0.5, 1): 0.8, (0.5, 4): 0.9, (2.0, 4): 0.7}, {1: 0.6, 4: 0.75}),
            "noise truncated at 0.5 standard deviations, with 4 draws a step, has the largest"
            " accuracy, 90.0 %; without truncation the largest is 75.0 %",
        ),
        (
            truncated({(0.5, 1): 0.9, (2.0, 4): 0.9}, {1: NAN}),
            "noise truncated at 0.5 standard deviations, with 1 draw a step, has the largest"
            " accuracy of 90.0 %",
        ),
        (
            truncated({(0.5, 1): 0.8, (2.0, 1): 0.9}, {}),
            "noise truncated at 2 standard deviations has the largest accuracy of 90.0 %",
        ),
        (
            truncated({(0.5, 1): 0.8, (2.0, 1): NAN}, {1: NAN}),
            "noise truncated at 0.5 standard deviations has an accuracy of 80.0 %",
        ),
        (
            truncated({(0.5, 1): 0.8, (2.0, 1): 0.7}, {1: 0.8}),
            "truncation does not improve the accuracy: 80.0 % without it, at most 80.0 % with it",
        ),
        (
            truncated({(0.5, 1): 0.8, (2.0, 1): 0.7}, {1: 0.75}, bounds=["0.5-1"]),
            "truncation does not improve the accuracy: 75.0 % without it, at most 70.0 % with it",
        ),
        (truncated({(0.5, 1): NAN}, {1: 0.8}), "no method with a cut has an accuracy"),
    ],
)
def test_the_title_says_which_cut_is_best(study, said):
    assert truncation.message(study, "images") == f"images: {said}"
    (title,) = [block.get_suptitle() for block in truncation.draw(study).subfigs]
    assert title == f"images: {said}"
    assert truncation.caption(study).startswith(f"images: {said}. Test scores")


def test_each_stream_has_a_title():
    study = truncated({(0.5, 1): 0.8}, {1: 0.7})
    cubes = [study.cube.assign_coords(stream=[name]) for name in ("images", "others")]
    cube = xr.concat(cubes, "stream")
    cube["score"].loc[{"stream": "others", "metric": "accuracy", "learner": "1"}] = 0.9
    runs = {path.replace("images", "others"): store for path, store in study.scores.items()}
    both = dataclasses.replace(
        study,
        scores={**study.scores, **runs, "scores": cube},
        streams={"images": STREAM, "others": STREAM},
    )
    said = [block.get_suptitle() for block in truncation.draw(both).subfigs]
    assert said == [
        "images: noise truncated at 0.5 standard deviations has the largest accuracy, 80.0 %;"
        " without truncation the largest is"
        " 70.0 %",
        "others: truncation does not improve the accuracy: 90.0 % without it,"
        " at most 80.0 % with it",
    ]
    assert truncation.caption(both).startswith(". ".join(said))


@pytest.mark.parametrize("artefact", [gradient_noise, training_dynamics, truncation])
def test_each_figure_needs_such_runs(artefact):
    study = stores.study("none", STREAM, ["accuracy", "nll"], [mfvi_run("not", 0.5)])
    with pytest.raises(UserError, match="needs a method"):
        artefact.draw(study)
