"""The table and curves of detection beside blind detectors, on small stores."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from shiftbench.config import components
from shiftbench.core.errors import UserError
from shiftbench.evaluation import highlights
from shiftbench.evaluation.artefacts import alarm_curves, detection_table
from shiftbench.evaluation.scoring import (
    alarms,
    blind_detectors,
    comparison,
    ranking,
    summarise,
)
from tests.evaluation.artefacts import paired
from tests.evaluation.scoring import stores

METHODS = ["vbs-k1", "vbs-k2", "vbs-k2-bayes"]


@pytest.fixture(scope="module")
def study():
    return stores.toy_study(12)


@pytest.fixture(scope="module")
def table(study):
    return detection_table.tabulate(study)


@pytest.fixture(scope="module")
def table_of_pair(pair):
    return detection_table.tabulate(pair)


@pytest.fixture(scope="module")
def pair(study):
    """Return a study of the same runs on two streams, the second with fewer shifts."""
    (stream,) = study.streams.values()
    other = stream.assign(shift=stream["shift"] & (stream["task"] % 3 > 0))
    streams = {"toy-step": stream, "other": other.assign_attrs(stream.attrs)}
    tree = {"scores": xr.concat([study.cube] * 2, "stream").assign_coords(stream=list(streams))}
    for name in METHODS:
        run = study.run("toy-step", name)
        tree |= {f"runs/{one}/{name}": run for one in streams}
    return dataclasses.replace(study, scores=tree, streams=streams)


def rows(table, stream="toy-step"):
    return table[table["stream"] == stream].set_index("detector")


def test_methods_stand_beside_detectors_that_do_not_look(study, table):
    table = rows(table)
    assert list(table.index) == [*METHODS, *blind_detectors.NAMES]
    assert list(table["learner"][: len(METHODS)]) == METHODS and not any(table["learner"][3:])
    run, stream = study.run("toy-step", "vbs-k2"), study.streams["toy-step"]
    for metric in detection_table.ONLINE:
        scores = components.load_metric(metric).score(run, stream)
        assert table[metric]["vbs-k2"] == pytest.approx(scores.mean())
        assert (
            table[f"{metric}_low"]["vbs-k2"] <= scores.mean() <= table[f"{metric}_high"]["vbs-k2"]
        )
    n, tasks = 2, 30
    assert table["alarm_f1"]["always"] == pytest.approx(2 * n / (n + tasks - 1))
    assert table["jump_f1"]["never"] == 0  # the study's own metric, in hindsight
    assert table["median_delay"]["always"] == 0
    assert np.isinf(table["median_delay_high"]["never"])


def test_the_lead_is_over_the_best_clock_that_does_not_know_the_phase(study, table):
    table = rows(table)
    best = table["alarm_f1"][list(blind_detectors.BLIND)].idxmax()
    assert (table["alarm_f1_over_clock_is"][:3] == best).all()
    stream = study.streams["toy-step"]
    score = components.load_metric("alarm_f1").score
    run = study.run("toy-step", "vbs-k1")
    clock = score(blind_detectors.stores(stream, run["realisation"])[best], stream)
    ours = [score(study.run("toy-step", name), stream) for name in METHODS]
    leads = [ranking.better("alarm_f1", values, clock) for values in ours]
    p = comparison.corrected([one.p for one in leads])
    assert list(table["alarm_f1_over_clock_p"][:3]) == pytest.approx(p)
    means = [one.difference.mean for one in leads]
    assert list(table["alarm_f1_over_clock"][:3]) == pytest.approx(means)
    assert table["alarm_f1_over_clock"][3:].isna().all()


def test_verdicts_are_two_sided():
    assert detection_table.verdict(0.1, 0.01) == "ahead"
    assert detection_table.verdict(-0.1, 0.01) == "behind"
    assert detection_table.verdict(0.1, 0.2) == detection_table.verdict(0.1, np.nan) == "unresolved"


def test_all_streams_together_are_paired_by_seed_or_of_one_seed_by_stream(pair, table_of_pair):
    table = table_of_pair
    assert list(table["stream"].unique()) == ["toy-step", "other", detection_table.ALL]
    alone = [rows(table, stream)["alarm_f1"] for stream in pair.streams]
    assert rows(table, detection_table.ALL)["alarm_f1"]["clock"] == pytest.approx(
        np.mean([one["clock"] for one in alone])
    )
    waits = rows(table, detection_table.ALL)["median_delay"]
    assert waits["always"] == 0 and waits["never"] > 20
    one = dataclasses.replace(
        pair, scores={name: first_seed(one) for name, one in pair.scores.items()}
    )
    table = detection_table.tabulate(one)
    each = [rows(table, stream)["alarm_f1"]["vbs-k2"] for stream in pair.streams]
    together = rows(table, detection_table.ALL)["alarm_f1"]["vbs-k2"]
    assert together == pytest.approx(np.mean(each))


def first_seed(node: xr.Dataset) -> xr.Dataset:
    return node.isel(seed=[0]) if "seed" in node.dims else node


def test_the_table_for_reading_has_words_for_verdicts_and_no_empty_columns(table, table_of_pair):
    shown = detection_table.shown(table)
    assert list(shown)[:3] == ["detector", "alarm f1", "alarm f1 minus clock"]
    words = shown["alarm f1 minus clock"]
    assert all(one.split(", ")[-1] in ("ahead", "behind", "unresolved") for one in words[:3])
    assert not any(words[3:])
    many = table_of_pair
    again = [many.assign(stream=many["stream"] + str(k)) for k in range(3)]
    whole = pd.concat([*again, many[many["stream"] == detection_table.ALL]])
    assert len(detection_table.shown(whole)) == len(METHODS) + len(blind_detectors.NAMES)


def test_captions_say_what_is_on_line_and_what_the_windows_are(study, pair):
    caption = detection_table.caption(study)
    assert (
        "the last 5 tasks (m), and is true at most 5 tasks (w)" in caption
        and "In hindsight: jump f1" in caption
    )
    assert "12 of 12 runs per method" in caption
    assert "All 2 streams together count alike." in detection_table.caption(pair)


def test_a_method_is_needed():
    study = stores.image_study(("vcl", "lp"))
    for artefact in (detection_table.tabulate, alarm_curves.draw):
        with pytest.raises(UserError, match="a method that decides about shifts; add it"):
            artefact(study)


def test_curves_fall_from_silence_to_an_alarm_at_each_task(study, pair, table):
    (axes,) = alarm_curves.draw(study).get_axes()
    lines = [line for line in axes.get_lines() if line.get_drawstyle() == "steps-post"]
    assert len(lines) == len(METHODS)
    for line in lines:
        rate, delay = line.get_xdata(), line.get_ydata()
        assert (np.diff(rate) >= 0).all() and (np.diff(delay) <= 1e-12).all()
        assert rate[0] == alarm_curves.FEWEST and delay[-1] == 0
    labels = [text.get_text() for legend in axes.figure.legends for text in legend.get_texts()]
    assert labels == list(blind_detectors.NAMES)
    assert {text.get_text() for text in axes.texts} == set(METHODS)
    labels = [*METHODS, *labels]
    table = rows(table)
    points = {
        label: bars.lines[0].get_xydata()[0]
        for bars, label in zip(axes.containers, labels, strict=True)
    }
    for name in (*METHODS, "clock"):
        delay, rate = table["restricted_delay"][name], table["false_alarm_rate"][name]
        assert points[name] == pytest.approx([max(rate, alarm_curves.FEWEST), delay])
    for line, name in zip(lines, METHODS, strict=True):
        rate, delay = line.get_xdata(), line.get_ydata()
        assert delay[rate <= points[name][0] + 1e-9].min() <= points[name][1] + 1e-9
    assert len(alarm_curves.draw(pair).get_axes()) == 2


def test_intervals_end_at_the_longest_delay_and_names_stand_where_lines_differ(study, monkeypatch):
    wide = alarm_curves.statistics.Interval(0.5, 0.1, 0.1, 9e9, 3)
    monkeypatch.setattr(alarm_curves.statistics, "interval", lambda *_: wide)
    (axes,) = alarm_curves.draw(study).get_axes()
    window = axes.get_lines()[0].get_ydata()[0]
    tops = [bars.lines[2][-1].get_segments()[0][1][1] for bars in axes.containers]
    assert max(tops) == window
    lines = [line for line in axes.get_lines() if line.get_drawstyle() == "steps-post"]
    last = max(line.get_xdata()[-2] for line in lines)
    assert {text.xy[0] for text in axes.texts} == {last}
    shown = [line.get_ydata()[line.get_xdata() < alarm_curves.FULL * last][-1] for line in lines]
    assert sorted(text.xy[1] for text in axes.texts) == pytest.approx(sorted(shown))


def test_most_methods_are_grey_and_without_names(study, monkeypatch):
    monkeypatch.setattr(alarm_curves.highlights, "MOST", 1)
    alarm_curves._curves.cache_clear()
    (axes,) = alarm_curves.draw(study).get_axes()
    (coloured,) = alarm_curves._coloured(study)
    assert [text.get_text() for text in axes.texts] == [coloured]
    lines = [line for line in axes.get_lines() if line.get_drawstyle() == "steps-post"]
    grey = [line for line in lines if line.get_color() == highlights.GREY]
    assert len(grey) == len(METHODS) - 1
    others = ", ".join(name for name in METHODS if name != coloured)
    assert f"; grey: {others}. Markers" in alarm_curves.caption(study)


def test_streams_that_are_not_drawn_are_not_counted(study, pair):
    still = pair.streams["other"] * 1
    still["shift"] = still["shift"] & False
    streams = {"toy-step": pair.streams["toy-step"]}
    streams["other"] = still.assign_attrs(pair.streams["other"].attrs)
    one = dataclasses.replace(pair, streams=streams)
    assert "2 streams" not in alarm_curves.caption(one)
    assert alarm_curves.caption(one).endswith(one.basis(["toy-step"]))


def test_the_title_compares_delays_at_equal_false_alarms(study, pair):
    canvas = alarm_curves.draw(study)
    lines = [one for one in canvas.get_axes()[0].get_lines() if len(one.get_xdata()) > 2]
    delays = [one.get_ydata()[one.get_xdata() <= alarm_curves.READ].min() for one in lines]
    (stream,) = study.streams
    of_seeds = {name: at_read(study, stream, name) for name in METHODS}
    assert delays == pytest.approx([each.mean() for each in of_seeds.values()])
    best = min(of_seeds, key=lambda name: of_seeds[name].mean())
    what = "delay (at its best threshold with at most 10 false alarms in 1,000 tasks)"
    title = (
        f"{stream}: {best} has the smallest {what} of 3 methods, {min(delays):.3g} tasks;"
        " vbs-k2 is not significantly worse"
    )
    assert paired.worse(of_seeds.pop(best), [*of_seeds.values()]).tolist() == [True, False]
    assert canvas.get_suptitle() == title
    assert alarm_curves.caption(study).startswith(f"{title}. ")
    of_other = {name: at_read(pair, "other", name) for name in METHODS}
    assert min(METHODS, key=lambda name: np.nanmean(of_other[name])) == best
    assert not paired.worse(of_other.pop(best), [*of_other.values()]).all()
    title = (
        f"{best} has the smallest {what} on 2 of 2 streams; it is significantly better than"
        " all others on none of these"
    )
    assert alarm_curves.draw(pair).get_suptitle() == title


def at_read(study, stream, name):
    """Return the delays [seed] at the threshold with the least mean of those with few alarms."""
    curve = alarms.sweep(study.run(stream, name), study.streams[stream], pooled=True)
    few = curve.delay[curve.rate.mean(axis=1) <= alarm_curves.READ]
    return few[np.nanmean(few, axis=1).argmin()]


def test_a_seed_that_failed_is_left_out_of_methods_and_clocks(study):
    (stream,) = study.streams.values()
    runs = [study.run("toy-step", name) for name in METHODS]
    runs = [run.assign(status=("seed", ["ok"] * 11 + ["failed: x"])) for run in runs]
    spec = {"study": "s", "metrics": ["jump_f1"], "learners": METHODS, "streams": ["toy-step"]}
    tree, summary = summarise.summarise(
        spec | {"methods": {}, "reference": None}, {"toy-step": stream}, runs
    )
    failed = dataclasses.replace(study, scores=stores.by_path(tree), summary=summary)
    table = rows(detection_table.tabulate(failed))
    score = components.load_metric("alarm_f1").score
    expected = score(study.run("toy-step", "vbs-k1"), stream)[:11].mean()
    assert table["alarm_f1"]["vbs-k1"] == pytest.approx(expected)
