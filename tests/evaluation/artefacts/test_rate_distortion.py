"""The title of dating errors against words updated, from rates and errors set by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from shiftbench.evaluation.artefacts import rate_distortion
from tests.evaluation.artefacts import paired
from tests.evaluation.scoring.words.word_stores import study

STREAM = "planted-words"


def dated(points, **others):
    """Return the small study with (rate, error) by learner; each may be a list over its seeds."""
    cube = study().cube.copy(deep=True)
    for learner, (rate, error) in points.items():
        for metric, value in {rate_distortion.RATE: rate, "dating_error": error}.items():
            cube["score"].loc[{"learner": learner, "metric": metric}] = value
    return replace(study(), scores={**study().scores, "scores": cube}, **others)


def test_the_title_says_what_dates_best():
    learners = dict.fromkeys(study().methods)
    rates, errors = (
        {name: study().score(STREAM, name, metric).mean() for name in learners}
        for metric in (rate_distortion.RATE, "dating_error")
    )
    best = min(learners, key=errors.get)
    # The learners without a beam update every word.
    assert rates["vcl"] == rates["independent"] == 22 > rates["vbs"]
    said = f"{STREAM}: {best} dates texts best, {errors[best]:.2f} periods off with "
    if best == "vbs":
        last = min(("vcl", "independent"), key=errors.get)
        end = f"; with the most, 22, {last} is {errors[last]:.2f} periods off"
    else:
        rate = rates["vbs"]
        end = (
            f"; with the fewest, {rate:.2g}, VBS, paper weights is {errors['vbs']:.2f} periods off"
        )
    said = said.replace("vbs dates", "VBS, paper weights dates")
    scores = {name: study().score(STREAM, name, "dating_error") for name in learners}
    assert not paired.worse(scores.pop(best), [*scores.values()]).any()
    end += "; no other is significantly worse"
    message = rate_distortion.message(study())
    assert message.startswith(said) and message.endswith(end)
    assert rate_distortion.draw(study()).get_suptitle() == message
    assert rate_distortion.caption(study()).startswith(f"{message}. {STREAM}: 22 words")


VBS = "VBS, paper weights"
NAN = np.nan


@pytest.mark.parametrize(
    ("points", "others", "said"),
    [
        (
            {"vbs": (2.5, 0.5), "vcl": (22, 0.75), "independent": (22, 1)},
            {},
            f"{VBS} dates texts best, 0.50 periods off with 2.5 of 22 words updated per period;"
            " with the most, 22, vcl is 0.75 periods off; all seeds alike, so no test",
        ),
        # With two seeds p = 1 - 2 atan(t) / pi, where t is the mean difference over half the range.
        (
            {"vbs": (2.5, 0.5), "vcl": (22, [0.74, 0.76]), "independent": (22, [0.99, 1.01])},
            {},
            f"{VBS} dates texts best, 0.50 periods off with 2.5 of 22 words updated per period;"
            " with the most, 22, vcl is 0.75 periods off; all others are significantly worse",
        ),  # t = 25 and 50, p = 0.025 and 0.013
        (
            {"vbs": (2.5, [0.4, 0.8]), "vcl": (22, 0.25), "independent": (22, [0.99, 1.01])},
            {},
            "vcl dates texts best, 0.25 periods off with 22 of 22 words updated per period, the"
            f" most; with the fewest, 2.5, {VBS} is 0.60 periods off;"
            f" {VBS} is not significantly worse",
        ),  # t = 1.75 and 75, p = 0.33 and 0.0085; 0.28 between these two
        (
            {"vbs": (2.5, 0.5), "vcl": (22, 0.25), "independent": (11, 1)},
            {},
            "vcl dates texts best, 0.25 periods off with 22 of 22 words updated per period, the"
            " most;"
            f" with the fewest, 2.5, {VBS} is 0.50 periods off; all seeds alike, so no test",
        ),
        (
            {"vbs": (2.5, 0), "vcl": (22, 0), "independent": (22, 1)},
            {},
            f"{VBS} dates texts as well as any, 0.00 periods off with 2.5 of 22 words updated per"
            " period; with the most, 22, vcl is 0.00 periods off; all seeds alike, so no test",
        ),
        (
            {"vbs": (2.5, 0.25), "vcl": (22, 0.75), "independent": (22, 1)},
            {"bounds": ["vbs"], "labels": {"vcl": "VCL"}},
            "VCL dates texts best, 0.75 periods off with 22 of 22 words updated per period;"
            " all seeds alike, so no test",
        ),
        (
            {"vbs": (2.5, NAN), "vcl": (NAN, NAN), "independent": (22, 1)},
            {},
            "independent dates texts 1.00 periods off with 22 of 22 words updated per period",
        ),
        (
            dict.fromkeys(("vbs", "vcl", "independent"), (NAN, NAN)),
            {},
            "no method dates a text",
        ),
    ],
)
def test_the_title_is_true_for_ties_failures_and_bounds(points, others, said):
    assert rate_distortion.message(dated(points, **others)) == f"{STREAM}: {said}"
