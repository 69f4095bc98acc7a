"""Runs and comparisons from Python, by the harness and the tests of the workflow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from shiftbench.api import _labelled_scores, _own_components, streams
from shiftbench.api.arguments import plain, refuse_doubled, text
from shiftbench.api.streams import Stream
from shiftbench.config import config_file, jobs
from shiftbench.config.compatibility_words import listed
from shiftbench.config.job import Job
from shiftbench.config.schema import Config
from shiftbench.config.yaml_lines import Document
from shiftbench.core.errors import UserError
from shiftbench.core.suggestions import refuse_unknown
from shiftbench.data.store import zarr_zip
from shiftbench.evaluation.scoring import comparison, neighbours, ranking
from shiftbench.runtime import cached_jobs

OF_CONFIGS = ("components", "seeds_per_job")
"""Keys of a config, not of a study, that `run` takes."""
OF_THE_WORKFLOW = ("artefacts", "axes", "budgets", "from", "streams", "tuning", "words")
"""Keys of a study that need more than its runs and scores."""
RULES = ("warm_up", "run_method", "summarise_study")


def run(
    methods: Sequence[str | Mapping[str, Any]] | Mapping[str, Any],
    stream: str | Stream | Sequence[Stream],
    *,
    seeds: int = 10,
    metrics: Sequence[str],
    name: str = "study",
    **study: Any,
) -> xr.Dataset:
    """Run methods on a stream, and return their scores, which have the bytes of the workflow's.

    The arguments are those of a study in a config. Finished runs are kept in the user's cache: with
    more seeds or methods only what is new runs, and an interrupted run goes on where it was.

    Parameters
    ----------
    methods
        Names of methods (`shiftbench list methods`), a mapping of names to changes
        (`{"vbs-k4": {"from": "vbs-linear", "beam.size": 4}}`) or to pipelines
        (`{"mine": ["beam", {"gaussian-mean": {"noise_sd": 0.5}}]}`), or a list of both.
    stream
        A stream, several, or the name of a family that needs no settings.
    seeds
        The number of repetitions.
    metrics
        Names of metrics (`shiftbench list metrics`).
    name
        The name of the study, which enters the random numbers.
    **study
        Other keys of a study (config/README.md), such as `model`; `components`, `seeds_per_job`.

    Returns
    -------
    xarray.Dataset
        `score` [stream, learner, metric, seed], where a learner is one of the methods: the mean
        over tasks, or the metric of the whole run. `score_by_task` [..., task], NaN for metrics of
        whole runs. `status` [stream, learner, seed]: "ok", or why the run failed; its scores are
        NaN then. Of the metrics: `unit`, `better` ("higher", "lower" or ""), `lowest`, `highest`.

    Raises
    ------
    UserError
        With all that is wrong with the arguments; where a run stops at its time limit.
    KeyboardInterrupt
        When the running job has saved its state.

    Examples
    --------
    >>> import shiftbench as sb
    >>> steps = sb.stream("toy-step", points=6)
    >>> scores = sb.run({"level": ["gaussian-mean"]}, steps, seeds=2, metrics=["log_predictive"])
    >>> dict(scores["score"].sizes)
    {'stream': 1, 'learner': 1, 'metric': 1, 'seed': 2}
    """
    text("name", name)
    keys = study | {"methods": methods, "seeds": seeds, "metrics": metrics}
    with _own_components.of_this_call():
        planned = _planned(_config(name, _streams(stream), keys))
        places = cached_jobs.made(planned)
        # Here, where the metrics of the user's components are known.
        return _labelled_scores.of_tree(zarr_zip.read_tree(places[planned[-1].outputs[0]]))


def compare(scores: xr.Dataset, metric: str | None = None) -> pd.DataFrame:
    """Compare each method with the next in the ranking, paired by seed.

    Parameters
    ----------
    scores
        What `run` returns, or a study of `load`.
    metric
        The metric; `acc` if the study has it, else its first metric with a better direction.

    Returns
    -------
    pandas.DataFrame
        One row a pair, the best first, without methods that have no score: `stream`, `learner`,
        `next`; `difference`, the first minus the next in the unit of the metric, with its 95 %
        interval `low` to `high`; `p` of the paired t test by Holm's method over the pairs of the
        stream; `resolved`, whether p < 0.05 and the difference is in favour of the first;
        `equivalent`, the posterior probability that they differ by less than 1 % (of fractions:
        1 point); `smallest`, the least difference that these seeds resolve with power 80 %;
        `seeds`, the number that both have; `untested`, why there is no p: "one seed", "all seeds
        alike" (each method has the same score with all), "equal differences", or "no common seed".
        It is empty where there is one.

    Raises
    ------
    UserError
        For an unknown metric, or one of which neither more nor less is better.

    Examples
    --------
    >>> import shiftbench as sb
    >>> steps = sb.stream("toy-step", points=6)
    >>> methods = {"near": ["gaussian-mean"], "far": [{"gaussian-mean": {"prior_variance": 9.0}}]}
    >>> scores = sb.run(methods, steps, seeds=2, metrics=["log_predictive"])
    >>> sb.compare(scores)[["learner", "next", "seeds"]].values.tolist()
    [['near', 'far', 2]]
    """
    if not isinstance(scores, xr.Dataset) or "score" not in scores:
        raise UserError("compare takes what `run` returns, or a study of `load`")
    scores = _whole_scores(scores)
    names = scores["metric"].values.tolist()
    if metric is not None:
        refuse_unknown("metric of these scores", text("metric", metric), names)
    scales = _labelled_scores.scales(scores)
    asked = scales if metric is None else {metric: scales[metric]}
    chosen = ranking.leading_metric(asked, scales)
    if chosen is None:
        raise UserError(_undirected(asked))
    values = scores["score"].sel(metric=chosen)
    rows = []
    for one in values["stream"].values.tolist():
        peers = values.sel(stream=one).transpose("learner", "seed")
        by_method = dict(zip(peers["learner"].values.tolist(), peers.values, strict=True))
        for pair in neighbours.pairs(by_method, scales[chosen]):
            why = _untested(pair, by_method[pair.better], by_method[pair.worse])
            rows.append({"stream": one, **_row(pair), "untested": why})
    return pd.DataFrame(rows, columns=["stream", *_COLUMNS])


def _undirected(scales: Mapping[str, ranking.Scale]) -> str:
    """Return the message for metrics of which none has a better direction."""
    if unknown := [name for name, one in scales.items() if one == _labelled_scores.UNKNOWN]:
        return (
            f"{', '.join(unknown)}: the scores do not say whether higher or lower is better; for"
            " metrics of your own, give their folder: sb.load(FOLDER, components=...)"
        )
    return f"{', '.join(scales)}: neither higher nor lower is better; name another metric"


def _whole_scores(scores: xr.Dataset) -> xr.Dataset:
    """Return scores with all dimensions, including those reduced to a single label by a selection.

    UserError for scores with other dimensions, a label twice, or no numbers.
    """
    given, axes = scores["score"].dims, _labelled_scores.DIMENSIONS
    lacking = [one for one in axes if one not in given and one not in scores.coords]
    others = [str(one) for one in given if one not in axes]
    if lacking or others:
        wrong = f"no {listed(lacking)}" if lacking else f"another dimension, {listed(others)}"
        raise UserError(f"compare: the scores have {wrong}; give them as `run` returns them")
    if scores["score"].dtype.kind not in "iuf":
        raise UserError("compare: the scores are not numbers; pass them as `run` returns them")
    for axis in axes:
        refuse_doubled(f"{axis}s", np.atleast_1d(scores[axis].values).tolist())
    return scores.expand_dims([one for one in axes if one not in given])


_COLUMNS = (
    "learner", "next", "difference", "low", "high", "p", "resolved", "equivalent", "smallest",
    "seeds", "untested",
)  # fmt: skip


def _row(pair: neighbours.Pair) -> dict[str, Any]:
    mean, _, low, high, seeds = pair.compared.difference
    found = (
        pair.better, pair.worse, mean, low, high, pair.p, pair.resolved, pair.compared.equivalent,
        pair.compared.smallest, seeds,
    )  # fmt: skip
    return dict(zip(_COLUMNS[:-1], found, strict=True))


def _untested(pair: neighbours.Pair, *scores: np.ndarray) -> str:
    """Return why two methods with these scores [seed] are not tested; empty if they are."""
    if not np.isnan(pair.p):
        return ""
    if pair.compared.difference.n < 2:
        return comparison.ONE_SEED if pair.compared.difference.n else "no common seed"
    return comparison.untested(scores) or "equal differences"


def _streams(given: str | Stream | Sequence[str | Stream]) -> list[Stream]:
    """Return streams as a list. UserError where two have one name, and for anything else."""
    several = [given] if isinstance(given, str | Stream) else given
    if not isinstance(several, Sequence) or not all(isinstance(s, str | Stream) for s in several):
        raise UserError(
            f"stream is a {type(given).__name__}; give a stream, a list of streams, or the name of"
            " a family; `stream_from` makes a stream of a DataFrame"
        )
    made = [streams.stream(one) if isinstance(one, str) else one for one in several]
    names = [one.name for one in made]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f'two streams are called "{name}"; give one another `name`')
    return made


def _config(name: str, given: Sequence[Stream], keys: Mapping[str, Any]) -> Config:
    """Return the checked config of one study. ConfigError with all errors."""
    for key in OF_THE_WORKFLOW:
        if key in keys:
            raise UserError(f"`{key}` needs a workflow: write it into a config (config/README.md)")
    study: dict[str, Any] = {"title": name}
    study |= {key: value for key, value in keys.items() if key not in OF_CONFIGS}
    study["streams"] = {one.name: dict(one.definition) for one in given}
    whole = {"studies": {name: study}} | {key: keys[key] for key in OF_CONFIGS if key in keys}
    file = Path.cwd() / "python.yaml"  # its folder is where paths start; nothing is written
    document = Document(file, plain("the study", whole), None, [])
    return config_file.planned(config_file.checked(document, "the study"))


def _planned(config: Config) -> list[Job]:
    """Return the jobs up to the scores of the one study."""
    made = []
    for name, stream in config.streams.items():
        data = cached_jobs.raw_folder(stream.settings.get("dataset"))
        made += jobs.of_stream(config, name, "results", data)
    of_study = jobs.of_config(config, "results", "python")
    return [*made, *(job for job in of_study if job.rule in RULES)]
