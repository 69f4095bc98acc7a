"""The interactive figure of a study: every seed's score, to be looked at closely.

A Vega-Lite chart whose metric, stream, seed and methods the reader chooses. The libraries that
draw it are one file of the site, the scores are in the page.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
import vl_convert

from shiftbench.publish.site import numbers
from shiftbench.publish.site.collect import Study
from shiftbench.publish.site.method_styles import SHAPES, Look

DIGITS = 6
"""Of a score in the page."""
ROW = 22
"""Height of a method in the chart, in pixels, while all are shown."""
FEWEST = 2
"""Scores below which there is nothing to choose."""
LICENCES = (
    "/* Vega, Vega-Lite and Vega-Embed, bundled by vl-convert: BSD-3-Clause, University of"
    " Washington Interactive Data Lab and contributors. */\n"
)


def library() -> str:
    """The JavaScript that draws the charts: it defines vegaEmbed, and needs no network."""
    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    # Its names would be global otherwise.
    return f"{LICENCES}(() => {{{bundle}}})();\n"


def chart(study: Study, metric: str, looks: Mapping[str, Look]) -> dict[str, Any] | None:
    """Data and Vega-Lite spec of a study's chart, which shows a metric at first; None where no
    score of a seed is known.

    data: `names` of streams, learners (by label) and metrics, `rows` of stream, learner, metric
    (numbers of these), seed, score as the page writes it: in percent where it is a fraction.
    """
    scores = study.scores
    if scores is None or scores["score"].notna().sum() < FEWEST:
        return None
    names = {
        "stream": study.streams,
        "learner": study.learners,
        "metric": study.metrics,
    }
    known = scores[np.isfinite(scores["score"])]
    places = [known[key].map({name: at for at, name in enumerate(names[key])}) for key in names]
    units = {name: numbers.unit(name) for name in study.metrics}
    shown = known["score"] * known["metric"].map(units).eq("%").map({True: 100, False: 1})
    rows = zip(*places, known["seed"], shown, strict=True)
    labels = [study.label(name) for name in study.learners]
    return {
        "names": {**names, "learner": labels},
        "rows": [[*map(int, row[:4]), float(f"{row[4]:.{DIGITS}g}")] for row in rows],
        "spec": _spec(labels, [looks[name] for name in study.learners], metric, study.streams[0]),
        "units": units,
    }


def _spec(labels: list[str], looks: list[Look], metric: str, stream: str) -> dict[str, Any]:
    """A row a method: a mark for each seed, and a tick at the mean of those that are shown."""
    chosen = [
        alt.param("metric", value=metric),
        alt.param("stream", value=stream),
        alt.param("seed", value=-1),
        alt.param("learners", value=labels),
    ]
    colour = alt.Color(
        "learner:N",
        scale=alt.Scale(domain=labels, range=[look.colour for look in looks]),
        legend=None,
    )
    shape = alt.Shape(
        "learner:N",
        scale=alt.Scale(domain=labels, range=[SHAPES[look.marker] for look in looks]),
        legend=None,
    )
    # The title has no metric's name: that stands in the chooser above.
    x = alt.X("score:Q", scale=alt.Scale(zero=False), title="score")
    y = alt.Y("learner:N", sort=labels, title=None, axis=alt.Axis(labelLimit=0))
    tooltip = [alt.Tooltip(name) for name in ("learner:N", "seed:Q", "score:Q", "stream:N")]
    base = (
        alt.Chart(alt.NamedData("scores"))
        .transform_filter("datum.metric == metric && datum.stream == stream")
        .transform_filter("seed < 0 || datum.seed == seed")
        .transform_filter("indexof(learners, datum.learner) >= 0")
    )
    points = base.mark_point(filled=True, size=55, opacity=0.75).encode(
        x, y, colour, shape, tooltip=tooltip
    )
    means = base.mark_tick(thickness=2, color="black").encode(
        alt.X("mean(score):Q"), y, tooltip=["learner:N", "mean(score):Q"]
    )
    whole = (points + means).add_params(*chosen)
    return whole.properties(
        width="container",
        height=ROW * len(labels),
        autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
    ).to_dict()
