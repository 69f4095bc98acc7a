"""Steps before the first job: the lock, checks of the results, and the forecast."""

from snakemake.logging import logger

if not workflow.output_settings.dryrun:
    if MODULE:
        module_config.write(config, CONFIG_FILE)
    elif IS_MAIN:  # no job of a cluster takes a lock
        stale_lock.enter(Path(".snakemake"), logger.warning)


def refuse_unwritable_results():
    """Stop with a message where results could not be written, before any job is planned."""
    is_local = not workflow.storage_settings.default_storage_provider
    if IS_MAIN and is_local and not (MODULE or workflow.output_settings.dryrun):
        try:
            file_errors.refuse_no_folder(RESULTS)
        except UserError as error:
            raise WorkflowError(str(error)) from None


refuse_unwritable_results()


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
