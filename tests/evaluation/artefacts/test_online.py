"""Artefacts of online learning on a small real study: lines, cells and captions."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from shiftbench.config.library import Library
from shiftbench.core.errors import UserError
from shiftbench.evaluation import text_fitting
from shiftbench.evaluation.artefacts import average_cumulative_loss, regret, regret_table
from shiftbench.evaluation.scoring import hindsight
from tests.evaluation.artefacts import changed, paired
from tests.evaluation.scoring import stores


@pytest.fixture(scope="module")
def study():
    return stores.online_study()


@pytest.fixture(scope="module")
def change():
    """Return a study without regret."""
    stream = stores.online_stream(rows=40)
    runs = [stores.online_run(stream, stores.sva)]
    return stores.study("change", stream, stores.ONLINE_METRICS[:2], runs)


def test_lines_end_at_the_score_and_start_after_the_burn_in(study):
    (panel,) = average_cumulative_loss.draw(study).get_axes()
    lines = {line.get_label(): line for line in panel.get_lines()}
    for learner in study.methods:
        score = study.score("breast-cancer", learner, "average_cumulative_loss").mean()
        assert lines[learner].get_ydata()[-1] == pytest.approx(score)
        assert lines[learner].get_xdata()[[0, -1]].tolist() == [10, 569]


LOSS = "average_cumulative_loss"


def differ(study, best, metric, without=()):
    """Return whether each other learner differs from the best one over orders of the data."""
    scores = {name: study.score("breast-cancer", name, metric) for name in study.methods}
    others = [of for name, of in scores.items() if name not in (best, *without)]
    return paired.worse(scores[best], others)


def test_the_title_says_who_ends_with_the_smallest_loss(study):
    ends = {name: study.score("breast-cancer", name, LOSS).mean() for name in study.methods}
    best = min(ends, key=ends.get)
    said = f"breast-cancer: {best} ends with the smallest average loss of 3 methods"
    said += f", {ends[best]:.3g}; no other is significantly worse"
    assert not differ(study, best, LOSS).any()
    drawn = average_cumulative_loss.draw(study)
    assert drawn.get_suptitle() == average_cumulative_loss.message(study) == said
    assert average_cumulative_loss.caption(study).startswith(f"{said}. Prequential")
    bounded = dataclasses.replace(study, bounds=[best])
    assert f"{best} ends" not in average_cumulative_loss.message(bounded)
    assert "of 2 methods" in average_cumulative_loss.message(bounded)


def test_the_title_counts_the_streams_without_learners_that_failed(study):
    ends = {name: study.score("breast-cancer", name, LOSS).mean() for name in study.methods}
    first, second, _ = sorted(ends, key=ends.get)
    failed = {(first, LOSS): np.nan}
    three = changed.of_streams(study, {"one": {}, "two": failed, "three": failed})
    said = (
        f"{second} ends with the smallest average loss on 2 of 3 streams; it is significantly"
        " better than all others on none of these"
    )
    assert not differ(study, second, LOSS, without=[first]).any()
    assert average_cumulative_loss.draw(three).get_suptitle() == said
    assert average_cumulative_loss.caption(three).startswith(f"{said}. ")
    nothing = {(name, LOSS): np.nan for name in study.methods}
    none = changed.of_streams(study, {"one": nothing})
    assert average_cumulative_loss.message(none) == "one: no method has an average loss"


def test_lines_have_their_names_at_their_ends_and_two_have_bands(study):
    drawn = average_cumulative_loss.draw(study)
    (panel,) = drawn.get_axes()
    assert not drawn.subfigs[0].legends
    assert {text.get_text() for text in panel.texts} == set(study.methods)
    assert len(panel.collections) == average_cumulative_loss.BANDS
    ends = {name: study.score("breast-cancer", name, LOSS).mean() for name in study.methods}
    best = sorted(ends, key=ends.get)[: average_cumulative_loss.BANDS]
    lines = {line.get_label(): line for line in panel.get_lines()}
    filled = {tuple(band.get_facecolor()[0][:3]) for band in panel.collections}
    assert filled == {lines[name].get_color() for name in best}


def test_true_changes_are_drawn_and_numbers_have_separators(study):
    ((name, store),) = study.streams.items()
    shift = np.zeros((store.sizes["realisation"], store.sizes["task"]), bool)
    shift[:, 284] = True
    shift[0, 100] = True
    moved = store.assign(shift=(("realisation", "task"), shift))
    (panel,) = average_cumulative_loss.draw(
        dataclasses.replace(study, streams={name: moved})
    ).get_axes()
    upright = [line for line in panel.get_lines() if list(line.get_xdata()) == [284, 284]]
    assert [line.get_linestyle() for line in upright] == [":"]
    assert average_cumulative_loss._number(200000) == "200,000"
    assert average_cumulative_loss._number(0.5) == "0.5"


def test_points_stand_at_the_place_of_their_bound(study):
    (panel,) = regret.draw(study).get_axes()
    lines = [line for line in panel.get_lines() if line.get_marker() in ("o", "s", "_")]
    places = {tuple(line.get_xdata()) for line in lines if line.get_marker() != "_"}
    assert places == {tuple(line.get_xdata()) for line in lines if line.get_marker() == "_"}


def test_the_legend_and_the_panels_are_below_the_title(study):
    drawn = regret.draw(study)
    text_fitting.lay_out(drawn)
    (title,) = [text for text in drawn.texts if text.get_text() == drawn.get_suptitle()]
    (block,) = drawn.subfigs
    (legend,) = block.legends
    (panel,) = drawn.get_axes()
    ends = [title.get_window_extent().y0, *legend.get_window_extent().extents[[3, 1]]]
    ends.append(panel.get_tightbbox().y1)
    assert ends == sorted(ends, reverse=True)


def test_lines_that_coincide_are_told_by_their_markers(study):
    (panel,) = average_cumulative_loss.draw(study).get_axes()
    lines = [line for line in panel.get_lines() if line.get_label() in study.methods]
    styles = {(line.get_marker(), line.get_color()) for line in lines}
    assert len(styles) == len(lines) == len({line.get_markevery()[0] for line in lines})


def test_the_dashed_line_is_the_best_fixed_predictor(study):
    (panel,) = average_cumulative_loss.draw(study).get_axes()
    (best,) = (line for line in panel.get_lines() if line.get_label() == "best fixed predictor")
    # Hinge loss on z-scored breast cancer without intercept: .017, from an exact linear program.
    assert best.get_ydata()[0] == pytest.approx(0.0171, abs=1e-4)
    assert "best fixed predictor in hindsight" in average_cumulative_loss.caption(study)


def test_without_regret_no_best_predictor_is_drawn_or_spoken_of(change):
    (panel,) = average_cumulative_loss.draw(change).get_axes()
    assert "best fixed predictor" not in [line.get_label() for line in panel.get_lines()]
    assert "hindsight" not in average_cumulative_loss.caption(change)


def test_bounds_are_above_the_regrets_and_missing_where_no_theorem_is(study):
    (panel,) = regret.draw(study).get_axes()
    assert [text.get_text() for text in panel.texts] == ["no\ntheorem"]
    assert panel.texts[0].get_position()[0] == study.methods.index("ngvi")
    points = {"o": [], "s": [], "_": []}
    for line in panel.get_lines():
        if line.get_marker() in points:
            points[line.get_marker()].append(line.get_ydata())
    # Dashed: bounds from own gradients of the three learners, then the worst case; none for ngvi.
    own, worst = np.split(np.array(points["_"]), 2)
    for bounds in (own, worst):
        assert np.isnan(bounds[2]).all()
        assert (bounds[:2] > np.array(points["s"])[:2]).all()
    assert (np.array(points["s"]) >= np.array(points["o"])).all()


BOUND_OF = {"expected_regret": "regret_bound", "regret": "regret_bound_worst_case"}


def shares(study):
    """Return the regrets relative to their bounds by learner, [order] of both kinds."""
    return {
        name: np.concatenate(
            [
                study.score("breast-cancer", name, kind) / study.score("breast-cancer", name, bound)
                for kind, bound in BOUND_OF.items()
            ]
        )
        for name in study.methods
    }


def test_the_title_says_that_no_regret_exceeds_its_bound_and_which_is_nearest(study):
    largest = {name: max(shares(study)[name]) for name in ("oga", "sva")}  # ngvi has no bound
    nearest = max(largest, key=largest.get)
    said = (
        "None of 12 regrets exceeds its bound; the nearest reaches"
        f" {100 * largest[nearest]:.3g} % of it ({nearest})"
    )
    assert regret.draw(study).get_suptitle() == regret.message(study) == said
    assert regret.caption(study).startswith(f"{said}. Sum of losses")


def test_the_title_counts_regrets_above_their_bound(study):
    found = shares(study)["oga"]
    factor = 1 / np.sort(found[:3])[:2].mean()  # between the smallest and the next of three
    less = {("oga", "regret_bound"): 1 / factor}
    several = changed.of_streams(study, {"one": {}, "two": less})
    above = found[:3] * factor
    assert sorted(above > 1) == [False, True, True]
    said = (
        f"2 of 24 regrets exceed their bound, by a factor of up to {above.max():.3g} (oga on two)"
    )
    assert regret.draw(several).get_suptitle() == said
    assert regret.caption(several).startswith(said)


def test_without_a_bound_the_title_says_whose_regret_is_smallest(study):
    bounds = {(name, bound): np.nan for name in study.methods for bound in BOUND_OF.values()}
    means = {name: study.score("breast-cancer", name, "regret").mean() for name in study.methods}
    best = min(means, key=means.get)
    none = changed.of_streams(study, {"one": bounds})
    assert not differ(study, best, "regret").any()
    said = (
        f"one: {best} has the smallest regret of 3 methods, {means[best]:.3g};"
        " no other is significantly worse"
    )
    assert regret.draw(none).get_suptitle() == said
    two = changed.of_streams(study, {"one": bounds, "two": bounds})
    assert regret.message(two) == (
        f"{best} has the smallest regret on 2 of 2 streams; it is significantly better than all"
        " others on none of these"
    )


def test_the_table_sets_the_papers_figure_beside_ours(study):
    table = regret_table.tabulate(study).set_index("learner")
    assert table.loc["oga", "paper"] == "0.107" and table.loc["sva", "paper"] == "0.247"
    assert table["below_bound"].tolist() == ["3 of 3", "3 of 3", "", ""]
    assert float(table.loc["oga", "loss"].split()[0]) == pytest.approx(0.107, abs=0.01)
    assert np.isnan(table.loc["ngvi", "regret_bound"])
    assert "9 tasks in place of 100" in regret_table.caption(study)


def test_the_best_fixed_predictor_is_the_last_row_of_a_stream(study, change):
    table = regret_table.tabulate(study).set_index("learner")
    best = table.loc[hindsight.LABEL]
    # Hinge loss on z-scored breast cancer without intercept: .017, from an exact linear program.
    assert best["loss"] == best["expected_loss"] == "0.017"
    assert best["regret"] == best["expected_regret"] == 0
    assert np.isnan(best["regret_bound"])
    assert "best fixed predictor in hindsight" in regret_table.caption(study)
    assert hindsight.loss(change, "breast-cancer") is None
    labels = Library(Path("config")).methods
    assert labels["best-fixed"].data["label"] == hindsight.LABEL


@pytest.mark.parametrize(
    ("make", "metric"),
    [(regret.draw, "regret"), (regret_table.tabulate, "regret")],
    ids=["regret", "regret-table"],
)
def test_a_missing_metric_is_named(make, metric, change):
    with pytest.raises(UserError, match=f"needs the metric {metric}; add it"):
        make(change)
