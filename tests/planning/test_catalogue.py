"""Every method of the five papers has its row, and shows where its settings come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from shiftbench.errors import UserError
from shiftbench.planning import catalogue, config, works
from shiftbench.planning.library import Library

LIBRARY = Library(Path("config"))
PAPERS = ("li2021vbs", "eschenhagen2019vogn", "cherief2019online", "farquhar2020radial")


def test_a_row_has_papers_in_words_a_summary_and_what_is_lacking():
    rows = catalogue.methods(LIBRARY)
    assert rows["ewc"].startswith("Kirkpatrick et al. (2017): Elastic weight consolidation")
    assert rows["ewc"].endswith(".")
    assert rows["vogn-coreset"].endswith("(no study yet)")
    assert "(cannot run yet: a learner; the paper quotes" in rows["vmg"]


@pytest.mark.parametrize("paper", [*PAPERS, "knoblauch2018robust"])
def test_every_paper_has_methods(paper):
    cited = [method.data["cite"] for method in LIBRARY.methods.values()]
    assert sum(paper in keys for keys in cited) >= 4
    assert {key for keys in cited for key in keys} <= set(works.works())


def test_labels_tell_methods_of_one_study_apart():
    for path in ("embedded", "cpu", "paper"):
        for name, study in config.load(f"config/{path}.yaml").studies.items():
            labels = [study.label(variant) for variant in study.methods]
            assert len(set(labels)) == len(labels), (name, labels)


def test_a_method_with_every_setting_and_its_origin():
    text = catalogue.method(LIBRARY, "ewc")
    assert text.startswith("ewc: EWC\n  Elastic weight")
    assert "strength: 100.0                  penalties.yaml: Strength 100 as in the public" in text
    assert "decay: 1.0                       default. Factor of the old precision" in text
    with pytest.raises(UserError, match='unknown method "ewk"; did you mean "ewc"'):
        catalogue.method(LIBRARY, "ewk")


def test_a_method_as_a_study_has_it():
    made = config.composed("config/embedded.yaml")
    text = catalogue.variant(made, "permuted-digits", "si")
    assert "in the study permuted-digits" in text
    (line,) = [line for line in text.splitlines() if "strength:" in line]
    written = Path("config/studies/permuted-images.yaml").read_text().splitlines()
    number = int(line.rsplit(" ", 1)[1])
    assert "permuted-images.yaml" in line and "map.strength: 0.5" in written[number - 1]
    renamed = catalogue.variant(made, "nile", "robust-strong")
    assert renamed.startswith("robust-strong: Robust BOCPD, strong\n  BOCPD with beta")
    real = config.composed("config/cpu.yaml")
    alone = catalogue.variant(real, "annotated-series-oracle", "bocpd-oracle")
    assert alone.startswith("bocpd-oracle\nin the study annotated-series-oracle\n")
