"""More seeds than realisations of a stream are refused, unless all realisations are equal."""

from __future__ import annotations

import re

import pytest
import yaml

from shiftbench.config import components, config_file, seed_checks
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


TABLE = """
streams:
  prices: {{family: table-file, path: prices.csv, target: price}}
studies:
  prices:
    title: Prices
    streams: [prices]
    seeds: {seeds}
    metrics: [absolute_error]
    artefacts: [score-table]
    methods: [{methods}]
"""
PLAIN = "vbs-linear, plain: [linear-gaussian: {noise_sd: 1.0}]"


def noted(folder, methods: str, seeds: int = 5) -> list[str]:
    (folder / "prices.csv").write_text("load,price\n1,2\n2,3\n3,5\n")
    path = folder / "prices.yaml"
    path.write_text(TABLE.format(methods=methods, seeds=seeds))
    return [*seed_checks.notes(config_file.load(path))]


def test_seeds_that_are_all_alike_are_noted_with_the_remedy(tmp_path):
    (note,) = noted(tmp_path, PLAIN)
    assert note.startswith(
        "prices: all 5 seeds give the same result for vbs-linear and plain on prices, because"
    )
    assert note.endswith("there; there are no intervals; set seeds to 1")
    assert noted(tmp_path, PLAIN, seeds=1) == []


def test_methods_that_draw_nothing_are_noted_beside_one_that_draws(tmp_path):
    drawing = "some: [ensemble: {size: 2}, linear-gaussian: {noise_sd: 1.0}]"
    assert noted(tmp_path, drawing) == []
    (note,) = noted(tmp_path, f"vbs-linear, {drawing}")
    assert "result for vbs-linear on prices, because" in note
    assert note.endswith("there are no intervals")


def test_our_methods_draw_by_the_module_of_seeds_alone():
    own = re.compile(r"np\.random\.(?!Generator)|tf\.random\.\w+\(|^import random", re.MULTILINE)
    methods = components.packages()[components.OURS] / "methods"
    found = [path for path in methods.rglob("*.py") if own.search(path.read_text())]
    assert not found, "draw by core.seeds, from which `check` knows whether seeds differ"
