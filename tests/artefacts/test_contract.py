"""What every artefact and every metric keeps to."""

from __future__ import annotations

import pytest

from shiftbench.planning import components, digest


@pytest.mark.parametrize("name", components.names("artefacts"))
def test_an_artefact_declares_its_kind_and_never_imports_tensorflow(name):
    module = components.load("artefacts", name)
    maker = {"figure": "draw", "table": "tabulate"}[components.constant("artefacts", name, "KIND")]
    assert callable(getattr(module, maker))
    assert callable(module.caption)
    readers = [components.module_name("streams", stream) for stream in components.names("streams")]
    for needed in (components.module_name("artefacts", name), *readers):
        assert not digest.imports(needed, "tensorflow")


@pytest.mark.parametrize("name", components.names("metrics"))
def test_a_metric_declares_stage_unit_and_direction(name):
    assert components.constant("metrics", name, "STAGE") in ("before", "after", "run")
    assert isinstance(components.constant("metrics", name, "UNIT"), str)
    # None: neither is better, as for a bound.
    assert components.constant("metrics", name, "HIGHER_IS_BETTER") in (True, False, None)
    assert components.summary("metrics", name).endswith(".")
