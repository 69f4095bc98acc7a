"""What the rules share: the config, checked as a whole; where results go; helper functions.

No TensorFlow here: on a cluster every job reads these files.
"""

import os
import shlex
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger
from snakemake_interface_executor_plugins.settings import DeploymentMethod, ExecMode

# shiftbench sets environment variables for its jobs when it is imported; this process, and the
# jobs of a workflow that has ours as a module, stay as they are.
ENVIRONMENT = dict(os.environ)
CHECKOUT = Path(
    workflow.current_basedir.join("../..").get_path_or_uri(secret_free=False)
)
sys.path.insert(0, str(CHECKOUT.resolve() / "src"))
try:
    from shiftbench.config import (
        components,
        config_file,
        device_checks,
        module_config,
        specs,
        tuning,
        user_files,
    )
    from shiftbench.core import checkout
    from shiftbench.core.errors import UserError
    from shiftbench.data.store import checksum, raw
    from shiftbench.forecast import digest_manifest, progress
    from shiftbench.forecast.plan import estimator
    from shiftbench.forecast.resource_requests import Asked
    from shiftbench.runtime import stale_lock
except ModuleNotFoundError as error:
    raise WorkflowError(
        f"{error}; install shiftbench for {sys.executable}: pip install CHECKOUT"
    ) from None
finally:
    sys.path.pop(0)
    os.environ.clear()
    os.environ.update(ENVIRONMENT)

# The name that a workflow gives to ours which has it as a module; it gives the config, too.
MODULE = workflow.modifier.namespace


def place(path):
    """Where a path of ours is that is in none of the rules, below the prefix of the module."""
    return workflow.pathvars.apply(workflow.modifier.modify_path(path))


def chosen_config():
    """The one config file: of a module what the parent gives, else that of the command line."""
    if MODULE:
        return Path(place(f"<results>/{MODULE}/{MODULE}.yaml"))
    if workflow.config_settings.config:
        raise WorkflowError(
            "--config KEY=VALUE is not taken; change the config file, or copy it"
        )
    chosen = workflow.config_settings.configfiles
    if len(chosen) > 1:
        raise WorkflowError("name one config file; several are not merged")
    return Path(chosen[0]) if chosen else checkout.EMBEDDED


def checked_config():
    try:
        if MODULE:
            return module_config.load(config, CONFIG_FILE)
        return config_file.load(CONFIG_FILE)
    except UserError as error:
        raise WorkflowError(str(error)) from None


CONFIG_FILE = chosen_config()
CONFIG = checked_config()
TRIALS = {
    study + tuning.TRIALS for study, plan in CONFIG.studies.items() if plan.tuning
}
# The config's order of studies is the order of the work.
PRIORITY = {
    study: number for number, study in enumerate(reversed(CONFIG.studies), start=1)
}

if not workflow.output_settings.dryrun:
    if MODULE:
        module_config.write(config, CONFIG_FILE)
    elif workflow.exec_mode == ExecMode.DEFAULT:  # no job of a cluster takes a lock
        stale_lock.enter(Path(".snakemake"), logger.warning)


def call():
    """How a job calls the package that planned it, wherever it is started."""
    in_image = (
        DeploymentMethod.APPTAINER in workflow.deployment_settings.deployment_method
    )
    python = "python" if in_image else shlex.quote(sys.executable)
    source = shlex.quote(str(checkout.PACKAGE.parent))
    prefix = (
        ""
        if checkout.INSTALLED
        else f"PYTHONPATH={source}${{PYTHONPATH:+:$PYTHONPATH}} "
    )
    if workflow.storage_settings.default_storage_provider:
        prefix += f"{checksum.OFF}=1 "  # what a job makes is a copy that comes and goes
    return f"{prefix}{python} -m shiftbench"


pathvars:
    bench=f"<results>/{CONFIG_FILE.stem}",
    logs="<bench>/logs",


# A later plan can say which function, or which package, has changed. Snakemake's own limit of 100
# jobs a second is lifted: in 9.27 each look for a next job sets a timer for another one, and each
# job that ends begins one more such chain, so that after some hundred jobs the main process takes
# half a processor to look at what it knows.
onstart:
    digest_manifest.write(Path(place("<bench>")))
    ASKED.keep()
    limit = workflow.scheduling_settings.max_jobs_per_timespan
    if (limit.max_jobs, limit.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None
    if "shiftbench" in workflow.output_settings.log_handler_settings:
        say_what_is_to_do()


RAW = place("data/raw")
IS_MAIN = workflow.exec_mode == ExecMode.DEFAULT
ASKED = Asked(cache(estimator) if IS_MAIN else None, Path(place("<bench>")))
# How a job is called is no part of what it makes: Snakemake keeps no record of a param of this
# type, so that nothing runs again when a checkout has moved.
JOB = SimpleNamespace(
    call=call(), config=str(CONFIG_FILE), raw=RAW, scratch=place("<bench>/scratch")
)


wildcard_constraints:
    dataset=r"[a-z0-9-]+",
    study="|".join(CONFIG.studies),
    stream="|".join(CONFIG.streams),
    variant=r"[a-z0-9-]+",
    name=r"[a-z0-9-]+",
    first=r"\d+",
    last=r"\d+",


def say_what_is_to_do():
    """Gives the logger plugin of `shiftbench run` what it shows progress with."""
    expected = progress.of_jobs(workflow.dag.needrun_jobs(), CONFIG, estimator())
    cores = workflow.resource_settings.cores or os.cpu_count()
    first = progress.first_results(CONFIG, place("<bench>"))
    made = progress.Progress(expected, cores, first)
    logger.info(
        f"{made.total} jobs, forecast to take {made.seconds_left():.0f} s",
        extra={"shiftbench_progress": made},
    )


def all_results():
    studies = [study for study in CONFIG.studies if study not in TRIALS]
    return sum(map(study_results, studies), []) + overview_results()


def overview_results():
    """The ledger, where a study judges a claim; ranks, where several are tuned."""
    folder, kinds = "<bench>/overview", ("csv", "md", "svg", "png")
    ledger = [f"{folder}/ledger.{kind}" for kind in kinds if specs.judging(CONFIG)]
    return ledger + [
        f"{folder}/ranks.{kind}" for kind in ("svg", "png") if specs.ranked(CONFIG)
    ]


def scores_of_ranked():
    """The scores by seed of the studies whose methods are ranked."""
    folder = "<bench>/studies"
    return [f"{folder}/{study}/scores.csv" for study in specs.ranked(CONFIG)]


def tables_of_claims():
    """Of the studies that judge a claim, in the config's order."""
    folder = "<bench>/studies"
    return [f"{folder}/{study}/tables/claims.csv" for study in specs.judging(CONFIG)]


def study_results(study):
    """All that is made of a study, and of its trials where it is tuned."""
    folder = f"<bench>/studies/{study}"
    stems = {"figure": ("figures", ["svg", "png"]), "table": ("tables", ["csv", "md"])}
    # Stores are asked for by name. Snakemake does not miss a file in the middle while what
    # is made from it is there: after a rerun that was killed when the old store was gone
    # already, or in a fresh clone, which has the published summaries, figures and tables.
    wanted = [*stores_of_streams(study), *stores_of_runs(study)]
    made = ("scores.zarr.zip", "scores.csv", "summary.csv")
    wanted += [f"{folder}/{name}" for name in made]
    wanted += choices(study.removesuffix(tuning.TRIALS)) if study in TRIALS else []
    for name in CONFIG.studies[study].artefacts:
        kind, suffixes = stems[components.artefact_kind(name)]
        wanted += [f"{folder}/{kind}/{name}.{suffix}" for suffix in suffixes]
    trials = study + tuning.TRIALS
    return wanted + (study_results(trials) if trials in TRIALS else [])


def raw_file_spec(wildcards):
    return specs.raw_file(wildcards.dataset, wildcards.file)


def stream_spec(wildcards):
    return specs.stream(CONFIG, wildcards.stream)


def words_spec(wildcards):
    return specs.words(CONFIG, wildcards.stream)


def part_spec(wildcards):
    return specs.part(CONFIG, wildcards.stream, int(wildcards.shard))


def run_spec(wildcards):
    seeds = int(wildcards.first), int(wildcards.last)
    return specs.run(
        CONFIG, wildcards.study, wildcards.stream, wildcards.variant, seeds
    )


def warm_up_spec(wildcards):
    seeds = int(wildcards.first), int(wildcards.last)
    return specs.warm_up(
        CONFIG, wildcards.study, wildcards.stream, wildcards.name, seeds
    )


def warm_up_of_run(wildcards):
    """The warm-up that a run shares with others of its study, if it does."""
    study, stream = wildcards.study, wildcards.stream
    name = specs.warm_up_name(CONFIG, study, stream, wildcards.variant)
    block = f"{wildcards.first}-{wildcards.last}"
    return (
        [f"<bench>/warm-ups/{study}/{stream}/{name}/{block}.zarr.zip"] if name else []
    )


def gpus_of_run(wildcards):
    study = CONFIG.studies[wildcards.study]
    return int(device_checks.of_run(study, wildcards.variant) == "gpu")


def gpus_of_warm_up(wildcards):
    """That of the runs that share it."""
    return int("device" in warm_up_spec(wildcards))


def choice_spec(wildcards):
    return specs.choice(CONFIG, wildcards.study, wildcards.stream, wildcards.learner)


def choice(study, stream, learner):
    """The file that says which settings of a learner were best."""
    return f"<bench>/studies/{study}{tuning.TRIALS}/choices/{stream}/{learner}.json"


def choices(study):
    plan = CONFIG.studies[study]
    return [
        choice(study, stream, learner)
        for stream in plan.streams
        for learner in plan.methods
    ]


def choice_of_run(wildcards):
    """The choice that a run of a tuned study waits for; none for all other runs."""
    if CONFIG.studies[wildcards.study].tuning is None:
        return []
    return [choice(wildcards.study, wildcards.stream, wildcards.variant)]


def scores_spec(wildcards):
    return specs.scores(CONFIG, wildcards.study)


def artefact_spec(wildcards):
    return specs.artefact(CONFIG, wildcards.study, wildcards.artefact)


def ledger_spec(wildcards):
    return specs.ledger(CONFIG, CONFIG_FILE.stem)


def ranks_spec(wildcards):
    return specs.ranks(CONFIG)


def fetched_datasets():
    """A pattern of the data sets that can be fetched; others are put in place by hand."""
    return "|".join(name for name, dataset in raw.table().items() if dataset.files)


def raw_files(wildcards):
    """The user's files, or the raw files of a stream's data set; none of what a package carries.

    Of data that cannot be fetched, those that are there.
    """
    settings = CONFIG.streams[wildcards.stream].settings
    if named := user_files.named(settings):
        files = [file for path in named.values() for file in user_files.files(path)]
        return [local(str(file)) for file in files]  # no prefix of a module moves them
    dataset = str(settings.get("dataset"))
    folder = Path(RAW) / dataset
    there = (p.relative_to(folder) for p in folder.rglob("*") if p.is_file())
    names = list(stream_spec(wildcards)["data"]) or sorted(map(str, there))
    return [f"data/raw/{dataset}/{name}" for name in names]


def streams(sharded):
    """A pattern of the streams that are counted in shards, or of all others."""
    names = [
        name
        for name, stream in CONFIG.streams.items()
        if ("shards" in stream.settings) == sharded
    ]
    return "|".join(names) or "(?!)"


def shards(wildcards):
    """The counts of all shards of a stream."""
    number = CONFIG.streams[wildcards.stream].settings["shards"]
    folder = f"<bench>/streams/{wildcards.stream}"
    return [f"{folder}/{shard}.zarr.zip" for shard in range(number)]


def stores_of_streams(study):
    streams = CONFIG.studies[study].streams
    return [f"<bench>/streams/{stream}.zarr.zip" for stream in streams]


def stores_of_runs(study):
    plan = CONFIG.studies[study]
    return [
        f"<bench>/runs/{study}/{stream}/{variant}/{first}-{last}.zarr.zip"
        for stream in plan.streams
        for variant in plan.pipelines
        for first, last in CONFIG.blocks(study)
    ]


def stream_stores(wildcards):
    return stores_of_streams(wildcards.study)


def run_stores(wildcards):
    return stores_of_runs(wildcards.study)


def study_priority(wildcards):
    return PRIORITY[wildcards.study]


def stream_priority(wildcards):
    return priority_of_streams({wildcards.stream})


def dataset_priority(wildcards):
    streams = CONFIG.streams.items()
    dataset = wildcards.dataset
    return priority_of_streams(
        {name for name, stream in streams if stream.settings.get("dataset") == dataset}
    )


def priority_of_streams(names):
    """That of the first study on one of the streams."""
    studies = CONFIG.studies.items()
    found = [PRIORITY[study] for study, plan in studies if names & set(plan.streams)]
    return max(found, default=0)


def artefacts_of_kind(kind):
    """A pattern of all artefacts of a kind."""
    names = components.names("artefacts")
    return "|".join(
        name for name in names if components.artefact_kind(name) == kind
    )


def study_setting(key):
    """A function from wildcards to a setting of the study: threads, minutes or memory."""
    return lambda wildcards: getattr(CONFIG.studies[wildcards.study], key)


def threads_of_run(wildcards):
    return said_of_run(wildcards).threads


def threads_of_warm_up(wildcards):
    return said_of_warm_up(wildcards).threads


def said_of_run(wildcards):
    """What a run needs: that of its method, or of the study."""
    return CONFIG.studies[wildcards.study].resources(wildcards.variant)


def said_of_warm_up(wildcards):
    """What a warm-up needs: the most of those who share it."""
    shared = specs.sharing(CONFIG, wildcards.study, wildcards.stream)[wildcards.name]
    return CONFIG.studies[wildcards.study].resources(*shared)


def asked(key, said, spec):
    """A function from wildcards to what a job asks for, from what such jobs took before.

    A limit near what a job needs is for those who start a job again that has reached it: where
    there are no retries, it asks for what is said of it.
    """

    def ask(wildcards, attempt):
        settings = workflow.execution_settings
        if IS_MAIN and not (settings and settings.retries):
            return getattr(said(wildcards), key)
        known = getattr(ASKED, key)
        return known(" ".join(wildcards), spec(wildcards), said(wildcards), attempt)

    return ask
