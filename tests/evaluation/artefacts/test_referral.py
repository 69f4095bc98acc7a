"""Figures and table of referral and calibration, on synthetic predictions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from shiftbench.core.errors import UserError
from shiftbench.evaluation import figure_files, highlights
from shiftbench.evaluation.artefacts import referral, referral_table, reliability
from shiftbench.evaluation.scoring import predictions, statistics
from shiftbench.evaluation.scoring import referral as scores
from tests.evaluation.artefacts import paired
from tests.evaluation.scoring import referral_stores

LEARNERS = {"radial": 1.5, "mfvi": 0.8}
STREAM = referral_stores.stream("eyes", shifts=[1], tasks=2)
METRICS = [*referral_stores.METRICS, *referral_stores.OF_SHIFTS]


def run(learner, **changes):
    return referral_stores.run(STREAM, learner, LEARNERS[learner], **changes)


@pytest.fixture(scope="module")
def study():
    runs = [run(name) for name in LEARNERS]
    return referral_stores.study(runs, STREAM, METRICS, {"mfvi": "MFVI"})


def panels(figure, title):
    return [axes for axes in figure.get_axes() if axes.get_title(loc="left").endswith(title)]


SKILLS = {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.6, "e": 0.5, "inverse": -1.0}


@pytest.fixture(scope="module")
def wide():
    runs = [referral_stores.run(STREAM, name, skill, rows=400) for name, skill in SKILLS.items()]
    return referral_stores.study(runs, STREAM, METRICS)


@pytest.mark.long
def test_the_three_best_have_colour_bars_and_names_and_the_others_are_grey(wide):
    for number, panel in enumerate(referral.draw(wide).get_axes()):
        assert [container.get_label() for container in panel.containers] == ["a", "b", "c"]
        names = {text.get_text() for text in panel.texts}
        assert names == ({"a", "b", "c"} if number % 2 else set())
        colours = [line.get_color() for line in panel.get_lines() if len(line.get_xdata()) == 6]
        assert colours.count(highlights.GREY) == 3 and len(set(colours)) == 4
        assert panel.get_legend() is None


@pytest.mark.long
def test_a_method_that_fails_leaves_the_axis_and_no_bar_is_cut(wide):
    for panel in referral.draw(wide).get_axes():
        assert panel.get_xlabel().endswith("beyond the axis: inverse")
        low, high = panel.get_ylim()
        inverse = min(min(line.get_ydata()) for line in panel.get_lines())
        assert low > inverse
        for container in panel.containers:
            ends = np.array(container[2][0].get_segments())[:, :, 1]
            assert ends.min() >= low and ends.max() <= high


@pytest.mark.long
def test_the_title_says_who_has_the_largest_score_of_all_rows_and_of_half(wide):
    learnt, _ = [block.get_suptitle() for block in referral.draw(wide).subfigs]
    kept = {name: kept_auc(name) for name in SKILLS}
    whole, *_, half = kept["a"].mean(axis=0)
    best, *others = (of_seeds.mean(axis=1) for of_seeds in kept.values())
    assert paired.worse(best, others).all()
    assert learnt == (
        "eyes, test rows of the segment learnt: referred by mutual information, a has the largest"
        f" AUC of 6 methods, averaged over the shares referred: from {whole:.1f} % on all rows to"
        f" {half:.1f} % with 50 % referred; all others are significantly worse"
    )
    assert referral.caption(wide).startswith(f"{learnt}. ")


def kept_auc(name):
    """Return the AUC in percent [seed, share] of the rows that a learner of `wide` keeps."""
    run = referral_stores.run(STREAM, name, SKILLS[name], rows=400)
    around = [shift.learnt for (shift,) in predictions.shifts(run, STREAM)]
    return 100 * np.array(
        [[scores.auc(scores.kept(rows, n / 10)) for n in range(6)] for rows in around]
    )


@pytest.mark.parametrize("by", ["mutual information", "entropy"])
def test_curves_are_means_over_seeds_of_what_is_kept(study, by):
    learnt, _, new, _ = panels(referral.draw(study), f"by {by}")
    around = [shift for (shift,) in predictions.shifts(run("radial"), STREAM)]
    at_20 = np.mean([scores.auc(scores.kept(one.learnt, 0.2, scores.BY[by])) for one in around])
    (line,) = [one for one in learnt.containers if one.get_label() == "radial"]
    assert line[0].get_ydata()[2] == pytest.approx(100 * at_20)
    whole = [scores.auc(rows) for rows in predictions.new_rows(run("mfvi"), STREAM)]
    (line,) = [one for one in new.containers if one.get_label() == "MFVI"]
    assert line[0].get_ydata()[0] == pytest.approx(100 * np.mean(whole))


@pytest.mark.long
def test_bars_are_intervals_over_seeds(study):
    axes = panels(referral.draw(study), "by entropy")[1]
    around = [shift for (shift,) in predictions.shifts(run("radial"), STREAM)]
    values = np.array([scores.accuracy(shift.learnt) for shift in around])
    assert panels(referral.draw(study), "by mutual information")[0].get_ylabel() == "AUC (%)"
    band = statistics.interval(values, (0.0, 1.0)).times(100)
    (line,) = [one for one in axes.containers if one.get_label() == "radial"]
    first = line[2][0].get_paths()[0].vertices[:, 1]
    assert sorted(first) == pytest.approx([band.low, band.high])


def test_bars_of_new_segments_are_those_of_the_difference_from_all_learners(study):
    new = panels(referral.draw(study), "by entropy")[3]
    values = np.array(
        [[scores.accuracy(one.new) for (one,) in predictions.shifts(run(name), STREAM)]
         for name in LEARNERS]
    )  # fmt: skip
    of_seeds = statistics.interval((values - values.mean(axis=0))[0]).times(100)
    (line,) = [one for one in new.containers if one.get_label() == "radial"]
    low, high = sorted(line[2][0].get_paths()[0].vertices[:, 1])
    mean = 100 * values[0].mean()
    assert line[0].get_ydata()[0] == pytest.approx(mean)
    assert (low, high) == pytest.approx(
        (mean - of_seeds.mean + of_seeds.low, mean - of_seeds.mean + of_seeds.high)
    )
    assert "difference from the mean of all methods" in referral.caption(study)


def test_a_seed_that_a_learner_lacks_pairs_none():
    sets = {"a": pd.DataFrame([[1.0], [2.0], [4.0]]), "b": pd.DataFrame([[0.0], [1.0]])}
    bands = referral._paired_bands(sets)
    assert bands["a"].mean == pytest.approx([0.5]) and bands["a"].low == pytest.approx([0.5])
    assert referral._paired_bands({"a": sets["a"]}) == {}, (
        "one alone has nothing to be compared with"
    )


def test_of_more_classes_accuracy_and_brier_score_are_drawn():
    store = referral_stores.stream("digits")
    whole = referral_stores.run(store, "radial")
    third = np.zeros((*whole["after_probability"].shape[:3], 1), np.float32)
    after = np.concatenate([whole["after_probability"].values, third], axis=3)
    before = np.concatenate([whole["before_probability"].values, third], axis=3)
    rest = whole.drop_vars(["after_probability", "before_probability"])
    dims = ("seed", "task", "test_row", "class")
    three = rest.assign(
        after_probability=(dims, after),
        before_probability=((*dims[:2], "train_row", "class"), before),
    )
    figure = referral.draw(referral_stores.study([three], store, ["brier"]))
    told = [axes.get_ylabel() for axes in figure.get_axes()]
    assert told == ["accuracy (%)", "", "Brier score", ""]


def test_a_stream_without_shifts_has_test_rows_alone():
    store = referral_stores.stream()
    alone = referral_stores.study([referral_stores.run(store, "radial")], store)
    drawn = referral.draw(alone)
    assert len(drawn.get_axes()) == 4
    (rows,) = predictions.sets(alone.run("table", "radial"), store).values()
    whole, half = (
        100 * np.mean([scores.auc(scores.kept(one, share)) for (one,) in rows])
        for share in (0, 0.5)
    )
    assert drawn.subfigs[0].get_suptitle() == (
        "table: referred by mutual information, radial has an AUC of"
        f" {whole:.1f} % on all rows and of {half:.1f} % with 50 % referred"
    )
    assert "next segment" not in referral.caption(alone)
    (block,) = [part.get_suptitle() for part in reliability.draw(alone).subfigs]
    assert block.startswith("table, test rows: radial has a calibration error of ")


def test_reliability_draws_accuracy_against_confidence_with_counts(study):
    figure = reliability.draw(study)
    rows = predictions.pooled([one.learnt for (one,) in predictions.shifts(run("radial"), STREAM)])
    of_seeds = [
        predictions.pooled([one.learnt for one in each])
        for each in predictions.shifts(run("radial"), STREAM)
    ]
    error = 100 * np.mean([scores.calibration_error(each) for each in of_seeds])
    curve, *_ = panels(figure, f"ECE {error:.1f} %")
    assert curve.get_title(loc="left") == f"radial\nECE {error:.1f} %"
    line = curve.containers[0][0]
    last = rows.confidence >= 0.9
    assert line.get_xdata()[-1] == pytest.approx(100 * rows.confidence[last].mean())
    assert line.get_ydata()[-1] == pytest.approx(100 * rows.correct[last].mean())
    counts = figure.get_axes()[figure.get_axes().index(curve) + 2]
    heights = [bar.get_height() for bar in counts.patches]
    assert sum(heights) == len(rows.target) and heights[-1] == last.sum()


def test_errors_of_calibration_are_those_of_the_metrics(study):
    new = next(each for each in reliability._row_sets(study) if each.name.endswith(predictions.NEW))
    for name in LEARNERS:
        metric = 100 * study.score("eyes", name, "new_segment_ece")
        assert new.errors[name] == pytest.approx(metric)


def test_each_block_says_whose_calibration_error_is_smallest(study):
    said = [part.get_suptitle() for part in reliability.draw(study).subfigs]
    for each, sentence in zip(reliability._row_sets(study), said, strict=True):
        means = {name: errors.mean() for name, errors in each.errors.items()}
        best = min(means, key=means.__getitem__)
        start = f"{each.name}: {study.label(best)} has the smallest calibration error of 2 methods"
        assert sentence.startswith(f"{start}, {means[best]:.3g} %")
        assert sentence in reliability.caption(study)


def test_the_caption_has_the_smallest_probability_of_the_classes_drawn(study):
    assert "of 2 classes the probability is at least 50 %" in reliability.caption(study)


def test_table_has_the_columns_of_table_1_with_intervals(study):
    table = referral_table.tabulate(study)
    assert table["method"].tolist() == ["radial", "MFVI"]
    assert list(table)[2:6] == ["auc", "auc_at_10", "auc_at_20", "auc_at_30"]
    found = statistics.interval(study.score("eyes", "radial", "auc_at_30"), (0, 1)).times(100)
    assert table["auc_at_30"][0] == f"{found.mean:.1f} [{found.low:.1f}, {found.high:.1f}]"
    assert "ood_auc" in table and "auc_paper" not in table and "stream" not in table


def test_table_without_what_is_kept_is_refused():
    store = referral_stores.stream()
    alone = referral_stores.study([referral_stores.run(store, "radial")], store, ["brier"])
    with pytest.raises(UserError, match="referral-table needs the metric accuracy_at_30"):
        referral_table.tabulate(alone)


def test_a_learner_whose_runs_all_failed_is_left_out_and_named():
    store = referral_stores.stream()
    failed = referral_stores.run(store, "mfvi").assign(status=("seed", ["failed: memory"] * 3))
    runs = [referral_stores.run(store, "radial"), failed]
    some = referral_stores.study(runs, store)
    for module in (referral, reliability):
        module.draw(some)
        assert "3 failed: memory" in module.caption(some)


@pytest.mark.long
def test_figures_have_the_same_bytes_when_drawn_again(study, tmp_path):
    for module in (referral, reliability):
        files = []
        for name in ("one", "two"):
            figure_files.save(module.draw(study), tmp_path / name)
            files.append((tmp_path / f"{name}.svg").read_bytes())
        assert files[0] == files[1]
