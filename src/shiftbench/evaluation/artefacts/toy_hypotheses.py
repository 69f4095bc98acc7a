"""Hypotheses of a beam on the toy stream, and the effect of its size and weights.

Fig. 2 of li2021vbs, for the first seed in which the hypothesis that wins in hindsight was behind
the second for a while; beside it, jump F1, predictive density and agreement with the exact most
likely jumps, against the size of the beam.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shiftbench.config import bibliography, provenance
from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.metrics import shifts
from shiftbench.evaluation.scoring import beam_lineage, shift_matching, statistics, units
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.theory import exact_segmentation

FACTS = Facts(requires=("true-level",), from_learner=("lineage", "rivals", "level"))

LABELS = {
    "jump_f1": "F1 of jumps (%)\n(± 1 step)",
    "log_predictive": "log predictive\n(nats per step)",
    "exact_map_agreement": "equal to the\nexact MAP (%)",
}


class _Beam(NamedTuple):
    method: str
    size: int
    weights: str


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw the figure. Raises UserError without a beam of two or more hypotheses."""
    stream, beams = next(iter(study.streams)), _beams(study)
    shown = _shown_beam(study, beams)
    seed, overtakes = first_overtaking(study.run(stream, shown.method))
    metrics = [name for name in LABELS if name in study.metrics]
    height = 4.6 + figure_style.MESSAGE
    figure = figure_style.figure(height, _foot(study), study.basis([stream]))
    left, *right = figure_style.below_message(figure, message(study)).subfigures(
        1, 2 if metrics else 1, squeeze=False, width_ratios=[2.1, 1][: 2 if metrics else 1]
    )[0]
    level, weight = left.subplots(2, 1, sharex=True, height_ratios=[3.4, 1])
    run = study.run(stream, shown.method)
    _draw_level(level, study.streams[stream], run, seed)
    _draw_weights(weight, run, seed)
    _mark_overtaking((level, weight), overtakes)
    number = int(run["seed"].values[seed])
    figure_style.set_title(level, "a", f"Seed {number}, {study.label(shown.method)}")
    for block in right:
        panels = block.subplots(len(metrics), 1, sharex=True, squeeze=False)[:, 0]
        for axes, metric in zip(panels, metrics, strict=True):
            _draw_sizes(axes, study, beams, metric)
        figure_style.set_title(panels[0], "b", f"All {study.cube.sizes['seed']} seeds")
        _finish_sizes(panels, beams)
    return figure


def caption(study: StudyResults) -> str:
    """Say what the beam is good for, describe the figure, the runs and the reductions."""
    return f"{message(study)}. {_foot(study)}"


def message(study: StudyResults) -> str:
    """Say how long the winner was behind, and what larger beams find."""
    stream, beams = next(iter(study.streams)), _beams(study)
    run = study.run(stream, _shown_beam(study, beams).method)
    seed, overtakes = first_overtaking(run)
    number = int(run["seed"].values[seed])
    story = "In no seed did the final winner trail the final runner-up"
    if overtakes is not None:
        story = f"The final winner leads the final runner-up only from step {overtakes} on"
        story = f"{story} (seed {number})"
    if "jump_f1" not in study.metrics:
        return story
    f1 = {beam: statistics.interval(study.score(stream, beam.method, "jump_f1")).mean
          for beam in beams}  # fmt: skip
    best = max(f1, key=f1.__getitem__)
    least = min((each for each in f1 if each.weights == best.weights), key=lambda each: each.size)
    if best == least:
        return (
            f"{story}; mean F1 of the jumps is largest with K = {best.size}, {100 * f1[best]:.1f} %"
        )
    start, end = (f"{100 * f1[each]:.1f} % (K = {each.size})" for each in (least, best))
    return f"{story}; mean F1 of the jumps is {start} and {end}, the best beam, with {_kind(best)}"


def _kind(beam: _Beam) -> str:
    """Return in words how a beam weighs its hypotheses."""
    return "Bayes weights" if beam.weights == "bayes" else f"the {beam.weights}'s weights"


def _foot(study: StudyResults) -> str:
    """Return what is written below the figure."""
    stream, shown = next(iter(study.streams)), _shown_beam(study, _beams(study))
    run = study.run(stream, shown.method)
    seed, overtakes = first_overtaking(run)
    number = int(run["seed"].values[seed])
    story = (
        f"a: seed {number}, the first in which hypothesis 1 (the most likely at the end) was once "
        f"less likely than hypothesis 2; it leads for good from step {overtakes} on."
        if overtakes is not None
        else f"a: seed {number}; in no seed was the hypothesis that wins in the end behind."
    )
    present = [name for name in LABELS if name in study.metrics]
    absent = [name for name in LABELS if name not in study.metrics]
    missing = f" Not among the study's metrics: {', '.join(absent)}." if absent else ""
    return (
        f"{story} Lines: posterior mean of each hypothesis after each step, bands ± 1 sd; "
        f"triangles: its jumps. b: mean over seeds and {statistics.described(*present)}; "
        f"weights as in {bibliography.short('li2021vbs')} or by Bayes' rule."
        f"{missing} {study.basis([stream])}"
    )


def first_overtaking(run: xr.Dataset) -> tuple[int, int | None]:
    """Return the position of the first seed with an overtaking, and the step of its last one.

    In an overtaking, the ancestor of the hypothesis that is second at the end had the largest
    weight at a step, and the ancestor of the first did not. (0, None) if no seed has one.
    """
    behind = (beam_lineage.lineage(run, 0) != 0) & (beam_lineage.lineage(run, 1) == 0)
    behind &= np.isfinite(run["info_log_weight"].values[:, -1, 1])[:, None]
    if not behind.any():
        return 0, None
    seed = int(behind.any(axis=1).argmax())
    return seed, int(np.flatnonzero(behind[seed])[-1]) + 1


def _beams(study: StudyResults) -> list[_Beam]:
    stream, beams = next(iter(study.streams)), []
    for method in study.methods:
        run = study.run(stream, method)
        settings = provenance.offering(run, "lineage")
        if settings is not None and "info_posterior_mean" in run and run.sizes["seed"]:
            beams.append(_Beam(method, settings["size"], settings["weights"]))
    return sorted(beams, key=lambda beam: (beam.weights != "paper", beam.weights, beam.size))


def _shown_beam(study: StudyResults, beams: list[_Beam]) -> _Beam:
    """Return the beam of panel a: of size 2 with the paper's weights, or the nearest to it."""
    several = [beam for beam in beams if beam.size > 1]
    if not several or not {"value", "level"} <= set(next(iter(study.streams.values()))):
        raise study.lacking(
            "toy-hypotheses",
            "a stream of the family toy-step and a learner `beam` (size 2 or more) over"
            " `gaussian-mean` with at least one run that did not fail",
        )
    return min(several, key=lambda beam: (beam.weights != "paper", beam.size))


def _draw_level(axes: Axes, stream: xr.Dataset, run: xr.Dataset, seed: int) -> None:
    realisation = int(run["realisation"].values[seed])
    task = stream["task"].values
    truth = stream["level"].values[realisation]
    axes.step(task, truth, where="mid", color="black", lw=1.2, label="true mean")
    axes.plot(
        task, stream["value"].values[realisation], ".", color="black", ms=5, label="observations"
    )
    for hypothesis in (1, 0):
        slots = beam_lineage.lineage(run, hypothesis)
        mean, variance = (
            beam_lineage.along(run, name, slots)[seed].reshape(len(task), -1)[:, 0]
            for name in ("posterior_mean", "posterior_variance")
        )
        colour, sd = figure_style.PALETTE[hypothesis], np.sqrt(variance)
        # The second is wider, so that it remains visible where both have the same past.
        label = f"hypothesis {hypothesis + 1}"
        axes.plot(task, mean, color=colour, lw=1.8 + 1.8 * hypothesis, label=label)
        axes.fill_between(task, mean - sd, mean + sd, color=colour, alpha=0.2, lw=0)
        jumps = np.flatnonzero(beam_lineage.shifts(run, hypothesis)[seed])
        height = 0.03 + 0.05 * hypothesis
        transform, y = axes.get_xaxis_transform(), np.full(len(jumps), height)
        axes.plot(task[jumps], y, "^", color=colour, ms=6, transform=transform)
    axes.margins(y=0.12)
    axes.set_ylabel("value")
    handles, labels = axes.get_legend_handles_labels()
    order = [0, 1, 3, 2]
    axes.legend(
        [handles[i] for i in order],
        [labels[i] for i in order],
        ncols=4,
        loc="lower right",
        bbox_to_anchor=(1, 0.985),
        borderaxespad=0,
    )


def _draw_weights(axes: Axes, run: xr.Dataset, seed: int) -> None:
    for hypothesis in (1, 0):
        slots = beam_lineage.lineage(run, hypothesis)
        weight = np.exp(beam_lineage.along(run, "log_weight", slots)[seed])
        width = 1.8 + 1.8 * hypothesis
        axes.plot(run["task"].values, weight, color=figure_style.PALETTE[hypothesis], lw=width)
    axes.set(ylim=(-0.05, 1.05), ylabel="weight", xlabel="step")


def _mark_overtaking(panels: tuple[Axes, Axes], step: int | None) -> None:
    if step is None:
        return
    for axes in panels:
        axes.axvline(step, color=figure_style.MUTED, lw=0.9, ls="--", zorder=0)
    tasks = panels[1].get_xlim()
    late = step > sum(tasks) / 2
    panels[1].annotate(
        f"1 leads from {step} on",
        (step, 0.06),
        xytext=(-4 if late else 4, 0),
        textcoords="offset points",
        ha="right" if late else "left",
        va="center",
        size=8,
        color=figure_style.MUTED,
    )


def _draw_sizes(axes: Axes, study: StudyResults, beams: list[_Beam], metric: str) -> None:
    """Draw a metric against the size of the beam, one line per kind of weights."""
    stream = next(iter(study.streams))
    kinds = list(dict.fromkeys(beam.weights for beam in beams))
    sizes = sorted({beam.size for beam in beams})
    for number, kind in enumerate(kinds):
        of_kind = [beam for beam in beams if beam.weights == kind]
        scores = [study.score(stream, beam.method, metric) for beam in of_kind]
        of_seeds = [statistics.interval(values, statistics.bounds(metric)) for values in scores]
        band = figure_style.as_band(each.times(units.factor(metric)) for each in of_seeds)
        shift = 0.08 * (number - (len(kinds) - 1) / 2)
        axes.errorbar(
            [sizes.index(beam.size) + shift for beam in of_kind],
            band.mean,
            figure_style.error_bars(band),
            color=figure_style.PALETTE[2 + number],
            marker=figure_style.MARKERS[number % len(figure_style.MARKERS)],
            ms=4,
            capsize=2,
            label=_kind(of_kind[0]).removeprefix("the "),
        )
    reference = _exact_f1(study, beams) if metric == "jump_f1" else None
    if reference is not None:
        axes.axhline(100 * reference, color=figure_style.MUTED, lw=0.9, ls=":", label="exact MAP")
    axes.set_ylabel(LABELS[metric])


def _exact_f1(study: StudyResults, beams: list[_Beam]) -> float | None:
    """Return the mean F1 of the exact most likely jumps; None unless all beams have one model."""
    stream = next(iter(study.streams))
    runs = [study.run(stream, beam.method) for beam in beams]
    if len({exact_segmentation.model_of(run) for run in runs}) > 1:
        return None
    exact = exact_segmentation.of_run(runs[0], study.streams[stream])
    if exact is None:
        return None
    true = shift_matching.truth(runs[0], study.streams[stream])
    return statistics.interval(
        shift_matching.f1(shift_matching.compared(exact, true, shifts.JUMP_MARGIN))
    ).mean


def _finish_sizes(panels: np.ndarray, beams: list[_Beam]) -> None:
    sizes = sorted({beam.size for beam in beams})
    panels[-1].set_xticks(range(len(sizes)), [str(size) for size in sizes])
    panels[-1].set_xlabel("size K of the beam")
    panels[-1].set_xlim(-0.4, len(sizes) - 0.6)
    handles, labels = panels[0].get_legend_handles_labels()
    panels[0].figure.legend(
        handles, labels, loc="outside lower center", ncols=3, handlelength=1.4, columnspacing=1
    )
