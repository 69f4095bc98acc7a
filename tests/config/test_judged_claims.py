"""Every claim has a study on few cores or a reason why not, and a known training share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from shiftbench.config import claims, config_file, paper_training, specs
from shiftbench.config.paper_training import OurTraining
from shiftbench.config.schema import Config
from shiftbench.core import checkout

UNKNOWN = {
    "planted-words", "simulated-changes", "shifted-images",
    "permuted-images", "split-images", "transformed-images",
}  # fmt: skip
"""Families of streams with claims by some works, but without known training of the paper."""


@pytest.fixture(scope="module")
def plans() -> list[Config]:
    return [config_file.load(checkout.CONFIGS / f"{name}.yaml") for name in ("embedded", "cpu")]


def judged(plan: Config) -> Iterator[tuple[str, str, str]]:
    """Yield each claim, study and stream."""
    for study in plan.studies:
        for name, streams in claims.of_study(plan, study).items():
            yield from ((name, study, stream) for stream in streams)


@pytest.mark.long
def test_every_claim_is_judged_or_says_why_not(plans) -> None:
    names = {name for plan in plans for name, _, _ in judged(plan)}
    mute = {claim.name for claim in plans[0].claims.values() if not claim.not_run}
    assert mute == names


@pytest.mark.long
def test_the_gate_knows_each_stream_or_has_no_verdict(plans) -> None:
    """A share is a number in (0, 1]; a new unknown stream has to be added to the list."""
    for plan in plans:
        for name, study, stream in judged(plan):
            claim, planned = plan.claims[name], plan.studies[study]
            learner = {method: one for one, method in planned.method_of.items()}
            for method in claim.holds.methods:
                spec = specs.run(plan, study, stream, learner[method], (0, 0))
                ours = OurTraining(spec["stream"], spec["learner"], spec["model"])
                share = paper_training.share(claim.work, method, claim.metric, ours)
                assert (share is not None and 0 < share <= 1) or claim.family in UNKNOWN, name


@pytest.mark.long
def test_a_study_can_leave_claims_to_others(plans) -> None:
    _, cpu = plans
    grid, main = (cpu.studies[name] for name in ("uci-regression-grid", "uci-regression"))
    assert "claims" in main.artefacts and "claims" not in grid.artefacts
    judging = grid.model_copy(update={"judges_claims": True})
    plan = cpu.model_copy(update={"studies": cpu.studies | {"uci-regression-grid": judging}})
    assert not claims.of_study(cpu, "uci-regression-grid")
    assert "error-boston" in claims.of_study(plan, "uci-regression-grid")
