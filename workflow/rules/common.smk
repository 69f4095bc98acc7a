"""Settings and functions for all rules: the checked config, the list of its jobs, and paths.

No TensorFlow here: on a cluster every job reads these files.
"""

import os
import sys
from contextlib import contextmanager
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake_interface_executor_plugins.settings import ExecMode

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
        spec_code,
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


pathvars:
    bench=f"<results>/{CONFIG_FILE.stem}",
    logs="<bench>/logs",


# Snakemake knows what a pathvar of a module stands for only while it reads the rules.
RESULTS = Path(place("<bench>"))


@contextmanager
def files_can_be_written():
    """Run a block that writes into the results; WorkflowError with place and remedy if it fails."""
    try:
        yield
    except OSError as error:
        raise WorkflowError(file_errors.message(error, RESULTS)) from None


wildcard_constraints:
    dataset=r"[a-z0-9-]+",
    study="|".join(CONFIG.studies),
    stream="|".join(CONFIG.streams),
    method=r"[a-z0-9-]+",
    name=r"[a-z0-9-]+",
    first=r"\d+",
    last=r"\d+",
