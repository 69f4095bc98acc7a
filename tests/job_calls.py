"""Run the jobs of a config in this process, as the workflow's rules would."""

from __future__ import annotations

from pathlib import Path

from shiftbench.cli import main
from shiftbench.config import components, config_file, jobs, spec_code
from shiftbench.config.job import Job


def planned(config: Path, results: Path | str) -> dict[tuple[str, ...], Job]:
    """Return the jobs of a config by rule and wildcards, in an order in which they can run."""
    plan = config_file.load(config)
    return {job.key: job for job in jobs.of_config(plan, results, Path(config).stem)}


def arguments(job: Job, folder: Path) -> list[str]:
    """Return the arguments of a job, and write its spec to a folder."""
    file = spec_code.write(job.spec, folder)
    users = [str(path) for name, path in components.packages().items() if name != components.OURS]
    return [
        *("job", str(file), "--components", *users, *job.options),
        *("--input", *job.inputs, "--output", *job.outputs),
    ]  # fmt: skip


def make(config: Path, results: Path, *rules: str) -> None:
    """Run the jobs of a config that belong to the given rules, or all jobs."""
    for job in planned(config, results).values():
        if job.rule in rules or not rules:
            scratch = ["--scratch", str(results / "scratch"), "--raw", "raw"]
            assert main.main([*arguments(job, results / "specs"), *scratch]) == 0
