"""More seeds than realisations of a stream are refused, unless all realisations are equal."""

from __future__ import annotations

import pytest
import yaml

from shiftbench.config import components, config_file
from shiftbench.config.config_file import ConfigError
from tests.config import test_tuning


@pytest.fixture
def errors(tmp_path):
    def found(seeds, trials=1, in_trials=None, **stream):
        data = yaml.safe_load(test_tuning.PLAN)
        data["streams"]["digits"] |= stream
        study = data["studies"]["study"] | {"seeds": seeds}
        study["tuning"] |= {"seeds": trials, "streams": {"judge_on": "validation"}}
        study["tuning"]["streams"] |= in_trials or {}
        data["studies"]["study"] = study
        path = tmp_path / "plan.yaml"
        path.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
        try:
            config_file.load(path)
        except ConfigError as error:
            return [line.partition(": ") for line in str(error).splitlines()[1:]]
        return []

    return found


def test_as_many_seeds_as_realisations_are_taken(errors):
    assert errors(4, realisations=4) == []
    assert errors(4, trials=4, realisations=8) == []


def test_a_seed_more_is_refused_with_its_place_and_the_remedy(errors):
    ((place, _, text),) = errors(5, realisations=4)
    assert place.endswith("studies.study.seeds")
    assert text.startswith('5 repetitions on stream "digits", which has 4 realisations of permut')
    assert text.endswith("set its realisations to 5, or seeds to 4")


def test_realisations_that_are_alike_are_no_limit(errors):
    split = {"family": "split-images", "realisations": 1}
    assert errors(5, **split, class_order="given") == []
    ((_, _, text),) = errors(5, **split, class_order="shuffled")
    assert "has 1 realisation of orders of the classes" in text


def test_trials_count_realisations_of_their_own(errors):
    ((place, _, text),) = errors(4, trials=3, in_trials={"realisations": 2}, realisations=4)
    assert place.endswith("studies.study.tuning.seeds")
    assert text.endswith("realisations to 3 in `tuning.streams`, or seeds to 2")
    assert errors(4, trials=3, in_trials={"realisations": 3}, realisations=4) == []


@pytest.mark.parametrize("family", components.names("streams"))
def test_streams_with_realisations_say_what_these_vary(family):
    has = "realisations" in components.fields("streams", family)
    assert has == (components.facts("streams", family).varies is not None)
