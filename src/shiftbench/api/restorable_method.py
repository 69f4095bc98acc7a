"""A method whose state can be pickled, copied, saved and restored."""

from __future__ import annotations

import copy
import json
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from shiftbench.api import _own_components, learners, saved_methods
from shiftbench.api.arguments import whole
from shiftbench.api.definition import Definition, restored
from shiftbench.api.inputs import Inputs
from shiftbench.api.learners import Form
from shiftbench.api.recorded_changes import RecordedChanges
from shiftbench.api.steps import Steps
from shiftbench.api.targets import Labels, Values
from shiftbench.core import seeds as seeding
from shiftbench.evaluation.scoring import alarms


class RestorableMethod:
    """The base of `OnlineMethod`: what it was made of, and what it has learnt so far."""

    def __init__(
        self,
        definition: Definition,
        *,
        classes: Sequence[Hashable] | int | None = None,
        tasks: int | None = None,
        seed: int = 0,
        key: tuple[str, ...] = ("python", "rows"),
    ) -> None:
        """key: words that go into the random seeds, with the method's name and the seed."""
        self._definition, self._seed = definition, whole("seed", seed)
        self._tasks = None if tasks is None else whole("tasks", tasks, least=1)
        self._key = (*key, definition.name) if len(key) == 2 else key
        self._labels = None if classes is None else Labels(classes)
        self._all_classes = bool(self._labels and self._labels.known)
        self._reset()

    def _reset(self) -> None:
        """Forget all rows."""
        self._by_rows = not self._definition.trains_network
        recent = (alarms.ROWS if self._by_rows else alarms.TASKS).recent
        self._recorded = RecordedChanges(recent)
        self._inputs: Inputs | None = None
        self._targets: Values | Labels | None = self._labels
        self._form: Form | None = None

    def _begin(self, inputs: Inputs, y: Any, rows: int) -> None:
        """Build the learner for rows such as the first; nothing remains where that fails."""
        targets = self._labels or Values.like(y)
        outputs = targets.most if isinstance(targets, Labels) else targets.size
        form = Form(inputs.shape, outputs, isinstance(targets, Labels), rows)
        self._build(inputs, targets, form)

    def _build(self, inputs: Inputs, targets: Values | Labels, form: Form) -> None:
        with _own_components.known(self._definition.own):
            self._built = learners.built(self._definition, form, self._tasks)
        seeds = seeding.block([self._seed], *self._key)
        self._steps = Steps(self._built.learner, seeds)
        self._inputs, self._targets, self._form = inputs, targets, form

    @contextmanager
    def _undone_if_refused(self) -> Iterator[None]:
        """Forget the form and the labels that a refused call brought, if it learnt no task."""
        tasks, labels = self._tasks_done(), len(self._labels.known) if self._labels else 0
        try:
            yield
        except Exception:
            if self._tasks_done() == tasks:
                if self._labels:
                    self._labels.forget(labels)
                if not tasks:
                    self._reset()
            raise

    def _tasks_done(self) -> int:
        return self._steps.done if self._form else 0

    def _before_rows(self) -> dict[str, Any]:
        """Return what the method was made of and its classes so far, as values for JSON."""
        name, pipeline, model = self._definition[:3]
        method = {
            "name": name,
            "pipeline": pipeline,
            "network": model,
            "seed": self._seed,
            "tasks": self._tasks,
            "key": self._key,
            "number of classes": self._labels and self._labels.most,
        }
        return {
            "method": json.loads(json.dumps(method)),
            "classes": self._labels.plain if self._labels else [],
            "all_classes": self._all_classes,
        }

    def __getstate__(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return all that makes the method, as values for JSON and arrays."""
        meta = self._before_rows() | {"components": [str(one) for one in self._definition.own]}
        if self._form is None:
            return meta, {}
        assert self._inputs is not None
        single = isinstance(self._targets, Values) and self._targets.single
        meta |= {"form": self._form, "names": self._inputs.names, "single": single}
        meta |= {"done": self._steps.done}
        arrays = {f"state.{key}": array for key, array in self._steps.state.items()}
        arrays |= {f"changes.{k}": a for k, a in self._recorded.arrays().items()}
        return meta, arrays

    def __setstate__(self, state: tuple[dict[str, Any], dict[str, np.ndarray]]) -> None:
        """Become what `__getstate__` described."""
        meta, arrays = copy.deepcopy(state)
        mine = meta["method"]
        pipeline = [(name, settings) for name, settings in mine["pipeline"]]
        model = None if mine["network"] is None else (mine["network"][0], mine["network"][1])
        own = tuple(Path(folder) for folder in meta.get("components", ()))
        self._definition = restored(mine["name"], pipeline, model, own)
        self._tasks, self._seed, self._key = mine["tasks"], mine["seed"], tuple(mine["key"])
        most = mine["number of classes"]
        self._labels = None if most is None else Labels(most)
        self._all_classes = meta["all_classes"]
        for label in meta["classes"]:
            assert self._labels is not None
            self._labels.number(label)
        self._reset()
        if "form" not in meta:
            return
        shape, outputs, classes, rows = meta["form"]
        inputs = Inputs(tuple(shape), meta["names"])
        targets = self._labels or Values(outputs, meta["single"])
        self._build(inputs, targets, Form(tuple(shape), outputs, classes, rows))
        of_state = {k.removeprefix("state."): a for k, a in arrays.items() if k[:6] == "state."}
        saved_methods.refuse_unlike(of_state, self._steps.state)
        self._steps.restore(of_state, meta["done"])
        kept = {k.removeprefix("changes."): a for k, a in arrays.items() if k[:8] == "changes."}
        self._recorded.restore(kept)
