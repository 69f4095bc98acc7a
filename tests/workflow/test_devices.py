"""A run on a GPU requests one from the scheduler, and no other job does."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from snakemake_executor_plugin_slurm.utils import set_gres_string

from tests import forked
from tests.workflow import copies

CONFIG = """\
methods:
  vcl: {label: VCL, cite: [nguyen2018vcl], summary: A network, pipeline: [mfvi]}
studies:
  some:
    title: Some
    streams: {images: {family: transformed-images, dataset: digits}}
    model: mlp
    seeds: 2
    metrics: [accuracy]
    methods:
      on-gpu: {from: vcl, device: gpu}
      on-processor: {from: vcl}
"""


@pytest.mark.long
def test_slurm_is_asked_for_a_gpu_for_the_runs_that_want_one(tmp_path) -> None:
    folder = copies.repository(tmp_path / "copy", CONFIG)
    rules = folder / "workflow/rules/run.smk"
    # Snakemake shows jobs with a message without their resources.
    rules.write_text(re.sub(r" +message:\n.*\n", "", rules.read_text()))
    options = ("--profile", "profiles/slurm", "--dry-run", "--quiet", "host")
    arguments = (*options, "--configfile", "config/mine.yaml")
    done = forked.python("snakemake", *arguments, cwd=folder, source=folder / "src")
    assert done.returncode == 0, done.stdout
    shown = re.findall(
        r"output: \S*?((?:runs|warm-ups)/\S+).*?resources: (.*?)\n", done.stdout, re.DOTALL
    )
    asking = {made: "gpu=1" in resources for made, resources in shown}
    on_gpu = {made for made in asking if "-gpu/" in made}
    assert len(asking) == 4 and len(on_gpu) == 2, done.stdout
    assert asking == {made: made in on_gpu for made in asking}


def test_what_the_plugin_makes_of_it() -> None:
    with_one, without = (SimpleNamespace(resources={"gpu": 1}), SimpleNamespace(resources={}))
    assert set_gres_string(with_one) == " --gpus=1"
    assert set_gres_string(without) == ""
