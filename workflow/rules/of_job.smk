"""Functions for the rules: inputs, command and resources of a planned job, files of a target."""

import shlex
from functools import cache, cached_property

from snakemake_interface_executor_plugins.settings import DeploymentMethod


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
        prefix += f"{checksum.OFF}=1 "  # a job's files are temporary copies
    return f"{prefix}{python} -m shiftbench"


PACKAGE = package()


@cache
def requests():
    """Return the requests of jobs on a cluster; the forecast is imported on first use."""
    from shiftbench.forecast import plan, resource_requests

    known = cache(plan.estimator) if IS_MAIN else None
    return resource_requests.Asked(known, RESULTS)


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
                file = spec_code.write(spec, folder)
        users = map(os.path.relpath, components.users().values())
        words = self.job.words(file, RESULTS / "scratch", RAW, users)
        return f"{PACKAGE} {shlex.join(words)}"


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
