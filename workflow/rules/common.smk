"""Code that the rules share: the checked config, the list of its jobs, and helper functions.

No TensorFlow here: on a cluster every job reads these files.
"""

import os
import shlex
import sys
from contextlib import contextmanager
from functools import cache, cached_property
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
        jobs,
        module_config,
        spec_files,
        specs,
    )
    from shiftbench.core import checkout, file_errors
    from shiftbench.core.errors import UserError
    from shiftbench.data.store import checksum, raw
    from shiftbench.runtime import stale_lock
except ModuleNotFoundError as error:
    raise WorkflowError(
        f"{error}; install shiftbench for {sys.executable}: pip install CHECKOUT"
    ) from None
finally:
    sys.path.pop(0)
    os.environ.clear()
    os.environ.update(ENVIRONMENT)

# The name under which another workflow uses this one as a module; it then gives the config, too.
MODULE = workflow.modifier.namespace


def place(path):
    """Return a path that is in no rule, with the module's prefix if this workflow is a module."""
    return workflow.pathvars.apply(workflow.modifier.modify_path(path))


def chosen_config():
    """Return the config file: as a module the file that the parent gives, else --configfile."""
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


IS_MAIN = workflow.exec_mode == ExecMode.DEFAULT
CONFIG_FILE = chosen_config()
CONFIG = checked_config()
RAW = place("data/raw")
# The pathvar stands for the folder of the results, which a parent workflow may have moved.
JOBS = {
    job.key: job
    for job in jobs.of_config(CONFIG, "<bench>", CONFIG_FILE.stem, Path(RAW))
}

if not workflow.output_settings.dryrun:
    if MODULE:
        module_config.write(config, CONFIG_FILE)
    elif IS_MAIN:  # no job of a cluster takes a lock
        stale_lock.enter(Path(".snakemake"), logger.warning)


def package():
    """Return the command that calls this package, from any folder."""
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


# The manifest lets a later plan name the function or package that has changed. Snakemake's limit of
# 100 jobs a second is lifted. In 9.27, each search for the next job sets a timer for another search,
# and each job that ends starts one more such chain. After some hundred jobs, these searches take half
# a processor.
onstart:
    from shiftbench.forecast import digest_manifest

    refuse_damaged()
    with files_can_be_written():
        digest_manifest.write(RESULTS)
        requests().keep()
    limit = workflow.scheduling_settings.max_jobs_per_timespan
    if (limit.max_jobs, limit.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None
    if "shiftbench" in workflow.output_settings.log_handler_settings:
        say_what_is_to_do()


PACKAGE = package()
# Snakemake knows what a pathvar of a module stands for only while it reads the rules.
RESULTS = Path(place("<bench>"))


@cache
def requests():
    """Return the requests of jobs on a cluster; the forecast is imported on first use."""
    from shiftbench.forecast import plan, resource_requests

    known = cache(plan.estimator) if IS_MAIN else None
    return resource_requests.Asked(known, RESULTS)


@contextmanager
def files_can_be_written():
    """Run a block that writes into the results; WorkflowError with place and remedy if it fails."""
    try:
        yield
    except OSError as error:
        raise WorkflowError(file_errors.message(error, RESULTS)) from None


def refuse_unwritable_results():
    """Stop with a message where results could not be written, before any job is planned."""
    is_local = not workflow.storage_settings.default_storage_provider
    if IS_MAIN and is_local and not (MODULE or workflow.output_settings.dryrun):
        try:
            file_errors.refuse_no_folder(RESULTS)
        except UserError as error:
            raise WorkflowError(str(error)) from None


refuse_unwritable_results()


class Call:
    """The command line of a job, which does not affect its result.

    Snakemake keeps no record of a param of this type, so that nothing runs again when a checkout
    has moved.
    """

    def __init__(self, job):
        self.job = job

    @cached_property
    def call(self):
        """Return the command up to the files, and write the spec file that the job will read.

        It is asked for by the main process before the job runs, and again on a node that starts
        Snakemake, where the folder of the results may be another one.
        """
        spec = self.job.spec
        folder = RESULTS / "specs"
        if workflow.output_settings.dryrun:
            file = spec_files.path(folder, spec)
        else:
            with files_can_be_written():
                file = specs.write(spec, folder)
        users = map(os.path.relpath, components.users().values())
        words = self.job.words(file, RESULTS / "scratch", RAW, users)
        return f"{PACKAGE} {shlex.join(words)}"


wildcard_constraints:
    dataset=r"[a-z0-9-]+",
    study="|".join(CONFIG.studies),
    stream="|".join(CONFIG.streams),
    method=r"[a-z0-9-]+",
    name=r"[a-z0-9-]+",
    first=r"\d+",
    last=r"\d+",


def say_what_is_to_do():
    """Give the logger plugin of `shiftbench run` the forecast that it shows progress with."""
    from shiftbench.forecast import plan, progress

    numbers = {
        job.jobid: JOBS.get((job.rule.name, *job.wildcards))
        for job in workflow.dag.needrun_jobs()
    }
    to_do = {number: job for number, job in numbers.items() if job}
    expected = progress.of_jobs(to_do, CONFIG.studies, plan.estimator())
    cores = workflow.resource_settings.cores or os.cpu_count()
    first = {
        study: file.replace("<bench>", str(RESULTS), 1)
        for study, file in progress.first_results(JOBS.values()).items()
    }
    made = progress.Progress(expected, cores, first)
    logger.info(
        f"{made.total} jobs, forecast to take {made.seconds_left():.0f} s",
        extra={"shiftbench_progress": made},
    )


def refuse_damaged():
    """Stop before any job, if one would read a file that was changed since another made it.

    The job itself would refuse it too late, after Snakemake has deleted its outputs.
    """
    from shiftbench.forecast import lost_files

    to_do = list(workflow.dag.needrun_jobs())
    made = {str(file) for job in to_do for file in job.output}
    read = {str(file) for job in to_do for file in job.input}
    try:
        lost_files.refuse_damaged(sorted(read - made), RESULTS)
    except UserError as error:
        raise WorkflowError(str(error)) from None


def planned(wildcards, rule):
    """Return the job of a rule with these wildcards."""
    try:
        return JOBS[rule, *wildcards]
    except KeyError:
        job = " for ".join(filter(None, [rule, " ".join(wildcards)]))
        raise WorkflowError(
            f"{CONFIG_FILE} plans no job {job}. Ask for a target of this config, or choose another"
            " config with --configfile."
        ) from None


def of_job(rule, field):
    """Return a function from wildcards to a field of the job."""
    return lambda wildcards: getattr(planned(wildcards, rule), field)


def inputs(rule):
    """Return a function from wildcards to the inputs; no module prefix moves user's files."""

    def listed(wildcards):
        job = planned(wildcards, rule)
        return [local(file) if file in job.user_files else file for file in job.inputs]

    return listed


def called(rule):
    """Return a function from wildcards to the call of the job."""
    return lambda wildcards: Call(planned(wildcards, rule))


def asked(rule, key):
    """Return a function from wildcards to the minutes or memory_mb that a job requests.

    With retries, a training job requests what such jobs took before, because a limit that is too
    low only costs a retry. Without retries, it requests the resources of the study.
    """

    def ask(wildcards, attempt):
        job, settings = planned(wildcards, rule), workflow.execution_settings
        if IS_MAIN and not (settings and settings.retries):
            return getattr(job.resources, key)
        known = getattr(requests(), key)
        return known(" ".join(wildcards), job.spec, job.resources, attempt)

    return ask


def resource(rule, key):
    """Return a function from wildcards to a resource of the job."""
    return lambda wildcards: getattr(planned(wildcards, rule).resources, key)


def wanted(study):
    """Return all outputs of a study, and of its trials if it is tuned.

    Stores are listed by name, because Snakemake does not notice that an intermediate file is
    missing as long as the files made from it exist. That happens after a rerun that was killed
    when it had deleted the old store.
    """
    names = {study, study + jobs.TRIALS}
    plans = [plan for name, plan in CONFIG.studies.items() if name in names]
    streams = {stream for plan in plans for stream in plan.streams}
    return [
        file
        for job in JOBS.values()
        if job.is_of(names, streams)
        for file in job.wanted
    ]


def all_results():
    return [file for job in JOBS.values() for file in job.wanted]


def wildcard_of(rule):
    """Return a pattern of the last wildcard of the jobs of a rule."""
    values = {job.wildcards[-1] for job in JOBS.values() if job.rule == rule}
    return "|".join(sorted(values)) or "(?!)"


def fetched_datasets():
    """Return a pattern of the data sets that can be fetched; others are put there by hand."""
    return "|".join(name for name, dataset in raw.table().items() if dataset.files)


def dataset_priority(wildcards):
    job = JOBS.get(("fetch_raw_file", *wildcards))
    return job.priority if job else 0  # of a file that no study of the config needs
