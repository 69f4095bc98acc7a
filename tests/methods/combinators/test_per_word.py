"""Words learnt side by side against each word alone, and context vectors against planted topics."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, LearnerError, Problem
from shiftbench.methods.combinators import beam, per_word, reset
from shiftbench.methods.learners import skipgram
from shiftbench.methods.words.context_vectors import pretrained
from shiftbench.methods.words.cooccurrence import blocks, cooccurrence

V, D, K = 12, 3, 2
STREAM = Problem("counts", (2,), V, V * V, 3)
BEAM = {"broadening": "temper-prior", "beta": 0.25, "size": K, "prior_log_odds": -1.0}


def learner(*between, **settings):
    """Return per-word over skipgram, with the given combinators between them."""
    outer = per_word.Settings(dimension=D, **{"block": 5} | settings)
    inside = per_word.inner_problem(outer, STREAM)
    inner = skipgram.build(skipgram.Settings(), inside)
    for module, chosen in reversed(between):
        inner = module.build(module.Settings(**chosen), inside, inner)
    return per_word.build(outer, STREAM, inner)


def key(repetitions=1):
    return seeds.block(range(repetitions), "per-word")


def two_topics(seed, mass=4000, swapped=False):
    """Return symmetric counts [V, V] of two topics, which are the even and the odd words.

    Word 5 is swapped if `swapped` is set; word 11 is absent.
    """
    rng = np.random.default_rng(seed)
    topic = np.arange(V) % 2
    if swapped:
        topic[5] = 0
    rate = np.where(topic[:, None] == topic, 1.0, 0.1) / np.add.outer(
        np.arange(V), np.arange(1, 13)
    )
    counts = np.triu(rng.poisson(mass * rate / rate.sum()))
    counts[:, 11] = 0
    return (counts + np.triu(counts, 1).T).astype(float)


def batch(*counts):
    """Return a batch with the pairs of one matrix per repetition, padded to equal length."""
    results = [np.stack([*np.nonzero(c), c[np.nonzero(c)]], axis=1) for c in counts]
    most = max(map(len, results)) + 3
    rows = np.stack([np.pad(f, ((0, most - len(f)), (0, 0))) for f in results])
    mask = np.arange(most) < np.array([[len(f)] for f in results])
    return Batch(rows[..., :2].astype(np.int32), rows[..., 2:].astype(np.float32), mask)


def run(combined, *tasks, repetitions=1):
    """Return state and infos after a warm-up on the sum of all tasks and then each task."""
    total = batch(*np.sum(tasks, axis=0)) if repetitions > 1 else batch(np.sum(tasks, axis=0))
    state, _ = combined.begin(combined.init(key(repetitions)), total, key(repetitions))
    infos = []
    for counts in tasks:
        data = batch(*counts) if repetitions > 1 else batch(counts)
        state = combined.drift(state, key(repetitions))
        state, info = combined.observe(state, data, key(repetitions))
        infos.append(info)
    return state, infos


TASKS = two_topics(0), two_topics(1), two_topics(2, swapped=True)


def close(one, two):
    assert one.keys() == two.keys()
    for name in one:
        np.testing.assert_allclose(one[name], two[name], rtol=1e-4, atol=2e-3, err_msg=name)


@pytest.fixture(scope="module")
def results():
    return run(learner((beam, BEAM)), *TASKS)


@pytest.mark.long
def test_blocks_of_any_size_give_the_same(results):
    for block in (1, 50):
        state, infos = run(learner((beam, BEAM), block=block), *TASKS)
        np.testing.assert_allclose(state["context"], results[0]["context"], atol=1e-3)
        for name in ("shift", "parent"):
            np.testing.assert_array_equal(infos[2][name], results[1][2][name])
        np.testing.assert_allclose(infos[2]["mean"], results[1][2]["mean"], atol=5e-3)


def word_alone(state, counts, word):
    """Return the batch that the inner learner observes for one word."""
    mass = counts.sum(axis=1)
    share = mass**0.75 / (mass**0.75).sum()
    targets = np.stack([counts[word], mass[word] * share], axis=-1)[None]
    return Batch(state["context"][:, 0], targets, np.ones((1, V), bool))


@pytest.mark.long
def test_equals_the_beam_on_each_word_alone(results):
    state, infos = results
    inside = per_word.inner_problem(per_word.Settings(dimension=D), STREAM)
    single = beam.build(beam.Settings(**BEAM), inside, skipgram.build(skipgram.Settings(), inside))
    for word in (0, 5, 11):
        own = single.init(key())
        for counts, info in zip(TASKS, infos, strict=True):
            data = word_alone(state, counts, word)
            own, expected = single.observe(single.drift(own, key()), data, key())
            close({k: a[:, :, word] for k, a in info.items()}, expected)
        of_word = {k.removeprefix("base."): a[0, :, word] for k, a in state.items() if "base" in k}
        close(of_word, own)


def test_states_and_infos_have_their_shapes(results):
    state, infos = results
    assert state["context"].shape == (1, 1, V, D)
    assert state["base.base.mean"].shape == (1, 1, V, K, D)
    assert state["base.log_weight"].shape == (1, 1, V, K)
    assert infos[2]["mean"].shape == (1, K, V, D) and infos[2]["mean"].dtype == np.float32
    assert infos[2]["log_evidence"].shape == (1, K, V)


def test_the_word_that_changed_its_topic_is_found():
    # The word's contexts change as well, but far less.
    _, infos = run(learner((beam, BEAM | {"prior_log_odds": -15.0})), *TASKS)
    assert not infos[1]["shift"][0, 0].any()
    assert np.flatnonzero(infos[2]["shift"][0, 0]).tolist() == [5]


def test_an_absent_word_stays_at_its_prior():
    state, infos = run(learner(), *TASKS[:2])
    np.testing.assert_array_equal(state["base.mean"][0, 0, 11], 0)
    np.testing.assert_array_equal(state["base.precision"][0, 0, 11], 1)
    assert infos[1]["elbo"][0, 0, 11] == 0
    assert all(np.isfinite(a).all() for a in state.values())


def test_independent_words_forget():
    state, infos = run(learner((reset, {})), *TASKS[:2])
    inside = per_word.inner_problem(per_word.Settings(dimension=D), STREAM)
    single = skipgram.build(skipgram.Settings(), inside)
    data = word_alone(state, TASKS[1], 3)
    _, expected = single.observe(single.init(key()), data, key())
    close({k: a[:, :, 3] for k, a in infos[1].items()}, expected)


@pytest.mark.long
def test_repetitions_have_contexts_of_their_own():
    other = tuple(two_topics(seed, mass=2000) for seed in (7, 8))
    both, infos = run(
        learner((beam, BEAM)),
        *[np.stack(pair) for pair in zip(TASKS[:2], other, strict=True)],
        repetitions=2,
    )
    one, _ = run(learner((beam, BEAM)), *TASKS[:2])
    for name in one:
        np.testing.assert_allclose(both[name][:1], one[name], rtol=1e-4, atol=1e-3)
    assert infos[1]["mean"].shape == (2, K, V, D)
    assert np.abs(both["context"][0] - both["context"][1]).max() > 0.1


def test_predictions_of_pairs_mix_the_hypotheses_of_their_word(results):
    state, _ = results
    combined = learner((beam, BEAM))
    pairs = np.array([[[3, 5], [0, 2], [11, 1], [0, 2], [0, 0]]], np.int32)
    predicted = combined.predict(state, pairs, key())
    assert predicted.probabilities.shape == (1, 1, 5, 2)
    np.testing.assert_allclose(predicted.probabilities.sum(axis=-1), 1, rtol=1e-12)
    z, w = np.polynomial.hermite_e.hermegauss(40)
    log_weight = state["base.log_weight"][0, 0]
    for row, (word, context) in enumerate(pairs[0]):
        v = state["context"][0, 0, context].astype(float)
        mean = state["base.base.mean"][0, 0, word] @ v
        sd = np.sqrt((1 / state["base.base.precision"][0, 0, word]) @ v**2)
        p = (1 / (1 + np.exp(-mean[:, None] - sd[:, None] * z))) @ (w / w.sum())
        weight = np.exp(log_weight[word] - np.logaddexp.reduce(log_weight[word]))
        np.testing.assert_allclose(predicted.probabilities[0, 0, row, 0], weight @ p, atol=1e-4)


def test_pretraining_lowers_the_loss_and_signs_follow_the_topics():
    counts = two_topics(3, mass=100_000)
    cooccurrences = cooccurrence(np.argwhere(counts), counts[counts > 0], V, 1.0, 0.75)
    vectors, losses = pretrained(cooccurrences, 2, np.random.default_rng(0), 20, 1e-5)
    assert losses[-1] < losses[0] - 0.1 and (np.diff(losses[:-1]) < 0).all()
    # Compare each context vector with the mean of its topic, leaving out the absent word.
    topics = np.stack([vectors[0:11:2].mean(axis=0), vectors[1:11:2].mean(axis=0)])
    signs = np.sign(vectors[:11] @ (topics[0] - topics[1]))
    np.testing.assert_array_equal(signs, np.where(np.arange(11) % 2 == 0, 1, -1))
    np.testing.assert_allclose(vectors[11], 0, atol=1e-6)


def test_dense_blocks_are_the_counts_and_the_negatives_of_the_notes():
    counts = two_topics(4)
    cooccurrences = cooccurrence(np.argwhere(counts), counts[counts > 0], V, 2.0, 0.75)
    mass = counts.sum(axis=1)
    negatives = 2 * np.outer(mass, mass**0.75 / (mass**0.75).sum())
    rows = [cooccurrences.dense(words)[real] for words, real in blocks(V, 5)]
    np.testing.assert_allclose(np.concatenate(rows)[..., 0], counts)
    np.testing.assert_allclose(np.concatenate(rows)[..., 1], negatives, rtol=1e-6)
    turned = cooccurrences.transposed.dense(np.arange(V))
    np.testing.assert_allclose(turned, np.stack([counts, negatives], -1).swapaxes(0, 1), rtol=1e-6)
    assert {len(words) for words, _ in blocks(V, 5)} == {5}


def test_an_empty_period_and_exponent_zero_are_finite():
    state, infos = run(learner(negative_exponent=0.0), TASKS[0], np.zeros((V, V)))
    assert all(np.isfinite(a).all() for a in (state | infos[1]).values())
    np.testing.assert_array_equal(infos[1]["elbo"], 0)


def test_wrong_pairs_and_another_stream_are_refused():
    combined, good = learner(), batch(TASKS[0])
    for name, value in (("inputs", V), ("inputs", -1), ("targets", -1.0), ("targets", np.inf)):
        wrong = good._replace(**{name: getattr(good, name).copy()})
        getattr(wrong, name)[0, 7, 0] = value
        with pytest.raises(LearnerError, match="row 7 counts the pair"):
            combined.begin(combined.init(key()), wrong, key())
    with pytest.raises(LearnerError, match="stream of counts"):
        per_word.build(per_word.Settings(), Problem("regression", (1,), 1, 1, 1), combined)
