"""Table 1 and the table of scores on tiny stores."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from shiftbench.core.errors import UserError
from shiftbench.evaluation import table_files
from shiftbench.evaluation.artefacts import average_accuracy, score_table
from shiftbench.evaluation.scoring import statistics
from tests.evaluation.scoring import stores


def test_what_is_written_for_people_is_read_again(tmp_path):
    frame = pd.DataFrame({"method": ["a", ""], "gain": [0.25, np.nan]})
    table_files.save(frame, tmp_path / "table", "Above 0 is better.")
    head, rows, caption = table_files.read_markdown(tmp_path / "table.md")
    assert (head, rows) == (["method", "gain"], [["a", "0.2"], ["-", "-"]])
    assert caption == "Above 0 is better."


def test_bars_in_names_end_no_cell(tmp_path):
    frame = pd.DataFrame({"before a|b": [0.5], "|": ["c|"]})
    table_files.save(frame, tmp_path / "table", "")
    head, rows, _ = table_files.read_markdown(tmp_path / "table.md")
    assert (head, rows) == (["before a|b", "|"], [["0.5", "c|"]])
    assert pd.read_csv(tmp_path / "table.csv").columns.tolist() == ["before a|b", "|"]


def test_rows_are_the_papers_and_then_the_studys_own():
    table = average_accuracy.tabulate(stores.image_study(("joint", "vbs-k6", "vcl")))
    assert table["method"].tolist() == [
        "VBS, 1st hypothesis (K = 6)",
        "VBS, ensemble (K = 6)",
        "VCL",
        "joint",
    ]


def test_the_papers_numbers_stand_on_its_data_alone():
    assert "paper" not in average_accuracy.tabulate(stores.image_study(("vbs-k6", "vcl")))
    table = average_accuracy.tabulate(stores.image_study(("joint", "vcl"), "cifar-10"))
    (note, nothing) = table["paper"]
    assert note == "66.7 ± 0.8 (6e-07 of the paper's training)" and nothing == ""


def test_numbers_of_a_row():
    study = stores.image_study()
    row = average_accuracy.tabulate(study).set_index("method").loc["LP"]
    scores = study.score("images", "lp", "accuracy")
    assert row["accuracy"] == pytest.approx(100 * scores.mean(), abs=0.006)
    versus = statistics.paired_difference(scores, study.score("images", "vcl", "accuracy"))
    assert row["minus_vcl_low"] == pytest.approx(100 * versus.low, abs=0.006)
    by_task = study.by_task("images", "lp", "accuracy").reshape(3, 3, 3)
    assert row["sd"] == pytest.approx(100 * by_task.std(axis=2).mean(), abs=0.006)
    assert row["runs"] == 3


def test_the_caption_names_what_is_missing():
    caption = average_accuracy.caption(stores.image_study(("vbs-k6", "lp")))
    assert "Not in this study: VBS, 1st hypothesis (K = 3)" in caption
    assert "no difference, as the study names no baseline" in caption
    table = average_accuracy.tabulate(stores.image_study(("vbs-k6", "lp")))
    assert not any(name.startswith("minus") for name in table)


def test_average_accuracy_needs_the_metric():
    with pytest.raises(UserError, match="metric accuracy"):
        average_accuracy.tabulate(stores.toy_study())


def test_score_table_has_a_cell_a_metric_and_says_where_n_is_smaller():
    stream = stores.image_stream()
    run = stores.image_run(stream, "vbs-k3", 0.8, decides=True)
    run["info_shift"][0] = 0  # seed 0 infers no shift, so it has no precision
    runs = [run, stores.image_run(stream, "vcl", 0.8)]
    table = score_table.tabulate(stores.study("images", stream, stores.IMAGE_METRICS, runs))
    assert table["shift_precision"].tolist() == ["1.000 (n = 2)", ""]
    mean = float(np.mean(run["score"].sel(metric="accuracy")))
    assert table["accuracy"][0].startswith(f"{mean:.3f} [")


def test_score_table_of_any_study_states_units():
    table = score_table.tabulate(stores.toy_study())
    assert "log_predictive (nats per observation)" in table.columns
    assert table["learner"].tolist() == ["vbs-k1", "vbs-k2", "vbs-k2-bayes"]


def test_score_table_shows_digits_of_small_scores():
    stream = stores.image_stream()
    run = stores.image_run(stream, "vcl", 0.8)
    run["score"].loc[{"metric": "accuracy"}] = 3.14e-4
    study = stores.study("images", stream, stores.IMAGE_METRICS, [run])
    (cell,) = score_table.tabulate(study)["accuracy"]
    assert cell == "0.00031"


def test_score_table_says_whose_seeds_are_all_alike():
    stream = stores.image_stream()
    runs = [stores.image_run(stream, name, 0.8) for name in ("vcl", "calm")]
    assert "the same scores" not in score_table.caption(
        stores.study("images", stream, stores.IMAGE_METRICS, runs)
    )
    runs[1]["score"][:] = 0.5
    study = stores.study("images", stream, stores.IMAGE_METRICS, runs)
    place = f"calm on {next(iter(study.streams))}"
    words = f"All seeds give the same scores, so that there is no interval, for: {place}. "
    assert words in score_table.caption(study)
