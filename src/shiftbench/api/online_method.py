"""A method of the library, or a pipeline, that learns from rows as they come."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from shiftbench.api import saved_methods
from shiftbench.api.arguments import file_path, length, mapping, whole
from shiftbench.api.definition import defined
from shiftbench.api.input_error import InputError
from shiftbench.api.inputs import Inputs
from shiftbench.api.prediction import Prediction, moments, probabilities
from shiftbench.api.recorded_changes import Alarm
from shiftbench.api.restorable_method import RestorableMethod
from shiftbench.api.targets import Values, is_missing
from shiftbench.core.interface import Batch, Categorical, Predictive, State

MOST_ROWS = 10**9
"""Rows of a prediction."""


def method(
    name: str | Sequence[Any],
    *,
    settings: Mapping[str, Any] | None = None,
    model: Any = None,
    classes: Sequence[Hashable] | int | None = None,
    tasks: int | None = None,
    seed: int = 0,
    components: str | Path | Sequence[str | Path] | None = None,
    **named: Any,
) -> OnlineMethod:
    """Return a method that learns from rows as they come.

    Parameters
    ----------
    name
        A method of the library (``shiftbench list methods``), or a pipeline as in a config:
        combinators from the outermost inwards, and a learner last.
    settings
        Settings by ``"component.setting"``, where several components have one of that name.
    model
        The network of methods that train one, such as ``{"mlp": {"hidden": [50]}}``.
    classes
        For labels: all of them, in the order of the probabilities, or how many there are at most;
        labels are then ordered as they appear. None: targets are real values.
    tasks
        The number of tasks to come, at most. Only some methods need it: those with a memory of
        earlier rows, or a step size that depends on it.
    seed
        Number of the repetition. Methods with random draws give other results for another seed.
    components
        A folder with components of yours, or several, as in a config. Edits to their files take
        effect at the next call.
    **named
        Settings by their name, which one component of the method has: ``noise_sd=2.0``.

    Returns
    -------
    OnlineMethod

    Raises
    ------
    ValueError
        If a name or a setting is unknown or wrong, or if the method needs information that rows do
        not have, such as the times of changes. The message has the remedy.

    Examples
    --------
    >>> import shiftbench as sb
    >>> m = sb.method("vbs-linear", noise_sd=2.0)
    >>> for t in range(20):
    ...     m.learn_one({"x": t % 5}, 3.0 * (t % 5))
    >>> round(m.predict_one({"x": 2}).mean)
    6
    """
    definition = defined(name, named, mapping("settings", settings), model, components)
    return OnlineMethod(definition, classes=classes, tasks=tasks, seed=seed)


class OnlineMethod(RestorableMethod):
    """A method that learns from rows as they come; made by `shiftbench.method`.

    The first row sets the form of all others. Inputs are taken as they are: nothing is
    standardised. A method with a network learns by *tasks*: each call of `learn_many` is one, and
    the distribution may change between two of them. Every other method learns by rows, each of
    which is a task; `learn_many` then gives what `learn_one` gives row by row, to the byte.

    Attributes
    ----------
    learns_by : {"rows", "tasks"}
        What one task is.
    tasks_done : int
        The number of tasks learnt so far.
    """

    @property
    def learns_by(self) -> str:
        """``"rows"`` where each row is a task, ``"tasks"`` where each call of `learn_many` is."""
        return "rows" if self._by_rows else "tasks"

    @property
    def tasks_done(self) -> int:
        """The number of tasks learnt so far."""
        return self._tasks_done()

    @property
    def classes(self) -> list[Hashable]:
        """The labels so far, in the order of probabilities; empty for real targets."""
        return self._labels.plain if self._labels else []

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the inputs, in the order of the first row; None before it, or without."""
        return self._inputs.names if self._inputs else None

    def __repr__(self) -> str:
        """Return the method's name, and how much it has learnt."""
        return f"<OnlineMethod {self._definition.label}, tasks_done={self.tasks_done}>"

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn one row, which is a task.

        Parameters
        ----------
        x
            Inputs: a mapping of names to numbers, or an array; None for a series without inputs.
            Several targets need a design matrix, [targets, regressors].
        y
            The target: a number, an array of several, or a label. A row whose target is missing
            (None or NaN) is left out, as if it had not come.

        Raises
        ------
        ValueError
            Where the row has another form than the first one, or the method does not fit such
            rows. Nothing is learnt then.
        """
        with self._undone_if_refused():
            if self._form is None:
                if is_missing(y):
                    return
                self._begin(Inputs.of_row(x), y, rows=1)
            assert self._inputs is not None and self._targets is not None
            rows = self._built.inputs(self._inputs.row(x)[None])
            self._learn(rows, *self._targets.rows([y]))

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn several rows: each is a task, or all are one task; see `learns_by`.

        Parameters
        ----------
        X
            Inputs: a DataFrame or an array [n, ...]; None for a series without inputs.
        y
            Targets: n numbers, n labels, or an array [n, d]; NaN or None where one is missing.

        Raises
        ------
        ValueError
            As `learn_one`. Where a form is wrong, no row is learnt; where the method fails, those
            before the row.
        """
        size = length("y", y)
        if size == 0:
            return
        with self._undone_if_refused():
            if self._form is None:
                first = next((one for one in np.asarray(y, object) if not is_missing(one)), None)
                if first is None:
                    return
                rows = 1 if self.learns_by == "rows" else size
                self._begin(Inputs.of_rows(X), first, rows)
            assert self._inputs is not None and self._targets is not None
            inputs = self._built.inputs(self._inputs.rows(X, size))
            self._learn(inputs, *self._targets.rows(y))

    def predict_one(self, x: Any = None) -> Prediction | dict[Hashable, float]:
        """Predict the target of a row of the next task.

        Parameters
        ----------
        x
            Inputs, as in `learn_one`.

        Returns
        -------
        Prediction or dict
            Mean and standard deviation of real targets; of labels the probability of each so far.
            A method that predicts a score of two classes gives its mean: above 0 for the second.

        Raises
        ------
        ValueError
            Before the first row was learnt, and for inputs of another form.
        """
        predictive = self._predict(self._known_inputs().row(x)[None])
        if isinstance(predictive, Categorical):
            found = probabilities(predictive)[0, 0].tolist()
            return dict(zip(self.classes, found, strict=False))
        mean, sd = (one[0, 0] for one in moments(predictive))
        single = not isinstance(self._targets, Values) or self._targets.single
        return Prediction(float(mean[0]), float(sd[0])) if single else Prediction(mean, sd)

    def predict_many(self, X: Any) -> Prediction | np.ndarray:
        """Predict the targets of several rows of the next task, from the same state.

        Parameters
        ----------
        X
            Inputs, as in `learn_many`; the number of rows for a series without inputs.

        Returns
        -------
        Prediction or ndarray
            Mean and standard deviation, [n] or [n, d] each; of labels their probabilities
            [n, classes], in the order of `classes`.

        Raises
        ------
        ValueError
            As `predict_one`.
        """
        if X is None:
            raise InputError("give the number of rows to predict, for a series without inputs")
        if isinstance(X, Integral):
            inputs = self._known_inputs().rows(None, whole("X, a number of rows", X, 0, MOST_ROWS))
        else:
            inputs = self._known_inputs().rows(X, length("X", X))
        if not len(inputs):
            return self._no_predictions()
        if self.learns_by == "tasks":
            parts = [self._predict(inputs)]
        else:  # one by one, so that sums have the same order as for a single row
            parts = [self._predict(inputs[i : i + 1]) for i in range(len(inputs))]
        if isinstance(parts[0], Categorical):
            found = [probabilities(part)[0] for part in parts]  # type: ignore[arg-type]
            return np.concatenate(found)[:, : len(self.classes)]
        pairs = [moments(part) for part in parts]  # type: ignore[arg-type]
        mean, sd = (np.concatenate([one[0] for one in each]) for each in zip(*pairs, strict=True))
        single = not isinstance(self._targets, Values) or self._targets.single
        return Prediction(mean[:, 0], sd[:, 0]) if single else Prediction(mean, sd)

    @property
    def changes(self) -> pd.DataFrame:
        """The changes that the method saw while it learnt, one a row.

        ``change``: the task, counted from 0, before which it most likely was. ``seen``: the task
        after which a change in the last ten tasks (with a network: before this task) was more
        probable than not. ``probability``: of that change then. ValueError for a method that takes
        no decisions about changes.
        """
        self._refuse_without_decisions()
        return pd.DataFrame(self._recorded.alarms, columns=list(Alarm._fields))

    @property
    def n_changes(self) -> int:
        """The number of rows in `changes`; cheap enough to ask for after every row."""
        self._refuse_without_decisions()
        return len(self._recorded.alarms)

    @property
    def state(self) -> State:
        """The state of the learner: named arrays [1, hypotheses, ...]; copies."""
        if self._form is None:
            raise InputError("the method has no state before its first row")
        return {name: array.copy() for name, array in self._steps.state.items()}

    def save(self, path: str | Path) -> None:
        """Write the method with all that it has learnt to a file, for `load`.

        A file that exists is replaced when the new one is complete. ValueError for labels and
        names of inputs other than texts, numbers and booleans.
        """
        meta, arrays = self.__getstate__()
        del meta["components"]  # a file may be loaded where the folders have another place
        saved_methods.write(file_path("path", path), arrays, meta)

    def load(self, path: str | Path) -> Self:
        """Restore the state that `save` wrote, to the byte; return the method itself.

        Raises
        ------
        ValueError
            If the file is damaged, or was saved by another method or with other settings.
        """
        path = file_path("path", path)
        arrays, meta = saved_methods.read(path)
        saved_methods.refuse_other(path, meta, self._before_rows())
        made = object.__new__(type(self))
        with saved_methods.errors_about(path):
            made.__setstate__((meta | {"components": self._definition.own}, arrays))
        self.__dict__ = made.__dict__
        return self

    def _known_inputs(self) -> Inputs:
        if self._inputs is None:
            raise InputError("nothing is learnt yet; call learn_one or learn_many first")
        return self._inputs

    def _no_predictions(self) -> Prediction | np.ndarray:
        """Return the prediction of no rows."""
        if not isinstance(self._targets, Values):
            return np.zeros((0, len(self.classes)))
        shape = (0,) if self._targets.single else (0, self._targets.size)
        return Prediction(np.zeros(shape), np.zeros(shape))

    def _refuse_without_decisions(self) -> None:
        """Raise InputError for a method that takes no decisions about changes."""
        if self._recorded.can_tell is False:
            raise InputError(
                "this method takes no decisions about changes; take one with a beam, run lengths or"
                " a detector around it, such as vbs-linear or bocpd"
            )

    def _predict(self, inputs: np.ndarray) -> Predictive:
        return self._steps.predict(self._built.inputs(inputs))

    def _learn(self, inputs: np.ndarray, targets: np.ndarray, seen: np.ndarray) -> None:
        """Learn a task, or rows that are tasks, and record the decisions about changes.

        inputs: [1, n, ...]; targets: [n, ...]; seen: [n], False for rows to leave out.
        """
        if not seen.all():
            if not seen.any():
                return
            inputs, targets, seen = inputs[:, seen], targets[seen], seen[seen]
        batch = Batch(inputs, targets[None], seen[None])
        number = len(seen) if self._by_rows else 1
        if self._tasks is not None and self._steps.done + number > self._tasks:
            raise InputError(
                f"the method was made for tasks={self._tasks}, of which {self._steps.done} are"
                " learnt; make it for more"
            )
        if self._by_rows:
            for info in self._steps.learn_rows(batch):
                self._recorded.add(info)
        else:
            info = self._steps.learn(batch)
            self._recorded.add({name: array[:, None] for name, array in info.items()})
