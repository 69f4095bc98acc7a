"""`device`: which components ask for a GPU, the resulting jobs, and unaffected other runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from shiftbench.config import config_file, device_checks, shared_warm_ups, specs
from shiftbench.core.errors import UserError

CONFIG = """\
streams:
  images: {family: transformed-images, dataset: digits}
studies:
  some:
    title: Some
    streams: [images]
    model: mlp
    seeds: 2
    metrics: [accuracy]
    methods:
      vcl: {from: vcl}
      again: {from: vcl, mfvi.epochs: 3}
      plain: [bayes-linear]
"""


def load(folder: Path, *changes: tuple[str, str]) -> config_file.Config:
    text = CONFIG
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "some.yaml").write_text(text)
    return config_file.load(folder / "some.yaml")


def spec(plan: config_file.Config, method: str) -> specs.Spec:
    return specs.run(plan, "some", "images", method, (0, 1))


def refused(path: Path) -> str:
    """Return the error message of an invalid config."""
    with pytest.raises(UserError) as caught:
        config_file.load(path)
    return str(caught.value)


OF_STUDY = ("seeds: 2", "seeds: 2\n    device: gpu")
OF_METHOD = ("vcl: {from: vcl}", "vcl: {from: vcl, device: gpu}")
NO_NETWORK = ("      plain: [bayes-linear]\n", "")


def test_no_word_of_a_device_is_the_processor_and_in_no_spec(tmp_path) -> None:
    plain = load(tmp_path, NO_NETWORK)
    told = load(tmp_path, NO_NETWORK, ("seeds: 2", "seeds: 2\n    device: cpu"))
    assert spec(plain, "vcl") == spec(told, "vcl")
    assert "device" not in spec(plain, "vcl")


def test_a_run_on_a_gpu_is_another_run_with_the_versions_of_cuda(tmp_path) -> None:
    on_processor, on_gpu = load(tmp_path, NO_NETWORK), load(tmp_path, NO_NETWORK, OF_STUDY)
    before, after = spec(on_processor, "vcl"), spec(on_gpu, "vcl")
    new = {key for key in after if after[key] != before.get(key)}
    assert new == {"device", "cuda", "digest"}
    assert after["device"] == "gpu"
    assert "nvidia-cudnn-cu12" in after["cuda"]


def test_one_method_alone_asks_for_a_gpu(tmp_path) -> None:
    plan = load(tmp_path, NO_NETWORK, OF_METHOD)
    study = plan.studies["some"]
    assert {name: device_checks.of_run(study, name) for name in study.methods} == {
        "vcl": "gpu",
        "again": "cpu",
    }
    assert spec(plan, "again") == spec(load(tmp_path, NO_NETWORK), "again")


def test_methods_that_cannot_share_a_gpus_warm_up_do_not(tmp_path) -> None:
    plan = load(tmp_path, NO_NETWORK, OF_METHOD, (", mfvi.epochs: 3", ""))
    names = shared_warm_ups.of_study(plan, "some", "images")
    assert [name.endswith("-gpu") for name in names] == [True, False]
    warm_ups = [specs.warm_up(plan, "some", "images", name, (0, 1)) for name in names]
    assert [one.get("device") for one in warm_ups] == ["gpu", None]


def test_a_gpu_of_a_study_is_for_those_that_can_use_it(tmp_path) -> None:
    plan = load(tmp_path, OF_STUDY, ("plain: [bayes-linear]", "plain: [reset, map]"))
    assert device_checks.of_run(plan.studies["some"], "plain") == "gpu"
    text = CONFIG.replace(*OF_STUDY).replace("transformed-images, dataset: digits", "toy-step")
    text = text.replace("accuracy", "log_predictive").replace("    model: mlp\n", "")
    lines = [line for line in text.splitlines() if "vcl" not in line]
    path = tmp_path / "toy.yaml"
    path.write_text("\n".join(lines).replace("bayes-linear", "gaussian-mean"))
    assert "line 8, studies.some.device: only what imports" in refused(path)


def test_a_method_that_has_no_use_for_a_gpu_is_refused(tmp_path) -> None:
    path = tmp_path / "toy.yaml"
    path.write_text(
        "studies:\n"
        "  toy:\n"
        "    title: Steps\n"
        "    streams: {steps: {family: toy-step, points: 6}}\n"
        "    seeds: 1\n"
        "    metrics: [log_predictive]\n"
        "    methods: {vbs-toy: {device: gpu}}\n"
    )
    assert "line 7, studies.toy.methods.vbs-toy.device: only what imports" in refused(path)
