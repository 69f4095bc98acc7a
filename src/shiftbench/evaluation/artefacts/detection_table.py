"""Detection scores by method, beside detectors that do not look: online and in hindsight.

The online metrics are those of `metrics.alarms`, whether or not the study lists them. The metrics
in hindsight are those that the study lists. F1 and cover are compared with the best clock, because
a detector that is silent, or raises alarms all the time, scores badly on both. The best clock is
the detector with the best mean among those that neither look nor know the phase. The rows for all
streams together have means over the streams, paired by seed; in a study of one seed, by stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from shiftbench.config import components
from shiftbench.core.facts import Facts
from shiftbench.evaluation import table_files
from shiftbench.evaluation.artefacts import _detectors
from shiftbench.evaluation.metrics import alarms as online
from shiftbench.evaluation.scoring import (
    alarms,
    blind_detectors,
    comparison,
    ranking,
    statistics,
    survival,
    units,
)
from shiftbench.evaluation.scoring.comparison import ALPHA
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(requires=("shifts",), refuses=("counts", "blocks"), from_learner=("changes",))

ONLINE = (
    "alarm_f1",
    "episode_recall",
    "false_alarm_rate",
    "restricted_delay",
    "alarm_area",
    "shift_within_skill",
)
COMPARED = ("alarm_f1", "jump_f1", "f1", "cover")
MEDIAN = "median_delay"
ALL = "all streams"
SHOWN = 3
"""Largest number of streams that the readable table shows one by one."""
OVER = "_over_clock"


class Block(NamedTuple):
    """Scores of one stream, or of all together, by detector and then metric [seed].

    waits: by detector, tasks until the first alarm after each shift, and whether there was one.
    """

    stream: str
    scores: Mapping[str, Mapping[str, np.ndarray]]
    waits: Mapping[str, tuple[np.ndarray, np.ndarray]]


def tabulate(study: StudyResults) -> pd.DataFrame:
    """Return one row per stream and detector, with mean, low and high of each metric.

    method: name of the method, empty for detectors that do not look. METRIC_over_clock: score of
    the method minus that of the best clock, above 0 where the method is better, with its interval
    and p (paired t test, Holm's correction over the methods of the stream). With several streams,
    the last rows are for all streams together. Raises UserError if no method decides about shifts.
    """
    blocks = [_block(study, stream) for stream in study.streams]
    if not any(set(block.scores) - set(blind_detectors.NAMES) for block in blocks):
        raise study.lacking("detection-table", "a method that decides about shifts")
    if len(blocks) > 1:
        blocks.append(_together(blocks))
    return pd.DataFrame([row for block in blocks for row in _rows(study, block)])


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return the readable table: a number and its interval in one cell, verdicts in words."""
    if table["stream"].nunique() > SHOWN + 1:
        table = table[table["stream"] == ALL]
    names = [name for name in table if f"{name}_low" in table and table[name].notna().any()]
    cells = {
        name.replace(OVER, " minus clock").replace("_", " "): [
            _cell(row, name) for _, row in table.iterrows()
        ]
        for name in names
    }
    readable = table[["stream", "detector"]].assign(**cells)
    return table_files.without_constant(readable, ["stream"]).reset_index(drop=True)


def caption(study: StudyResults) -> str:
    """Describe the rows, the columns, the number of runs and the reductions."""
    horizons = [alarms.horizon(store) for store in study.streams.values()]
    recent, window = (_range(values) for values in zip(*horizons, strict=True))
    hindsight = [name for name in _metrics(study) if name not in ONLINE]
    late = f" In hindsight: {', '.join(name.replace('_', ' ') for name in hindsight)}."
    return (
        f"{blind_detectors.SAYS} On line: an alarm refers to the last {recent} tasks (m), and is"
        f" true at most {window} tasks (w) after a shift; median delay: of all shifts together"
        " (Kaplan-Meier; its interval takes delays as independent, and needs"
        f" at least {survival.FEWEST} shifts; inf: fewer than half may be found)."
        f"{late * bool(hindsight)} Other numbers: mean over seeds, in brackets its"
        f" {statistics.described(*_metrics(study))}. Minus clock: above 0 where the method is"
        " better than the best of never, always, clock and two halves, paired by seed (by stream,"
        " of one seed); ahead or behind: p < 0.05 (paired t test, Holm's method over the methods)."
        f"{_together_note(study)} {study.basis()}"
    )


def _range(values: tuple[int, ...]) -> str:
    least, most = min(values), max(values)
    return str(most) if least == most else f"{least} to {most}"


def _together_note(study: StudyResults) -> str:
    if len(study.streams) == 1:
        return ""
    apart = "" if len(study.streams) <= SHOWN else "; the CSV has each of them"
    return f" All {len(study.streams)} streams together count alike{apart}."


def _metrics(study: StudyResults) -> list[str]:
    """Return the online metrics, and the study's metrics of detection that have a direction."""
    own = [
        name
        for name in study.metrics
        if "changes" in components.metric(name).possible("from_learner")
        and components.metric(name).better
    ]
    return list(dict.fromkeys([*ONLINE, *(name for name in own if name != MEDIAN)]))


def _block(study: StudyResults, stream: str) -> Block:
    """Score all detectors of a stream."""
    runs: dict[str, xr.Dataset] = _detectors.runs(study, stream) | _detectors.blind(study, stream)
    rows = {row.name: row for row in online.METRICS}
    metrics = {
        name: rows[name] if name in ONLINE else components.load_metric(name)
        for name in _metrics(study)
    }
    scores, waits = {}, {}
    for name, run in runs.items():
        scores[name] = {
            metric: _detectors.scored(study, stream, run, row) for metric, row in metrics.items()
        }
        if judged := alarms.judged(run, study.streams[stream]):
            waits[name] = judged.wait.ravel(), judged.found.ravel()
    return Block(stream, scores, waits)


def _together(blocks: list[Block]) -> Block:
    """Return the mean over streams by seed or, with one seed, the scores by stream.

    Detectors without a run on every stream are left out. A metric leaves out streams on which no
    detector has a score, such as recall on a stream without shifts.
    """
    names = [name for name in blocks[0].scores if all(name in one.scores for one in blocks)]
    scores: dict[str, dict[str, np.ndarray]] = {name: {} for name in names}
    for metric in blocks[0].scores[names[0]]:
        cubes = {name: np.stack([one.scores[name][metric] for one in blocks]) for name in names}
        known = ~np.isnan(np.stack(list(cubes.values()))).all(axis=(0, 2))
        for name, values in cubes.items():
            scores[name][metric] = _units(values[known])
    waits = {
        name: (
            np.concatenate([one.waits[name][0] for one in blocks]),
            np.concatenate([one.waits[name][1] for one in blocks]),
        )
        for name in names
        if all(name in one.waits for one in blocks)
    }
    return Block(ALL, scores, waits)


def _units(values: np.ndarray) -> np.ndarray:
    """Return the means over streams [seed] of values [stream, seed]; with one seed, [stream].

    A seed without a score on one of the streams has no mean.
    """
    if not len(values):
        return np.full(values.shape[1], np.nan)
    return values[:, 0] if values.shape[1] == 1 else values.mean(axis=0)


def _rows(study: StudyResults, block: Block) -> list[dict[str, object]]:
    over = {metric: _over(block, metric) for metric in _metrics(study) if metric in COMPARED}
    rows = []
    for name, scores in block.scores.items():
        is_blind = name in blind_detectors.NAMES
        row: dict[str, object] = {
            "stream": block.stream,
            "detector": name if is_blind else study.label(name),
            "learner": "" if is_blind else name,
        }
        for metric, values in scores.items():
            of_seeds = statistics.interval(values, statistics.bounds(metric))
            row |= _with_ends(metric, of_seeds.mean, of_seeds.low, of_seeds.high)
            if metric == "false_alarm_rate":
                row |= _with_ends(MEDIAN, *_median(block, name))
            if metric in over:
                row |= over[metric].get(name, {})
        rows.append(row)
    return rows


def _median(block: Block, name: str) -> tuple[float, float, float]:
    """Return the median delay of all shifts together, with its interval."""
    return survival.median_interval(*block.waits.get(name, (np.zeros(0, int), np.zeros(0, bool))))


def _over(block: Block, metric: str) -> dict[str, dict[str, object]]:
    """Return the columns of the comparison with the best clock, by method."""
    scores = {name: of_one[metric] for name, of_one in block.scores.items()}
    clocks = ranking.best_first({name: scores[name] for name in blind_detectors.BLIND}, metric)
    methods = [
        name
        for name, values in scores.items()
        if name not in blind_detectors.NAMES and not np.isnan(values).all()
    ]
    if not clocks or not methods:
        return {}
    best = next(iter(clocks))
    leads = [ranking.better(metric, scores[name], clocks[best]) for name in methods]
    p = comparison.corrected([one.p for one in leads])
    key = f"{metric}{OVER}"
    return {
        name: {
            **_with_ends(key, lead.difference.mean, lead.difference.low, lead.difference.high),
            f"{key}_p": float(corrected),
            f"{key}_is": best,
        }
        for name, lead, corrected in zip(methods, leads, p, strict=True)
    }


def _with_ends(name: str, middle: float, low: float, high: float) -> dict[str, object]:
    return {name: middle, f"{name}_low": low, f"{name}_high": high}


def _cell(row: pd.Series, name: str) -> str:
    """Return "mean [low, high]", for a comparison with its verdict."""
    mean, low, high = (row[key] for key in (name, f"{name}_low", f"{name}_high"))
    if np.isnan(mean):
        return ""
    of_rate = name in ("false_alarm_rate", MEDIAN)
    text = units.interval(mean, low, high, units.decimals(1 if of_rate else 3))
    return text if not name.endswith(OVER) else f"{text}, {verdict(mean, row[f'{name}_p'])}"


def verdict(difference: float, p: float) -> str:
    """Return ahead, behind or unresolved for a difference and its corrected p."""
    if not p < ALPHA:
        return "unresolved"
    return "ahead" if difference > 0 else "behind"
