"""Figures, tables and the command for words, on a small study of planted words."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from shiftbench.core.errors import UserError
from shiftbench.evaluation.artefacts import (
    rate_distortion,
    rate_distortion_table,
    word_changes,
    word_trajectories,
)
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.words import histories, trajectories
from tests.evaluation.scoring.words import word_stores
from tests.evaluation.scoring.words.word_stores import stream, study

PLANTED = np.argwhere(stream()["changed"].values[0])
"""The (period, word) of the planted changes in the first seed."""


def without_beams() -> StudyResults:
    """Return the small study without the learner that decides about changes."""
    cube = study().cube.sel(learner=["vcl", "independent"])
    return replace(study(), scores={**study().scores, "scores": cube})


@pytest.mark.long
def test_metrics_of_the_small_study():
    table = study().summary.set_index(["learner", "metric"])["mean"]
    assert table["vbs", "change_recall"] > 0.6 and table["vbs", "change_precision"] > 0.6
    assert np.isnan(table["vcl", "change_f1"])
    assert table["independent", "updates_per_period"] == 22
    assert 0 < table["vbs", "updates_per_period"] < 3
    # A random period would be off by 1.6 on average.
    assert table["vbs", "dating_error"] < 1.1


@pytest.mark.long
def test_the_trajectory_of_a_planted_word_jumps_at_its_change():
    period, word = PLANTED[0]
    name = str(stream()["word"].values[word])
    drawn = word_trajectories.draw(study((name,)))
    axes, listed = drawn.get_axes()
    line = next(one for one in axes.get_lines() if one.get_label() == "most likely hypothesis")
    near = line.get_ydata()
    assert near[period] > 0.95 and near[period - 1] < 0.9
    assert listed.texts and name not in listed.texts[1].get_text()


def test_the_words_that_moved_are_drawn_where_none_are_named():
    titles = {axes.get_title("left") for axes in word_trajectories.draw(study()).get_axes()} - {""}
    assert len(titles) == word_trajectories.SHOWN
    assert titles & {str(stream()["word"].values[word]) for _, word in PLANTED}


def test_the_title_names_the_word_that_moves_farthest():
    said = word_trajectories.message(study())
    drawn = word_trajectories.draw(study())
    assert drawn.get_suptitle() == said
    assert word_trajectories.caption(study()).startswith(f"{said}. ")
    first = next(axes for axes in drawn.get_axes() if axes.get_title("left"))
    assert f' of 6 words "{first.get_title("left")}" moves farthest, in ' in said


def test_ticks_are_periods_and_columns_have_headings():
    axes = word_trajectories.draw(study()).get_axes()
    last = word_trajectories._edges(stream())[-2]
    assert all(max(each.get_xticks()) <= last for each in axes if each.get_title("left"))
    texts = [text.get_text() for each in axes for text in each.texts]
    assert [texts.count(heading) for heading in word_trajectories.HEADINGS] == [1, 1]


def test_a_word_that_is_not_in_the_vocabulary_is_named():
    with pytest.raises(UserError, match="'aardvark' of its `words` is not in the vocabulary"):
        word_trajectories.draw(study(("aardvark",)))


def made_by_hand() -> histories.WordHistory:
    """Return histories with known movements of five words over four periods.

    Word 0 moves in period 2, word 1 moves as far but is new there, and word 2 moves a little.
    Words 3 and 4 stay; 4 occurs only in the last period.
    """
    angle = np.zeros((4, 5))
    angle[2:, 0] = angle[2:, 1] = np.pi / 2
    angle[1:, 2] = 0.1
    angle[:, 4] = 0.01
    vectors = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    starts = np.diff(angle, axis=0, prepend=angle[:1]) != 0
    starts[0] = True
    present = np.ones((4, 5), bool)
    present[:2, 1] = present[:3, 4] = present[1, 0] = False
    words = np.array(["gold", "radio", "the", "silver", "late"])
    of_words = trajectories._segmented(vectors, starts)
    content = histories._is_content(words, xr.DataTree(), 0)
    return histories.WordHistory(words, ["1", "2", "3", "4"], of_words, present, content)


def test_a_word_that_is_new_has_not_moved():
    distance = made_by_hand().distance
    assert np.argwhere(np.isfinite(distance)).tolist() == [[1, 2], [2, 0]]
    np.testing.assert_allclose(distance[[1, 2], [2, 0]], [1 - np.cos(0.1), 1])


def test_the_farthest_change_comes_first():
    assert word_changes._farthest(made_by_hand().distance) == [(2, 0), (1, 2)]


def test_neighbours_have_occurred_by_then():
    history = made_by_hand()
    assert histories.neighbours(history, 3, 2, 3) == ["the", "gold", "radio"]
    assert histories.neighbours(history, 3, 3, 2) == ["late", "the"]
    assert histories.neighbours(history, 3, 1, 5) == ["gold", "the"]


def test_segments_start_where_the_word_first_occurs():
    history = made_by_hand()
    assert [segment[:2] for segment in histories.segments(history, 0, 1)] == [(0, 1), (2, 3)]
    assert [segment[:2] for segment in histories.segments(history, 1, 1)] == [(2, 3)]
    assert [segment[:2] for segment in histories.segments(history, 4, 1)] == [(3, 3)]


def test_words_of_content():
    words = np.array(["the", "Its", ",", "30", "$", "security", "well-being", "30th", "—"])
    content = histories._is_content(words, xr.DataTree(), 0)
    assert words[content].tolist() == ["security", "well-being", "30th"]
    planted = histories._is_content(stream()["word"].values, stream(), 0)
    assert planted.tolist() == [not word.startswith("the-") for word in stream()["word"].values]


def test_a_period_without_the_word_is_not_drawn():
    (period, word), *_ = PLANTED
    name, without = str(stream()["word"].values[word]), [t for t in (0, 4) if t != period]
    store = stream().copy(deep=True)
    store["unigram"].values[0, without, word] = 0
    told = study((name,))
    drawn = word_trajectories.draw(replace(told, streams={"planted-words": store}))
    assert drawn.get_axes()[0].get_xlim() == (-0.1, 5.1)  # as in all other rows
    for line in drawn.get_axes()[0].get_lines():
        near = np.asarray(line.get_ydata(), float)
        if len(near) == word_stores.PERIODS + 1:
            assert np.isnan(near[without]).all() and np.isfinite(near[[1, 2, 3]]).all()


def test_the_caption_counts_the_changes_and_those_of_content():
    history = histories.history(study().run("planted-words", "vbs").isel(seed=[0]), stream())
    content = np.isfinite(history.distance[:, history.content]).sum()
    caption = word_changes.caption(study())
    assert f"{content} are in content words" in caption
    assert "Content words: those of a theme." in caption


def test_the_table_of_changes_has_the_planted_words_first():
    table = word_changes.tabulate(study())
    assert (table["planted"] == "yes").mean() >= 0.6
    found = set(zip(table["period"], table["word"], strict=True))
    planted = {(str(t), str(stream()["word"].values[w])) for t, w in PLANTED}
    assert len(found & planted) >= 2
    distances = table["distance"].astype(float).tolist()
    assert distances == sorted(distances, reverse=True)
    assert "3 of 3" not in word_changes.caption(study())
    assert "2 of 2 runs per method. few documents." in word_changes.caption(study())


def test_binning_is_drawn_as_the_paper_has_it_and_as_it_is():
    axes = rate_distortion.draw(study()).get_axes()[0]
    lines = {line.get_label(): line.get_xydata() for line in axes.get_lines()}
    rng = np.random.default_rng(0)
    for length in (2, 5):
        rate, error = lines["binning"][length - 1]
        a, b = rng.integers(0, length, (2, 200_000))
        assert rate == 22 / length and abs(error - np.abs(a - b).mean()) < 0.02
        assert lines["binning, as in the paper"][length - 1].tolist() == [rate, (length - 1) / 2]


def test_the_table_has_binning_beside_the_learners():
    table = rate_distortion_table.tabulate(study()).set_index("learner")
    periods = stream().sizes["task"]
    bins = [length for length in rate_distortion_table.LENGTHS if length <= periods]
    names = [f"Binning, {length} period{'s' if length > 1 else ''}" for length in bins]
    assert table.index.tolist() == [*study().methods, *names]
    two = table.loc["Binning, 2 periods"]
    assert [two["words"], two["error"], two["as_printed"]] == ["11.000", "0.500", "0.500"]
    every = table.loc["independent"]
    assert float(every["words"].split()[0]) == 22 and float(every["of_binning"].split()[0]) == 0
    rates, errors = (
        study().score("planted-words", "vbs", name)
        for name in rate_distortion_table.FACTS.uses[::2]
    )
    lengths = np.minimum(22 / rates, periods)
    np.testing.assert_allclose(errors, (lengths**2 - 1) / (3 * lengths))
    assert "few documents." in rate_distortion_table.caption(study())


def test_periods_that_hold_out_one_document_each_are_dated_in_one_panel():
    titles = [axes.get_title("left") for axes in rate_distortion.draw(study()).get_axes()]
    assert [title.partition("dating ")[2] for title in titles] == [*rate_distortion.PANELS.values()]
    alike = study().cube.copy(deep=True)
    each, together = ({"metric": name} for name in rate_distortion.PANELS)
    alike["score"].loc[together] = alike["score"].sel(each)
    changed = replace(study(), scores={**study().scores, "scores": alike})
    (panel,) = rate_distortion.draw(changed).get_axes()
    assert panel.get_title("left").endswith("dating the held-out text of each period")


def test_the_log_odds_are_said_as_many_as_there_are():
    assert "Prior log-odds of a change: -20.0." in rate_distortion.caption(study())
    assert "log-odds" not in rate_distortion.caption(without_beams())


BEAMS = {
    "near": ({"prior_log_odds": -1.0, "weights": "paper"}, 0.0),
    "far": ({"prior_log_odds": -9.0, "weights": "paper"}, 0.0),
    "bayes": ({"prior_log_odds": -9.0, "weights": "bayes"}, 0.0),
    "tempered": ({"prior_log_odds": -3.0, "weights": "paper"}, 0.01),
    "vcl": (None, 0.0),
}
"""Settings of the beam and the skip-gram's correlation, by learner."""


class Beams(StudyResults):
    """The part of a study of BEAMS that the curves need."""

    methods = tuple(BEAMS)

    def score(self, stream, learner, metric):
        return np.ones(1)

    def label(self, learner):
        return learner.upper()

    def run(self, stream, learner):
        beam, correlation = BEAMS[learner]
        inside = ["skipgram", {"intraclass_correlation": correlation}]
        pipeline = [["per-word", {}], *([["beam", beam]] if beam else []), inside]
        return xr.Dataset(attrs={"spec": json.dumps({"learner": pipeline})})


def test_a_line_joins_beams_that_differ_in_the_log_odds_alone():
    made = Beams.__new__(Beams)
    assert rate_distortion._curves(made, "any") == {
        "NEAR": ["near", "far"],
        "VBS, Bayes weights": ["bayes"],
        "TEMPERED": ["tempered"],
        "VCL": ["vcl"],
    }
    assert "go from -9.0 (left) to -1.0." in rate_distortion._log_odds(made, "any")


def test_points_of_equal_rates_stand_aside_and_lines_do_not():
    def curve(*rates):
        return [rate_distortion._DatingPoint(rate, None) for rate in rates]

    line, *points = rate_distortion._moved_apart([curve(1, 140), curve(140), curve(139), curve(20)])
    assert line == curve(1, 140) and points[2] == curve(20)
    assert points[0][0].rate < 0.97 * 140 and points[1][0].rate > 1.03 * 139


def test_a_study_without_these_learners_is_refused():
    for artefact in (word_changes.tabulate, word_trajectories.draw):
        with pytest.raises(UserError, match="needs a method"):
            artefact(without_beams())


def test_histories_for_people():
    _, word = PLANTED[0]
    name = str(stream()["word"].values[word])
    text = histories.describe(study(), [name], None, 1)
    assert text.startswith("words, planted-words, vbs, seed 1") and f"\n{name}\n" in text
    for arguments, said in (
        ((["b-99"], None, 0), 'unknown word "b-99"'),
        (([name], "vlc", 0), 'unknown method "vlc"; did you mean "vcl"'),
        (([name], None, 7), 'unknown seed "7"; known: 0, 1'),
    ):
        with pytest.raises(UserError, match=said):
            histories.describe(study(), *arguments)


def test_periods_of_several_years_have_both_in_their_name():
    store = word_stores.stream().copy()
    store.attrs["period_years"] = 5
    store.dataset = store.to_dataset().assign(first_year=("task", [1970, 1975, 1980, 1985, 1995]))
    assert histories.period_names(store)[0] == "1970-74"
    assert histories.period_names(store)[-1] == "1995-99"


def test_other_hypotheses_are_told_where_some_are_drawn(monkeypatch):
    monkeypatch.setattr(word_trajectories, "FAINTEST", 0.0)
    (legend,) = word_trajectories.draw(study()).subfigs[0].legends
    assert "its other hypotheses" in [text.get_text() for text in legend.get_texts()]
    assert "thin lines: its others" in word_trajectories.caption(study())
    monkeypatch.setattr(word_trajectories, "FAINTEST", 1.1)
    (legend,) = word_trajectories.draw(study()).subfigs[0].legends
    assert "its other hypotheses" not in [text.get_text() for text in legend.get_texts()]
    assert "thin lines" not in word_trajectories.caption(study())
