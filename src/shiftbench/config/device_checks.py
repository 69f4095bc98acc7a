"""The device that a run computes on: the processor, or a GPU if the method can use one."""

from __future__ import annotations

from collections.abc import Iterator

from shiftbench.config import components, digest
from shiftbench.config.pipeline_parts import by_kind
from shiftbench.config.schema import Config, Study
from shiftbench.config.yaml_lines import Issue

LIBRARIES = ("tensorflow", "torch", "jax")
"""Libraries that can use a GPU, by the names that they are imported by."""
NO_USE = f"only what imports {', '.join(LIBRARIES)} can use a GPU, and nothing here does; remove it"


def of_run(study: Study, method: str) -> str:
    """Return the device of a method's runs: cpu or gpu."""
    requested = study.resource(method, "device")
    return "gpu" if requested == "gpu" and _can_use_gpu(study, method) else "cpu"


def issues(config: Config) -> Iterator[Issue]:
    """Find studies and methods that request a GPU without a use for it."""
    for name, study in config.studies.items():
        place = ("studies", name)
        for method, of_study in study.methods.items():
            if of_study.device == "gpu" and not _can_use_gpu(study, method):
                yield (*place, "methods", method, "device"), NO_USE
        if study.device == "gpu" and not any(_can_use_gpu(study, one) for one in study.methods):
            yield (*place, "device"), NO_USE


def _can_use_gpu(study: Study, method: str) -> bool:
    parts = by_kind(study.pipelines[method])
    modules = [components.module_name(kind, name) for kind, (name, _) in parts]
    return any(digest.imports(module, name) for module in modules for name in LIBRARIES)
