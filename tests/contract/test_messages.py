"""For a learner with one fault, `shiftbench test` prints exactly one message, word for word."""

from __future__ import annotations

import re

import pytest

from tests.contract.faulty_learners import INIT, MEAN, OBSERVED, PREDICTED, TARGETS, VARIANCE
from tests.contract.good_parts import LAST_VALUE, Fault
from tests.contract.test_faulty_parts import tried

STATES = "A state is a flat dict of NumPy arrays [seeds, hypotheses, ...] of numbers or flags."
GROWS = "The arrays of a state keep their names, shapes and types from task to task."
INFOS = "Info has the same finite numbers [seeds, hypotheses, ...] after every task."
SEEDS = "Other data and another number for one seed change no bytes for the seed beside it."
MASKED = "Rows that the mask leaves out change nothing, whatever they hold."
SUMS = "Probabilities and weights sum to one, no variance is negative, and numbers are finite."
FACTS = "Its facts `offers` and `takes` say what it offers and predicts; a density has a spread."
STATE = "a flat dict of NumPy arrays [seed, hypothesis, ...]"
INFO = "a dict of NumPy arrays [seed, hypothesis]"
PAIR = f"expected a pair (state, info): {STATE}, and {INFO}"
NO_SPREAD = f"{SUMS} It failed: after 0 tasks the Gaussian has"
WEIGHTS = "np.zeros(mean.shape[:2])"
ONE_KIND = LAST_VALUE.replace(', "number": "gaussian", "design": "gaussian"', "")
"""The learner, tried on one kind of problem alone."""
FAULTS = {
    "float32-at-first": Fault(
        INIT,
        INIT.replace("))}", "), np.float32)}"),
        f"{GROWS} It failed: 'last' has the shape (2, 1, 1) and the type float32 after `init`, and"
        " (2, 1, 1) and float64 after task 0",
    ),
    "new-array": Fault(
        OBSERVED,
        OBSERVED.replace("}, {}", ', "n": state["last"]}, {}'),
        f"{GROWS} It failed: `init` gives 'last', and `observe` gives 'last', 'n' after task 0",
    ),
    "list": Fault(
        OBSERVED,
        '{"last": [1.0]}, {}',
        f"{STATES} It failed: `observe` returns a state whose 'last' is a list, expected {STATE}",
    ),
    "list-at-first": Fault(
        INIT,
        '{"last": [1.0]}',
        f"{STATES} It failed: `init` returns a state whose 'last' is a list, expected {STATE}",
    ),
    "nothing-observed": Fault(
        f"return {OBSERVED}",
        "return None",
        f"{STATES} It failed: `observe` returns a NoneType, {PAIR}",
    ),
    "only-a-state": Fault(
        OBSERVED,
        OBSERVED.removesuffix(", {}"),
        f"{STATES} It failed: `observe` returns a dict, {PAIR}",
    ),
    "number": Fault(
        OBSERVED,
        OBSERVED.replace("{}", '{"elbo": 3.0}'),
        f"{INFOS} It failed: `observe` returns an Info whose 'elbo' is a float, expected {INFO}",
    ),
    "nan-in-info": Fault(
        OBSERVED,
        OBSERVED.replace("{}", '{"elbo": np.full((len(seeds), 1), np.nan)}'),
        f"{INFOS} It failed: 'elbo' is not finite",
    ),
    "nan-in-mean": Fault(MEAN, f"{MEAN} * np.nan", f"{NO_SPREAD} nan in its mean"),
    "weights": Fault(
        WEIGHTS,
        f"{WEIGHTS} + 7",
        f"{NO_SPREAD} log_weights whose exponentials have the sum 1096.63, expected 1",
    ),
    "no-spread": Fault(VARIANCE, f"0 * {VARIANCE}", f"{FACTS} It failed: a variance is 0"),
    "seeds-mixed": Fault(
        PREDICTED,
        PREDICTED.replace("mean, ", "mean + mean.mean(), "),
        f"{SEEDS} It failed: they change the mean of the prediction",
    ),
    "padding-learnt": Fault(
        f"np.where(seen, {TARGETS}, state",
        f"np.where(True, {TARGETS}, state",
        f"{MASKED} It failed: they change 'last' of the state",
    ),
}


@pytest.mark.long
def test_a_learner_with_one_fault_gets_one_message(tmp_path) -> None:
    parts = {name: fault.apply(ONE_KIND) for name, fault in FAULTS.items()}
    said = tried(tmp_path / "faulty_parts", {"learners": parts})
    blocks = re.split(r"^FAILS  learners (\S+) .*:\n", said, flags=re.MULTILINE)
    found = dict(zip(blocks[1::2], blocks[2::2], strict=True))
    found["list-at-first"] = found["list-at-first"].splitlines()[0]  # it has no shape for others
    place = re.compile(r" \(/\S+, line \d+\)$")
    texts = {name: place.sub("", text.strip()) for name, text in found.items()}
    assert texts == {name: f"- {fault.said}" for name, fault in FAULTS.items()}
