"""Makes the spec of each job: everything that its result depends on, and nothing else.

A spec is a dict that JSON can write. Snakemake records no other param of its rule, so a job runs
again exactly when its spec changes; its digest names its file and the folder of checkpoints.
Threads, memory and time limits are not part of it; a GPU is, because it gives other bytes.

Two keys are older than the words of today, and stay because digests depend on them: `learner` is
the pipeline in the spec of a run, and a method in the spec of a choice; `learners` are the methods
in the specs of a study. Elsewhere a learner is the last component of a pipeline.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from shiftbench.config import (
    claims,
    components,
    device_checks,
    digest,
    environment,
    random_settings,
    shared_warm_ups,
    spec_code,
    spec_files,
    tuning,
    user_files,
    warm_ups,
)
from shiftbench.config.pipeline_parts import by_kind
from shiftbench.config.schema import Config
from shiftbench.config.spec_files import Spec
from shiftbench.config.tuning import TRIALS
from shiftbench.core import instructions
from shiftbench.core.errors import UserError
from shiftbench.data.store import raw

HARNESS = "shiftbench.evaluation.running.harness"
WARM_UP = "shiftbench.evaluation.running.warm_up"
SUMMARISE = ("shiftbench.evaluation.scoring.summarise", "shiftbench.evaluation.scoring.tidy")
CHOOSE = "shiftbench.evaluation.scoring.tuning_choice"
LEDGER = "shiftbench.evaluation.overview.ledger"
SHAPES = "shiftbench.core.shapes"
DRAWING = tuple(
    f"shiftbench.evaluation.{name}" for name in ("scoring.results", "figure_style", "table_files")
)


def raw_file(dataset: str, file: str) -> Spec:
    """Return the spec of fetching a raw file: its content, wherever it comes from."""
    return {
        "kind": "raw",
        "dataset": dataset,
        "file": file,
        "sha256": raw.table()[dataset].files[file].sha256,
    }


def stream(config: Config, name: str) -> Spec:
    """Return the spec of building a stream."""
    return _of_stream(config, name, {"kind": "stream"})


def words(config: Config, name: str) -> Spec:
    """Return the spec of choosing the vocabulary of a stream that is counted in shards."""
    return _of_stream(config, name, {"kind": "words"})


def part(config: Config, name: str, shard: int) -> Spec:
    """Return the spec of counting one shard of a stream."""
    shards = config.streams[name].settings["shards"]
    return _of_stream(config, name, {"kind": "part", "shard": shard, "shards": shards})


def run(config: Config, study: str, stream: str, method: str, seeds: tuple[int, int]) -> Spec:
    """Return the spec of running one method on one stream with one block of seeds."""
    plan = config.studies[study]
    metrics = [name for name in plan.metrics if components.metric(name).stage != "run"]
    point = random_settings.point(study, plan, method, seeds[0])
    pipeline = tuning.applied(plan.pipelines[method], point)
    model = shared_warm_ups.model_of(plan, method)
    spec = (
        {
            "kind": "run",
            "study": study,
            "stream": {"name": stream} | _source(config, stream),
            "method": method,
            "learner": [list(item) for item in pipeline],
            "model": model,
            "seeds": list(seeds),
            "reveals": plan.reveals,
            "drift": plan.drift,
            "metrics": metrics,
            "stack": _stack(_parts(pipeline, model)),
            "instructions": instructions.wanted() or plan.instructions,
        }
        | ({"configuration": point} if point else {})
        | ({"keeps": plan.keeps} if plan.keeps else {})
        | ({"looks": plan.looks} if plan.looks > 1 else {})
    )
    return _with_code(_on(device_checks.of_run(plan, method), spec), *modules_of_run(spec))


def modules_of_run(spec: Spec) -> list[str]:
    """Return the modules whose code, with all their imports, determines the result of a run."""
    return [
        HARNESS,
        components.module_name("streams", spec["stream"]["family"]),
        *_parts(spec["learner"], spec["model"]),
        *(components.module_name("metrics", name) for name in spec["metrics"]),
    ]


def warm_up(config: Config, study: str, stream: str, name: str, seeds: tuple[int, int]) -> Spec:
    """Return the spec of a warm-up that runs of a study share on a stream.

    UserError if they share no warm-up of this name.
    """
    shared = shared_warm_ups.of_study(config, study, stream)
    if name not in shared:
        raise UserError(
            f'no shared warm-up "{name}" for study "{study}" on "{stream}"; restart the workflow'
        )
    whole = run(config, study, stream, shared[name][-1], seeds)
    decides = warm_ups.shared(whole)
    assert decides is not None
    kind, component, _ = decides["component"]
    modules = [components.module_name(kind, component)]
    modules += _modules_of_model(component, decides["model"])
    spec = {
        "kind": "warm-up",
        "name": name,
        **decides,
        "stack": _stack(modules),
        "instructions": whole["instructions"],
    }
    return _with_code(
        _on(whole.get("device", "cpu"), spec),
        WARM_UP,
        components.module_name("streams", config.streams[stream].family),
        *modules,
    )


def choice(config: Config, study: str, stream: str, method: str) -> Spec:
    """Return the spec of choosing the best of a method's trials on a stream."""
    plan = config.studies[study]
    assert plan.tuning is not None
    metric = plan.tuning.metric
    return _with_code(
        {
            "kind": "choice",
            "study": study,
            "stream": stream + TRIALS,
            "learner": method,
            "metric": metric,
            "higher_is_better": components.metric(metric).higher_is_better,
            "trials": dict(tuning.trial_names(study, plan, method)),
        },
        CHOOSE,
    )


def with_choice(spec: Spec, point: dict[str, Any]) -> Spec:
    """Return the spec of a tuned run when the settings of the best trial are known."""
    pipeline = [(name, settings) for name, settings in spec["learner"]]
    learner = [list(item) for item in tuning.applied(pipeline, point)]
    changed = {key: value for key, value in spec.items() if key != "digest"}
    return spec_files.signed(changed | {"learner": learner, "tuned": point})


def scores(config: Config, study: str) -> Spec:
    """Return the spec of summarising a study."""
    spec = _of_study(config, study, "scores")
    return _with_code(spec, *modules_of_scores(spec))


def modules_of_scores(spec: Spec) -> list[str]:
    """Return the modules whose code, with all that they import, decides the scores of a study."""
    return [*SUMMARISE, *(components.module_name("metrics", name) for name in spec["metrics"])]


def artefact(config: Config, study: str, name: str) -> Spec:
    """Return the spec of making one figure or table of a study."""
    plan = config.studies[study]
    of_claims = "claims" in components.facts("artefacts", name).study
    return _with_code(
        _of_study(config, study, "artefact")
        | ({"claims": _claims(config, study)} if of_claims else {})
        | ({"cells": plan.cells} if plan.axes else {})
        | ({"configurations": drawn} if (drawn := random_settings.points(study, plan)) else {})
        | {
            "artefact": name,
            "title": plan.title,
            "origin": plan.origin,
            "cuts": plan.cuts,
            "words": plan.words,
            "tuning": tuning.sentence(plan, config.streams),
            "baseline": plan.baseline,
            "bounds": [name for name, method in plan.methods.items() if method.bound],
            "styles": {method: list(style) for method, style in plan.method_styles.items()},
            "labels": {method: plan.label(method) for method in plan.methods},
        },
        *DRAWING,
        components.module_name("artefacts", name),
    )


def ledger(config: Config, name: str) -> Spec:
    """Return the spec of a config's ledger: all claims, and the studies that judge some."""
    return _with_code(
        {
            "kind": "ledger",
            "config": name,
            "claims": [claim.model_dump(exclude_none=True) for claim in config.claims.values()],
            "studies": claims.judging(config),
        },
        *DRAWING,
        LEDGER,
    )


def _parts(pipeline: list[Any], model: list[Any] | None) -> list[str]:
    """Return the modules of the combinators, the learner and the model of a run."""
    modules = [components.module_name(kind, name) for kind, (name, _) in by_kind(pipeline)]
    return modules + _modules_of_model(pipeline[-1][0], model)


def _modules_of_model(learner: str, model: list[Any] | None) -> list[str]:
    """Return the module that builds the model of a learner, or describes it to the learner."""
    if not model:
        return []
    of_shapes = components.facts("learners", learner).model == "shapes"
    if of_shapes and not components.defines("models", model[0], "describe"):
        return [SHAPES]
    return [components.module_name("models", model[0])]


def _stack(modules: Iterable[str]) -> str:
    """Return the stack of `runtime.forkserver_client` that a job with these components imports."""
    heavy = any(digest.imports(module, "tensorflow") for module in modules)
    return "tensorflow" if heavy else "light"


def _of_study(config: Config, study: str, kind: str) -> Spec:
    plan = config.studies[study]
    return {
        "kind": kind,
        "study": study,
        "metrics": plan.metrics,
        "learners": {
            name: [list(item) for item in pipeline] for name, pipeline in plan.pipelines.items()
        },
        "methods": plan.method_of,
        "reference": plan.reference,
        "streams": plan.streams,
        "seeds": plan.seeds,
    }


def _claims(config: Config, study: str) -> list[Spec]:
    """Return the claims that a study judges, each with the streams on which it does."""
    return [
        config.claims[name].model_dump(exclude_none=True) | {"streams": streams}
        for name, streams in claims.of_study(config, study).items()
    ]


def _of_stream(config: Config, name: str, kind: Spec) -> Spec:
    """Return the spec of a job that makes a stream, or a part of it."""
    family = components.module_name("streams", config.streams[name].family)
    return _with_code(kind | {"stream": name} | _source(config, name), family)


def _source(config: Config, name: str) -> Spec:
    """Family, settings and raw files of a stream, without `shards`, which change no result."""
    settings = {k: v for k, v in config.streams[name].settings.items() if k != "shards"}
    data: dict[str, str] = {}
    if settings.get("dataset"):
        files = raw.table()[settings["dataset"]].files
        data = {file: entry.sha256 for file, entry in files.items()}
    for key, path in user_files.named(settings).items():
        settings[key] = path.resolve().name
        data |= {f"{key}/{file}": found for file, found in user_files.checksums(path).items()}
    return {"family": config.streams[name].family, "settings": settings, "data": data}


def _on(device: str, spec: Spec) -> Spec:
    """Return the spec of a run or warm-up on a device; on a GPU with its libraries' versions."""
    if device == "cpu":
        return spec
    cuda = {"cuda": environment.cuda()} if spec["stack"] == "tensorflow" else {}
    return spec | {"device": device} | cuda


def _with_code(spec: Spec, *modules: str) -> Spec:
    """Return a spec with the digests of what its job runs: code of modules, and their packages."""
    return spec_files.signed(spec | spec_code.of_code(*modules))
