"""Studies like a given one, with other scores: failed learners, several streams."""

from __future__ import annotations

import dataclasses

import xarray as xr


def of_streams(study, factors):
    """Return a study of streams like the only one of `study`, with scores times factors.

    factors: by stream and then by (learner, metric); NaN for a learner that failed. All other
    scores stay as they are.
    """
    ((name, store),) = study.streams.items()
    scores = {}
    for stream in factors:
        for learner in study.methods:
            scores[f"runs/{stream}/{learner}"] = study.scores[f"runs/{name}/{learner}"]
    cubes = [_cube(study, stream, changes) for stream, changes in factors.items()]
    scores["scores"] = xr.concat(cubes, "stream")
    return dataclasses.replace(study, scores=scores, streams=dict.fromkeys(factors, store))


def _cube(study, stream, changes):
    cube = study.cube.copy(deep=True).assign_coords(stream=[stream])
    for (learner, metric), factor in changes.items():
        place = {"learner": learner, "metric": metric}
        for field in ("score", "score_by_task"):
            cube[field].loc[place] = factor * cube[field].loc[place]
    return cube
