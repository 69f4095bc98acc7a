"""The verb that runs the workflow on a cluster."""

from __future__ import annotations

import argparse
import hashlib
import shutil
from pathlib import Path

from shiftbench.core import checkout
from shiftbench.core.errors import UserError

PROFILE = checkout.HOME / "profiles" / "slurm"


def cluster(options: argparse.Namespace) -> int:
    """Run the workflow on a Slurm cluster, until it is done; takes over jobs in the queue."""
    from shiftbench.cli import repair
    from shiftbench.config import config_file, jobs
    from shiftbench.runtime.cluster import limits, supervisor

    if not shutil.which("sbatch"):
        raise UserError("no sbatch here: start it where Slurm's commands are, on a login node")
    plan = config_file.load(options.config)
    limits.refuse_beyond(plan, options.profile / "config.yaml")
    results = Path("results") / options.config.stem
    planned = jobs.of_config(plan, results, options.config.stem)
    command = [
        "--snakefile", str(checkout.SNAKEFILE), "--configfile", str(options.config),
        "--workflow-profile", str(options.profile), "--slurm-pass-command-as-script",
    ]  # fmt: skip

    def start(words: list[str]) -> int:
        return supervisor.run([*command, *words], _name(options.config))

    status = repair.run(planned, results, options, start)
    runs = [Path(job.outputs[0]) for job in planned if job.rule == "run_method"]
    done = sum(path.is_file() for path in runs)
    print(
        f"{done} of {len(runs)} runs are done, {len(runs) - done} are not;"
        f" logs: {results}/logs and .snakemake/slurm_logs"
    )
    return status


def _name(config: Path) -> str:
    """Return the name of the jobs of a config in this folder."""
    place = f"{Path.cwd()}\n{config.resolve()}"
    return f"shiftbench-{hashlib.sha256(place.encode()).hexdigest()[:8]}"
