"""Packages that learn row by row."""

from __future__ import annotations

import numpy as np

from perf import problems
from perf.problems import A0, B0, HAZARD, VARIANCE
from perf.work import Work

EXACT = 400
"""Rows after which posteriors are compared; until then both sides keep all run lengths."""


def fast_bocpd(keep: int, rows: int, singly: bool = False) -> Work:
    """Return fast-bocpd, in C: one call, or one per row, which gives the whole posterior."""
    from fast_bocpd import BOCPD, ConstantHazard, GaussianNIG

    def detector(keep: int) -> BOCPD:
        model = GaussianNIG(mu0=0.0, kappa0=1 / VARIANCE, alpha0=A0, beta0=B0)
        return BOCPD(model, ConstantHazard(1 / HAZARD), keep)

    values = problems.level_changes(rows)

    def run() -> None:
        if singly:
            update = detector(keep).update
            for value in values:
                update(value)
        else:
            detector(keep).batch_update(values)

    def shows() -> dict[str, np.ndarray]:
        exact = detector(2 * EXACT)
        for value in problems.level_changes(EXACT):
            posterior, _ = exact.update(value)
        return {"run lengths": _of_rows(posterior)}

    return Work(run, rows, shows=shows)


def rust(rows: int) -> Work:
    """Return changepoint, in Rust: a call per row with the whole posterior of all run lengths."""
    import changepoint

    def posterior(values: np.ndarray) -> np.ndarray:
        prior = changepoint.NormalInvGamma(0.0, VARIANCE, A0, B0)
        detector = changepoint.Bocpd(prior, 1 / HAZARD)
        for value in values:
            found = detector.step(value)
        return np.array(found)

    def shows() -> dict[str, np.ndarray]:
        # Its first entry is a change after the last row. Only the first segment is counted one
        # short, but it has no weight left by now.
        found = posterior(problems.level_changes(EXACT))
        return {"run lengths": _of_rows(found[1:])}

    values = problems.level_changes(rows)
    return Work(lambda: posterior(values), rows, shows=shows)


def focus(rows: int) -> Work:
    """Return FOCuS of changepoint-online: a likelihood ratio of one change, without a posterior."""
    from changepoint_online import Focus, Gaussian

    values = problems.level_changes(rows) / 2.5e3

    def run() -> None:
        detector = Focus(Gaussian())
        for value in values:
            detector.update(value)
            if detector.statistic() > 20:
                detector = Focus(Gaussian())

    return Work(run, rows)


def river_classifier(rows: int = 569) -> Work:
    """Return river's linear classifier with the hinge loss."""
    from river import linear_model, optim

    x, y = problems.classes(rows)
    of_rows = [(_named(row), bool(label)) for row, label in zip(x, y, strict=True)]

    def run() -> None:
        model = linear_model.LogisticRegression(
            optim.SGD(rows**-0.5), loss=optim.losses.Hinge(), intercept_lr=0.0
        )
        for row, label in of_rows:
            model.predict_one(row)
            model.learn_one(row, label)

    return Work(run, rows)


def scikit_classifier(rows: int = 569) -> Work:
    """Return scikit-learn's linear classifier with the hinge loss."""
    from sklearn.linear_model import SGDClassifier

    x, y = problems.classes(rows)

    def run() -> None:
        model = SGDClassifier(learning_rate="constant", eta0=rows**-0.5, fit_intercept=False)
        model.partial_fit(x[:1], y[:1], classes=[0, 1])
        for i in range(1, rows):
            model.decision_function(x[i : i + 1])
            model.partial_fit(x[i : i + 1], y[i : i + 1])

    return Work(run, rows)


def river_regression(rows: int) -> Work:
    """Return river's Bayesian linear regression; shows the absolute error before each row."""
    from river import linear_model

    x, y = problems.regression(rows)
    of_rows = [(_named([*row, 1.0]), float(target)) for row, target in zip(x, y, strict=True)]

    def errors() -> np.ndarray:
        # Precisions of the prior and of the noise. The constant is a feature.
        model = linear_model.BayesianLinearRegression(alpha=1.0, beta=100.0)
        found = np.empty(rows)
        for i, (row, target) in enumerate(of_rows):
            found[i] = abs(model.predict_one(row) - target)
            model.learn_one(row, target)
        return found

    return Work(errors, rows, shows=lambda: {"absolute errors": errors()})


def river_detector(name: str, rows: int) -> Work:
    """Return river's drift detectors, restarted after each alarm; shows the alarms."""
    from river import drift

    kinds = {"adwin": drift.ADWIN, "ddm": drift.binary.DDM, "page-hinkley": drift.PageHinkley}
    values = problems.watched(rows, errors=name == "ddm").tolist()

    def alarms() -> np.ndarray:
        detector, found = kinds[name](), np.zeros(rows)
        for i, value in enumerate(values):
            detector.update(value)
            found[i] = detector.drift_detected
        return found

    return Work(alarms, rows, shows=lambda: {"alarms": alarms()})


def _of_rows(posterior: np.ndarray) -> np.ndarray:
    """Normalise the probabilities of the run lengths that have rows."""
    found = np.zeros(EXACT)
    found[: len(posterior)] = posterior[:EXACT]
    return found / found.sum()


def _named(row: np.ndarray | list[float]) -> dict[str, float]:
    return {str(number): float(value) for number, value in enumerate(row)}
