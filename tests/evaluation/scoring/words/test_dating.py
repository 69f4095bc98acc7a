"""Dating and held-out likelihood against double loops, without any training text."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import xarray as xr

from shiftbench.data.text import planted_words
from shiftbench.evaluation.scoring.words import dating, held_out, trajectories
from tests.data.text.word_counts import brute_force
from tests.evaluation.scoring.words import word_stores


def log_sigmoid(x):
    return -np.logaddexp(0, -np.float64(x))


def document_counts(stream, realisation=0):
    """Return counts [V, V] of each held-out document, by a double loop over its text."""
    group = stream[f"realisation-{realisation}"]
    start, text = group["text_start"].values, group["text"].values
    size = stream.sizes["word"]
    return [
        brute_force([text[a:b]], size, word_stores.SETTINGS.window).astype(float)
        for a, b in itertools.pairwise(start)
    ]


def likelihood(counts, share, vectors, context):
    """Return sum_ij n+_ij log s(u_i.v_j) + n-_ij log s(-u_i.v_j) by a double loop."""
    total = 0.0
    for i, j in np.ndindex(counts.shape):
        x = float(vectors[i].astype(float) @ context[j].astype(float))
        total += counts[i, j] * log_sigmoid(x) + counts[i].sum() * share[j] * log_sigmoid(-x)
    return total


def shares(counts):
    power = counts.sum(axis=1) ** 0.75
    return power / power.sum()


@pytest.mark.parametrize("variant", ["vbs", "independent"])
def test_scores_equal_a_double_loop(variant):
    stream, run = word_stores.stream(), word_stores.run(variant)
    score, period = dating.scores(run, stream, 0)
    assert len(score) == 5 * 4 and np.bincount(period).tolist() == [4] * 5
    everything = planted_words.task(stream, [0], -1).train
    total = np.zeros((22, 22))
    np.add.at(total, tuple(everything.inputs[0].T), everything.targets[0, :, 0])
    found = trajectories.of_seed(run, 0)
    context = run["warm_up_context"].values[0, 0]
    documents = document_counts(stream)
    for k in (0, 13):
        expected = [likelihood(documents[k], shares(total), found.at(t), context) for t in (0, 3)]
        # Equal up to the terms of words that never change, which all periods share.
        np.testing.assert_allclose(
            score[k, 3] - score[k, 0], expected[1] - expected[0], rtol=1e-3, atol=1e-3
        )


@pytest.mark.long
def test_held_out_likelihood_equals_a_double_loop():
    stream, run = word_stores.stream(), word_stores.run("vbs")
    context = run["warm_up_context"].values[0, 0]
    documents = document_counts(stream)
    of_period = []
    for t in range(word_stores.PERIODS):
        counts = sum(documents[4 * t : 4 * t + 4])
        means = run["info_mean"].values[0, t]
        weight = np.exp(run["info_log_weight"].values[0, t])
        total = 0.0
        for k, word in np.ndindex(weight.shape):
            row = np.zeros_like(counts)
            row[word] = counts[word]
            total += weight[k, word] * likelihood(row, shares(counts), means[k], context)
        of_period.append(total / (2 * counts.sum()))
    np.testing.assert_allclose(
        held_out.log_likelihood(run, stream, 0), np.mean(of_period), rtol=1e-4
    )


def test_hypotheses_without_weight_add_nothing_to_the_held_out_likelihood():
    stream, run = word_stores.stream(), word_stores.run("vbs").copy(deep=True)
    alone = run.isel(hypothesis=[0]).copy(deep=True)
    alone["info_log_weight"][:] = 0.0
    run["info_log_weight"][:, :, 1:] = np.log(held_out.LEAST / 2)
    run["info_log_weight"][:, :, 0] = 0.0
    run["info_mean"][:, :, 1:] = np.nan
    assert held_out.log_likelihood(run, stream, 0) == held_out.log_likelihood(alone, stream, 0)


def test_dating_knows_no_training_text():
    """Changing held-out counts changes the dates, and all dated documents are held out."""
    stream, run = word_stores.stream(), word_stores.run("vbs")
    group = stream["realisation-0"]
    assert group["document_held_out"].values.sum() == 5 * 4
    # With training documents there would be 100 of them, with more words than these.
    texts = dating._texts(stream, 0)
    expected = sum(counts.sum() for counts in document_counts(stream))
    assert texts.counts.sum() == expected and len(texts.period) == 5 * 4
    emptied = {node.path: node.to_dataset(inherit=False).copy(deep=True) for node in stream.subtree}
    emptied["/realisation-0"]["text"][:] = -1
    score, _ = dating.scores(run, xr.DataTree.from_dict(emptied), 0)
    assert (score == 0).all()


def test_the_error_of_a_tie_is_its_mean():
    score = np.array([[1.0, 3, 3, 2], [0, 0, 0, 0], [9, 1, 1, 1]])
    errors = dating.errors(score, np.array([1, 0, 3]))
    np.testing.assert_allclose(errors, [0.5, 1.5, 3.0])


def test_a_periods_text_is_the_sum_of_its_documents():
    score = np.array([[1.0, 0], [2, 5], [7, 0]])
    together, periods = dating.by_period(score, np.array([1, 1, 0]))
    assert together.tolist() == [[7, 0], [3, 5]] and periods.tolist() == [0, 1]


def test_without_held_out_documents_there_is_nothing_to_date():
    assert np.isnan(dating.mean_error(np.zeros((0, 3)), np.zeros(0, int)))
