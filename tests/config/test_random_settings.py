"""Random configurations: the draws per seed, shared draws of methods, and refusals."""

from __future__ import annotations

from collections import Counter

import pytest

from shiftbench.config import config_file, random_settings, specs
from shiftbench.config.config_file import ConfigError

STUDY = """\
streams:
  digits: {family: permuted-images, tasks: 2}
studies:
  robust:
    title: Robust
    streams: [digits]
    model: mlp
    seeds: 40
    metrics: [accuracy]
    configurations:
      - {map.learning_rate: [0.1, 0.01], map.batch_size: [16, 32, 64], mfvi.draws: [1, 2]}
      - {map.learning_rate: [0.5], mfvi.draws: [3]}
    methods:
      point: [{map: {epochs: 1}}]
      again: [reset, {map: {epochs: 2}}]
      field: [{mfvi: {epochs: 1}}]
"""


@pytest.fixture
def load(tmp_path):
    def loaded(text: str = STUDY) -> config_file.Config:
        (tmp_path / "some.yaml").write_text(text)
        return config_file.load(tmp_path / "some.yaml")

    return loaded


def settings(plan, method, seed):
    spec = specs.run(plan, "robust", "digits", method, (seed, seed))
    return spec["learner"][-1][1], spec["configuration"]


def test_every_method_has_the_same_configurations_each_of_one_space(load):
    plan = load()
    rates = Counter()
    for seed in range(40):
        point, drawn = settings(plan, "point", seed)
        again, _ = settings(plan, "again", seed)
        field, of_field = settings(plan, "field", seed)
        assert drawn.items() == {f"map.{k}": point[k] for k in ("learning_rate", "batch_size")
                                 if f"map.{k}" in drawn}.items()  # fmt: skip
        assert set(of_field) == {"mfvi.draws"}, "what the method does not have passes it by"
        assert again | {"epochs": 1} == point
        assert (point["learning_rate"] == 0.5) == (field["draws"] == 3)
        rates[point["learning_rate"]] += 1
    assert rates[0.5] > 10 and rates[0.1] > 3 and rates[0.01] > 3


def test_a_job_has_one_seed_and_other_studies_know_nothing_of_it(load):
    plan = load()
    assert plan.blocks("robust") == [(seed, seed) for seed in range(40)]
    plain = STUDY.replace("seeds: 40", "seeds: 1").split("    configurations:")
    plan = load(plain[0] + "    methods:" + plain[1].split("    methods:")[1])
    assert "configuration" not in specs.run(plan, "robust", "digits", "point", (0, 0))


def test_figures_know_the_whole_configuration_of_each_seed(load):
    plan = load(
        STUDY.replace("metrics: [accuracy]", "metrics: [accuracy]\n    artefacts: [score-table]")
    )
    drawn = specs.artefact(plan, "robust", "score-table")["configurations"]
    assert drawn == random_settings.points("robust", plan.studies["robust"]) and len(drawn) == 40


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("mfvi.draws: [3]", "mfvi.draws: [0]", "at least 1"),
        ("mfvi.draws: [3]", "mfvi.drawz: [3]", 'did you mean "draws"'),
        ("mfvi.draws: [3]", "vogn.draws: [3]", '"vogn"'),
        ("map.learning_rate: [0.5]", "map: [0.5]",
         '"map" is a component; write map.KEY, such as map.'),
        ("mfvi.draws: [3]", "mfvi.estimator: [local], mfvi.family: [radial]", "field, seed"),
        ("    methods:", "    tuning: {metric: accuracy, trials: 1, streams: {}}\n    methods:",
         "a study is tuned or has configurations, not both"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(load, old, new, words):
    with pytest.raises(ConfigError) as caught:
        load(STUDY.replace(old, new))
    assert words in str(caught.value)


def test_as_many_configurations_as_one_likes_on_the_same_data(load):
    assert load().streams["digits"].settings["realisations"] < 40
