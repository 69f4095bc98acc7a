"""Interactive figure of a study with the score of every seed.

A Vega-Lite chart, whose metric, stream, seed and methods the reader chooses. Its libraries are one
file of the site, the scores are in the page.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import altair as alt
import numpy as np

from shiftbench.evaluation.scoring import units
from shiftbench.publish.site import numbers
from shiftbench.publish.site.collect import SiteStudy
from shiftbench.publish.site.method_styles import SHAPES, MethodStyle

ROW = 22
"""Height of a method in the chart, in pixels, while all are shown."""
FEWEST = 2
"""Smallest number of scores with a chart."""
LICENCES = (
    "/* Vega, Vega-Lite and Vega-Embed, bundled by vl-convert: BSD-3-Clause, University of"
    " Washington Interactive Data Lab and contributors. */\n"
)


BUNDLE = """
import sys, vl_convert
bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
sys.stdout.buffer.write(bundle.encode())
"""


@contextmanager
def library() -> Iterator[Callable[[], str]]:
    """Start to bundle the JavaScript that draws charts; yield a function that waits for it.

    The script defines vegaEmbed and needs no network. Bundling takes seconds and blocks the
    interpreter, so it runs in a separate process.
    """
    with subprocess.Popen([sys.executable, "-c", BUNDLE], stdout=subprocess.PIPE) as process:

        def wait() -> str:
            bundle, _ = process.communicate()
            if process.returncode:
                raise subprocess.CalledProcessError(process.returncode, "vl_convert")
            # Wrapped in a function, because its names would be global otherwise.
            return f"{LICENCES}(() => {{{bundle.decode()}}})();\n"

        try:
            yield wait
        finally:
            process.kill()  # or it would complain that nobody reads


def chart(
    study: SiteStudy, metric: str, styles: Mapping[str, MethodStyle]
) -> dict[str, Any] | None:
    """Return data and Vega-Lite spec of a study's chart, or None without scores of seeds.

    `names` are those of streams, methods (their labels) and metrics. `rows` have the indices of
    stream, method and metric, and the scores of all `seeds` as displayed: fractions in percent,
    null for none. metric: the one that the chart shows first; styles: by method.
    """
    scores = study.scores
    if scores is None or scores["score"].notna().sum() < FEWEST:
        return None
    finite = scores[np.isfinite(scores["score"])]
    first = {*finite.loc[finite["metric"] == metric, "stream"]}
    # Streams without a score by the metric come last, so that the chart begins with marks.
    streams = sorted(study.streams, key=lambda name: name not in first)
    names = {"stream": streams, "method": study.methods, "metric": study.metrics}
    indices = [
        finite[column].map({name: i for i, name in enumerate(known)})
        for column, known in zip(("stream", "learner", "metric"), names.values(), strict=True)
    ]
    displayed = finite["score"] * finite["metric"].map(units.factor)
    shown = displayed.map(lambda score: float(f"{score:.{numbers.DIGITS}g}"))
    table = shown.set_axis([*indices, finite["seed"]]).unstack()
    labels = [study.label(name) for name in study.methods]
    return {
        "names": {**names, "method": labels},
        "seeds": table.columns.tolist(),
        "rows": [
            [*place, [None if np.isnan(score) else score for score in scores]]
            for place, scores in zip(table.index.tolist(), table.to_numpy().tolist(), strict=True)
        ],
        "spec": _spec(labels, [styles[name] for name in study.methods], metric, streams[0]),
        "units": {name: units.shown_unit(name) for name in study.metrics},
    }


def _spec(labels: list[str], styles: list[MethodStyle], metric: str, stream: str) -> dict[str, Any]:
    """Return the spec: a row per method, a mark per seed, and a tick at the mean of those shown."""
    parameters = [
        alt.param("metric", value=metric),
        alt.param("stream", value=stream),
        alt.param("seed", value=-1),
        alt.param("methods", value=labels),
    ]
    colour = alt.Color(
        "method:N",
        scale=alt.Scale(domain=labels, range=[style.colour for style in styles]),
        legend=None,
    )
    shape = alt.Shape(
        "method:N",
        scale=alt.Scale(domain=labels, range=[SHAPES[style.marker] for style in styles]),
        legend=None,
    )
    # The title does not name the metric, which the chooser above shows.
    x = alt.X("score:Q", scale=alt.Scale(zero=False), title="score")
    y = alt.Y("method:N", sort=labels, title=None, axis=alt.Axis(labelLimit=0))
    tooltip = [alt.Tooltip(name) for name in ("method:N", "seed:Q", "score:Q", "stream:N")]
    base = (
        alt.Chart(alt.NamedData("scores"))
        .transform_filter("datum.metric == metric && datum.stream == stream")
        .transform_filter("seed < 0 || datum.seed == seed")
        .transform_filter("indexof(methods, datum.method) >= 0")
    )
    points = base.mark_point(filled=True, size=55, opacity=0.75).encode(
        x, y, colour, shape, tooltip=tooltip
    )
    means = base.mark_tick(thickness=2, color="black").encode(
        alt.X("mean(score):Q"), y, tooltip=["method:N", "mean(score):Q"]
    )
    whole = (points + means).add_params(*parameters)
    return whole.properties(
        width="container",
        height=ROW * len(labels),
        autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
    ).to_dict(validate=False)
