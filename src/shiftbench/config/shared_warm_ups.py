"""Which runs of a study share a warm-up, by what the config says of them."""

from __future__ import annotations

from typing import Any

from shiftbench.config import components, device_checks, warm_ups
from shiftbench.config.schema import Config, Study


def of_study(config: Config, study: str, stream: str) -> dict[str, list[str]]:
    """Return the warm-ups that runs of a study share on a stream, each with its methods."""
    shared: dict[str, list[str]] = {}
    for method in config.studies[study].methods:
        if found := name(config, study, stream, method):
            shared.setdefault(found, []).append(method)
    return shared


def name(config: Config, study: str, stream: str, method: str) -> str | None:
    """Return the name of the warm-up that a run shares with others; None if it does its own.

    None also if the stream has no warm-up, if tuning chooses the settings later, and if each seed
    has its own settings.
    """
    source, plan = config.streams[stream], config.studies[study]
    has = components.facts("streams", source.family).words("gives", source.settings)
    worker = warm_ups.worker(plan.pipelines[method])
    varied = plan.tuning is not None or plan.configurations
    if "warm-up" not in has or varied or worker is None:
        return None
    model = model_of(plan, method) if worker.kind == "learners" else None
    found = warm_ups.name([worker.kind, worker.name, worker.settings], model)
    return found if device_checks.of_run(plan, method) == "cpu" else f"{found}-gpu"


def model_of(study: Study, method: str) -> list[Any] | None:
    """Return the study's model, with its settings; None for a method that trains no model."""
    learner, _ = study.pipelines[method][-1]
    needs_one = components.facts("learners", learner).model
    return list(study.model) if study.model and needs_one else None
