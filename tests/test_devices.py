"""GPUs are hidden from jobs that do not ask for one; others get one, or an error message.

Where there is no GPU, a fake driver replaces that of CUDA.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shiftbench.cli import device_choice, training
from shiftbench.core import devices
from shiftbench.core.errors import UserError
from shiftbench.evaluation.running.cost import Meter

DRIVER = """\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int cuInit(unsigned flags) {
    FILE *file = fopen(getenv("CALLS"), "a");
    fputs("cuInit ", file);
    return fclose(file);
}
int cuDeviceGetCount(int *count) {
    char *visible = getenv("CUDA_VISIBLE_DEVICES");
    *count = !visible || strcmp(visible, "-1");
    return 0;
}
int cuDeviceGet(int *device, int number) { return *device = number; }
int cuDeviceGetName(char *name, int size, int device) {
    strncpy(name, "Pretended GPU", size);
    return device;
}
"""
compiler = shutil.which("cc")
compiled = pytest.mark.skipif(not compiler, reason="no C compiler, which makes the driver")


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return an environment in which processes find the driver, which logs its calls to CALLS."""
    folder = tmp_path_factory.mktemp("driver")
    (folder / "cuda.c").write_text(DRIVER)
    command = [compiler or "cc", "-shared", "-fPIC", "-o", "libcuda.so.1", "cuda.c"]
    subprocess.run(command, cwd=folder, check=True)
    others = {k: v for k, v in os.environ.items() if k not in (devices.VISIBLE, devices.BEFORE)}
    return others | {"LD_LIBRARY_PATH": str(folder), "CALLS": str(folder / "calls")}


@pytest.fixture(autouse=True)
def same_afterwards(monkeypatch: pytest.MonkeyPatch):
    """Run the test in an environment without settings of GPUs, and restore it."""
    monkeypatch.setattr(os, "environ", os.environ.copy())
    for name in (devices.VISIBLE, devices.BEFORE, *devices.SETTINGS):
        os.environ.pop(name, None)
    yield
    devices.choose("cpu")


def python(code: str, environment: dict[str, str]) -> str:
    """Return the output of the code in a separate process."""
    command = [sys.executable, "-c", code]
    return subprocess.check_output(command, env=environment, text=True).strip()


@pytest.mark.parametrize("given", [None, "2,3", "", "-1"])
def test_choosing_the_gpu_shows_again_what_was_hidden(given: str | None) -> None:
    if given is not None:
        os.environ[devices.VISIBLE] = given
    for _ in range(2):  # the second time as in a job that a process which hides GPUs has started
        devices.choose("cpu")
        assert os.environ[devices.VISIBLE] in ("", devices.HIDDEN)
    devices.choose("gpu")
    assert os.environ.get(devices.VISIBLE) == given
    assert os.environ["NVIDIA_TF32_OVERRIDE"] == "0"


def test_what_a_scheduler_gives_to_a_job_is_not_undone() -> None:
    devices.choose("cpu")  # the process that submits
    os.environ[devices.VISIBLE] = "1"  # the scheduler
    devices.choose("gpu")
    assert os.environ[devices.VISIBLE] == "1"


def test_a_program_sees_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    from shiftbench import __main__ as program
    from shiftbench.cli import main

    monkeypatch.setattr(main, "main", lambda _: int(os.environ[devices.VISIBLE] != "-1"))
    os.environ[devices.VISIBLE] = "0"
    assert program.main(["list", "methods"]) == 0


def test_a_run_that_asks_in_vain_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "names", list)
    with pytest.raises(UserError, match=r"asks for a GPU .* has none for it: give the job one"):
        device_choice.take({"device": "gpu", "stack": "tensorflow"})
    monkeypatch.setattr(devices, "names", lambda: ["Pretended GPU"])
    monkeypatch.setattr(device_choice, "_seen_by_tensorflow", lambda: False)
    with pytest.raises(UserError, match=r"\(Pretended GPU\): install CUDA's libraries"):
        device_choice.take({"device": "gpu", "stack": "tensorflow"})
    device_choice.take({"device": "gpu", "stack": "light"})
    assert devices.record() == {"device": "gpu", "gpu": "Pretended GPU"}
    device_choice.take({"stack": "tensorflow"})
    assert devices.record() == {"device": "cpu"}


def test_the_cost_of_a_run_says_its_device(tmp_path: Path) -> None:
    training._write_cost(tmp_path / "cost.json", Meter().reading(), "now")
    told = json.loads((tmp_path / "cost.json").read_text())
    assert told["device"] == "cpu" and told["processor"] and "gpu" not in told


@compiled
def test_a_gpu_is_seen_only_where_it_was_asked_for(driver: dict[str, str]) -> None:
    code = "from shiftbench.core import devices as d; "
    code += "print(d.names()); d.choose('{}'); print(d.names())"
    assert python(code.format("gpu"), driver) == "['Pretended GPU']\n['Pretended GPU']"
    assert python(code.format("cpu"), driver) == "['Pretended GPU']\n[]"


@pytest.mark.long
@compiled
def test_importing_tensorflow_leaves_cuda_alone(driver: dict[str, str]) -> None:
    """A child of the fork server can use a GPU only if its parent does not use one."""
    Path(driver["CALLS"]).unlink(missing_ok=True)
    code = "import shiftbench, os, tensorflow as tf; print(os.path.exists(os.environ['CALLS']));"
    code += "tf.config.list_physical_devices('GPU'); print(os.path.exists(os.environ['CALLS']))"
    assert python(code, driver).split() == ["False", "True"]
