"""Contract of metrics and artefacts; the first line of each test is shown to users."""

from __future__ import annotations

import pytest

from shiftbench.config import components, digest, user_components
from shiftbench.contract import selection

KIND = "metrics"
"""Of tests that have a name alone."""
CASES = [(kind, name) for kind in ("metrics", "artefacts") for name in selection.names(kind)]
every_one = pytest.mark.parametrize("case", CASES, ids="-".join)


@every_one
def test_it_is_imported_and_has_what_its_kind_needs(case):
    """It can be imported, and has the functions that its kind needs."""
    kind, name = case
    if kind == "metrics":
        assert callable(components.load_metric(name).score)
    module = components.load(*case)
    needed = user_components.functions(*case)
    assert not [name for name in needed if not callable(getattr(module, name, None))]


@every_one
def test_it_never_imports_tensorflow(case):
    """Nothing that it imports needs TensorFlow: it is made in jobs that do not have it."""
    assert not digest.imports(components.module_name(*case), "tensorflow")


@every_one
def test_it_has_a_summary(case):
    """The first line of its docstring is a sentence that says what it is."""
    assert components.summary(*case).endswith(".")


@pytest.mark.parametrize("name", selection.names("metrics"))
def test_the_unit_is_a_text(name):
    """Its unit is a text, such as fraction or nats."""
    assert isinstance(components.metric(name).unit, str)
