"""The share of a paper's training, against shares computed by hand."""

from __future__ import annotations

import pytest

from shiftbench.config import bibliography, paper_training
from shiftbench.config.paper_training import OurTraining

RADIAL, VOGN, ONLINE, VBS = (
    "farquhar2020radial", "eschenhagen2019vogn", "cherief2019online", "li2021vbs",
)  # fmt: skip
FASHION = {"dataset": "fashion-mnist", "classes_per_task": 2, "heads": "multi"}


def training(family: str, model=None, learner=None, **settings) -> OurTraining:
    stream = {"family": family, "settings": settings}
    return OurTraining(stream, [["x", learner or {}]], model)


def share(work: str, method: str, metric: str, *about, **settings) -> float | None:
    return paper_training.share(work, method, metric, training(*about, **settings))


def test_split_fashion_mnist_has_2000_of_10800_images_a_task() -> None:
    model, learner = ["mlp", {"hidden": [200] * 4}], {"epochs": 60}
    about = ("split-images", model, learner)
    of_rows = share(RADIAL, "vcl", "acc", *about, **FASHION, train_per_task=2000)
    assert of_rows == pytest.approx(2000 / 10800) == pytest.approx(0.185, abs=5e-4)
    whole = share(RADIAL, "vcl", "acc", *about, **FASHION, train_per_task=10800)
    assert whole == 1
    fewer = share(RADIAL, "vcl", "acc", *about[:2], {"epochs": 15}, **FASHION, train_per_task=10800)
    assert fewer == 15 / 60


def test_robustness_on_fashion_mnist_has_30_of_150_epochs_and_a_smaller_network() -> None:
    settings = {"dataset": "fashion-mnist", "classes_per_task": 10, "heads": "single"}
    found = share(
        RADIAL, "mfvi", "accuracy", "split-images", ["mlp", {"hidden": [400, 400]}],
        {"epochs": 30}, train_per_task=2000, **settings,
    )  # fmt: skip
    weights = 784 * 400 + 400 + 400 * 400 + 400 + 400 * 10 + 10
    assert found == pytest.approx(2000 / 44594 * 30 / 150 * weights / 1.3e6)


def test_messidor_has_about_800_rows_of_44594() -> None:
    big = ["mlp", {"hidden": [10**6]}]  # at least as large as the paper's network
    settings = {"dataset": "messidor-features", "test_share": 0.2, "validation": 100}
    found = share(RADIAL, "radial", "auc", "table-splits", big, {"epochs": 60}, **settings)
    assert found == pytest.approx(821 / 44594)
    small = share(RADIAL, "radial", "auc", "table-splits", ["mlp", {"hidden": [50]}], **settings)
    assert small == pytest.approx(821 / 44594 * (19 * 50 + 50 + 50 * 2 + 2) / 15e6)


@pytest.mark.parametrize(
    ("dataset", "expected"),
    [
        ("breast-cancer", 1),
        ("boston", 1),  # 506 rows, instead of the 569 of Breast
        ("diabetes", 442 / 506),  # not in the paper, so relative to its smallest table
        ("covertype-subset", 15120 / 100000),
        ("california", 1),
    ],
)
def test_tables_of_online_learners_are_shares_of_their_own_sizes(dataset, expected) -> None:
    found = share(
        ONLINE, "oga", "average_cumulative_loss", "tabular", dataset=dataset, change="none"
    )
    assert found == pytest.approx(expected)


def test_simulated_tables_say_their_rows() -> None:
    about = {"dataset": "simulated-classification", "simulated_rows": 500, "change": "none"}
    about["simulated_features"] = 2
    assert share(ONLINE, "oga", "regret", "tabular", **about) == 0.1


def test_a_warm_up_does_not_count() -> None:
    settings = {"dataset": "cifar-10", "tasks": 100, "train_per_task": 500, "warm_up": True}
    model = ["convnet", {"filters": [32, 64]}]
    found = share(VBS, "vgs", "accuracy", "transformed-images", model, {"epochs": 150}, **settings)
    assert found == pytest.approx(500 / 20000)


def test_the_network_of_split_cifar_counts() -> None:
    settings = {"dataset": "cifar-10-100", "classes_per_task": 10, "train_per_task": 12500}
    found = share(
        VOGN, "vogn", "acc", "split-images", ["convnet", {"filters": [8, 16]}], {"epochs": 240},
        **settings,
    )  # fmt: skip
    convolutions = (27 + 1) * 8 + (72 + 1) * 8 + (72 + 1) * 16 + (144 + 1) * 16
    assert found == pytest.approx((convolutions + (8 * 8 * 16 + 1) * 60) / 1276508)
    assert found < paper_training.LEAST


def test_nothing_makes_up_for_anything_else() -> None:
    settings = {"dataset": "mnist", "tasks": 10, "train_per_task": 6000}
    wide = ["mlp", {"hidden": [800, 800]}]
    found = share(VOGN, "vogn", "acc", "permuted-images", wide, {"epochs": 1000}, **settings)
    assert found == 0.1


def test_a_uci_table_with_published_splits_is_trained_on_as_in_the_paper() -> None:
    model = ["mlp", {"hidden": [50], "noise": "learnt"}]
    found = share(RADIAL, "mfvi", "rmse", "table-splits", model, dataset="uci-kin8nm")
    assert found == 1


def test_a_repeated_table_counts_once_and_its_repeats_are_passes() -> None:
    settings = {"dataset": "digits", "repeats": 50}
    found = share(RADIAL, "mfvi", "gradient_sd", "table-splits", None, {"epochs": 5}, **settings)
    assert found == pytest.approx(1438 / 44594 * 250 / 500)


def test_what_the_gate_does_not_know_is_unknown_and_never_one() -> None:
    assert share(VBS, "vbs-words", "change_f1", "planted-words") is None
    assert share("loo2021gvcl", "gvcl", "acc", "split-images", **FASHION) is None
    images = share(VOGN, "vogn", "acc", "permuted-images", None, dataset="mnist", tasks=10)
    assert images is None  # the paper has a network, ours is unknown


def test_where_nothing_is_trained_only_the_network_counts() -> None:
    settings = {"dataset": "digits", "tasks": 1, "train_per_task": 50}
    about = (RADIAL, "gradients-gaussian", "gradient_growth", "permuted-images")
    assert share(*about, ["convnet", {"filters": [8, 512]}], **settings) == 1
    assert share(*about, ["convnet", {"filters": [8, 16]}], **settings) < 0.01


def test_words_count_by_their_number_and_the_length_of_vectors() -> None:
    settings = {"dataset": "un-general-debates", "vocabulary_size": 2000}
    about = (VBS, "vbs-words", "updates_per_period", "running-text", None)
    assert share(*about, {"dimension": 20}, **settings) == 0.2


def test_works_are_known_and_each_entry_says_where_it_is_from() -> None:
    assert set(paper_training.works()) <= set(bibliography.works())
    assert all(entry.place for entries in paper_training.works().values() for entry in entries)
