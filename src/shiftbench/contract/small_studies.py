"""Small studies of ours in which a user's metrics of whole runs, and artefacts, are tried.

Their jobs are those of the workflow, and run as `shiftbench.run` runs them, in the same cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from shiftbench.config import components, config_file, jobs
from shiftbench.config.config_file import ConfigError
from shiftbench.config.job import Job
from shiftbench.config.schema import Config
from shiftbench.config.yaml_lines import Document
from shiftbench.core.errors import UserError
from shiftbench.runtime import cached_jobs

NAME = "small"
COMPARED = {"baseline": "first", "reference": "second"}
STUDIES: tuple[dict[str, Any], ...] = (
    {
        "streams": {"steps": {"family": "toy-step", "points": 12, "realisations": 2}},
        "methods": {"first": ["beam", "gaussian-mean"], "second": ["run-length", "gaussian-mean"]},
        "metrics": ["log_predictive"],
    },
    {
        "streams": {
            "rows": {
                "family": "tabular",
                "dataset": "simulated-classification",
                "simulated_rows": 20,
                "scaling": "none",
            }
        },
        "methods": {
            "first": [{"beam": {"size": 2}}, "online-logistic"],
            "second": ["online-logistic"],
        },
        "metrics": ["prequential_error"],
    },
    {
        "streams": {
            "digits": {
                "family": "split-images",
                "dataset": "digits",
                "heads": "single",
                "train_per_task": 40,
                "realisations": 2,
            }
        },
        "model": {"mlp": {"hidden": [4]}},
        "methods": {"first": [{"map": {"epochs": 1}}], "second": [{"map": {"epochs": 2}}]},
        "reveals": ["boundaries", "task_identity"],
        "keeps": ["predictions"],
        "metrics": ["accuracy"],
    },
)
"""The studies: the first has values over time, the second rows of two classes, the third images
with test data."""


def planned(kind: str, name: str) -> Config | None:
    """Return the first study that a metric or artefact fits, with it added; None if none does."""
    is_ours = components.package_of(kind, name) == components.OURS
    own = {} if is_ours else {"components": str(components.path(kind, name).parents[1])}
    artefacts = [name] if kind == "artefacts" else []
    for study in STUDIES:
        metrics = [*dict.fromkeys([*study["metrics"], *_metrics(kind, name)])]
        whole = {"title": "A small study", "seeds": 2} | COMPARED | study
        whole |= {"metrics": metrics, "artefacts": artefacts}
        document = Document(Path.cwd() / f"{NAME}.yaml", own | {"studies": {NAME: whole}}, None, [])
        try:
            return config_file.planned(config_file.checked(document, "the small study"))
        except ConfigError:
            continue
    return None


def make(study: Config, kind: str, name: str) -> str:
    """Make a metric or artefact in a study, and return what it needs but the study lacks.

    The text is empty if it lacks nothing. It is first made in this process, where what it changes
    and writes is seen, and then in the workflow's job, which must give the same. Raises
    AssertionError for what it must not do, and UserError with the job that fails.
    """
    from shiftbench.contract import made_again  # takes a second, which other checks need not

    *before, own = jobs.of_config(study, "results", NAME)
    try:
        places = _made(before)
        if kind == "artefacts":
            files = made_again.drawn(own, places)
            made_again.check_files(files, own, _made([*before, own]))
        else:
            scores = made_again.scored(own, name, places)
            made_again.check_scores(scores, name, _made([*before, own])[own.outputs[0]])
    except UserError as error:
        _, is_lacking, what = str(error).partition(f"study {NAME}: {name} needs ")
        if is_lacking:
            return what.partition(";")[0]
        raise
    return ""


def _made(planned: Sequence[Job]) -> dict[str, Path]:
    """Run jobs and return the path of each output. Raises UserError with the job that fails."""
    try:
        return cached_jobs.made(planned)
    except RuntimeError as error:
        raise UserError(str(error)) from error


def _metrics(kind: str, name: str) -> Iterator[str]:
    """Yield the metrics that a component is made from, each after those that it uses itself."""
    for used in components.facts(kind, name).uses:
        yield from _metrics("metrics", used)
    if kind == "metrics":
        yield name
