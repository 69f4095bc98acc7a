"""Which settings of `map` allow a posterior around its estimate, and what it then offers."""

from __future__ import annotations

import pytest

from shiftbench.config import components

GIVEN = {"importance": "none", "prediction_draws": 5}


def refused(**fields) -> list[str]:
    return components.unsupported("learners", "map", components.check("learners", "map", fields))


@pytest.mark.parametrize("prediction", ["laplace-last", "swag"])
@pytest.mark.parametrize(
    ("name", "value", "needed"),
    [
        ("importance", "fisher", "importance: none"),
        ("dropout", 0.5, "dropout: 0"),
        ("input_dropout", 0.5, "input_dropout: 0"),
    ],
)
def test_what_does_not_go_with_it_is_refused_with_the_remedy(prediction, name, value, needed):
    given = GIVEN | {"prediction": prediction, "epochs": 40}
    assert not refused(**given)
    (reason,) = refused(**given | {name: value})
    assert f"prediction `{prediction}` needs `{needed}`" in reason


def test_kronecker_factors_are_refused():
    given = {"prediction": "swag", "curvature": "kronecker", "biases": "penalised"}
    assert any("needs `curvature: diagonal`" in one for one in refused(**GIVEN | given))


def test_swag_needs_draws_and_no_more_epochs_than_there_are():
    given = GIVEN | {"prediction": "swag"}
    (reason,) = refused(**given | {"prediction_draws": 0})
    assert "set prediction_draws above 0" in reason
    (reason,) = refused(**given | {"epochs": 5, "swag_epochs": 6})
    assert "last 6 of 5 epochs" in reason and "set swag_epochs to fewer" in reason


def test_an_estimate_alone_can_be_broadened_and_weighed():
    facts = components.facts("learners", "map")
    for prediction, offers in (("estimate", True), ("laplace-last", False), ("swag", False)):
        made = components.check("learners", "map", GIVEN | {"prediction": prediction})
        assert ({"broaden", "log_evidence"} <= facts.words("offers", made)) == offers
        assert ("learnt-noise" in facts.words("refuses", made)) == (prediction == "laplace-last")
