"""What runs compute on: the processor, or a GPU where the config asks for one that they can use."""

from __future__ import annotations

from collections.abc import Iterator

from shiftbench.config import components, digest
from shiftbench.config.schema import Config, Study
from shiftbench.config.yaml_lines import Place

LIBRARIES = ("tensorflow", "torch", "jax")
"""What can use a GPU, by the names that they are imported by."""
IN_VAIN = (
    f"only what imports {', '.join(LIBRARIES)} can use a GPU, and nothing here does; remove it"
)


def of_run(study: Study, variant: str) -> str:
    """What the runs of a variant compute on: cpu or gpu."""
    asked = study.resource(variant, "device")
    return "gpu" if asked == "gpu" and _can_use_one(study, variant) else "cpu"


def problems(config: Config) -> Iterator[tuple[Place, str]]:
    """Studies and methods that ask for a GPU in vain."""
    for name, study in config.studies.items():
        place = ("studies", name)
        for variant, one in study.methods.items():
            if one.device == "gpu" and not _can_use_one(study, variant):
                yield (*place, "methods", variant, "device"), IN_VAIN
        if study.device == "gpu" and not any(_can_use_one(study, one) for one in study.methods):
            yield (*place, "device"), IN_VAIN


def _can_use_one(study: Study, variant: str) -> bool:
    *combinators, (learner, _) = study.pipelines[variant]
    modules = [components.module_name("combinators", name) for name, _ in combinators]
    modules.append(components.module_name("learners", learner))
    return any(digest.imports(module, name) for module in modules for name in LIBRARIES)
