"""Series: known facts of real ones, simulated ones from first principles, and designs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shiftbench.core.errors import UserError
from shiftbench.data.series import _london_nox, _simulated_ar, series
from shiftbench.data.series.series import Settings
from tests.real_files import MIRROR, needs_mirror


def build(raw=Path("unused"), **settings):
    return series.build(Settings(**settings), raw)


def rows(store, realisations=(0,)):
    """Return inputs [S, n, M, d, p] and targets [S, n, d] of all tasks, without masked rows."""
    batches = [series.task(store, realisations, t).train for t in range(store.sizes["task"])]
    keep = np.concatenate([batch.mask for batch in batches], axis=1)[0]
    return tuple(
        np.concatenate([getattr(batch, name) for batch in batches], axis=1)[:, keep]
        for name in ("inputs", "targets")
    )


def test_the_nile_is_the_nile():
    store = build(dataset="nile", regressors="constant")
    flow = store["value"].values[0, :, 0]
    year = dict(zip(store["time"].values, flow, strict=True))
    assert flow.mean() == pytest.approx(919.35)
    assert flow.std(ddof=1) == pytest.approx(169.2, abs=0.05)
    assert min(year) == 1871 and max(year) == 1970
    assert year[1871] == 1120 and year[1970] == 740
    assert year[1913] == flow.min() == 456 and year[1879] == flow.max() == 1370
    # 1898 is the last high year: the means before and after agree with the literature.
    (start,) = np.flatnonzero(store["shift"].values[0])
    assert store["time"].values[start] == 1899
    assert flow[:start].mean() == pytest.approx(1097.75)
    assert flow[start:].mean() == pytest.approx(849.97, abs=0.01)


def test_the_papers_autoregressions_step_by_step():
    """Realisation 0 of `shared` equals a plain loop over the settings of the authors' code."""
    result = build(innovations="shared")["value"].values[0]
    for i in range(5):
        expected = []
        for segment, (coefficient, level) in enumerate([(-0.5, 0.3), (0.75, -0.25), (-0.7, 0.3)]):
            size = 300 if segment == 0 else 200
            y = np.random.RandomState(i).normal(0, 1, size)
            for t in range(1, size):
                y[t] += coefficient * y[t - 1] + level
            if i == 0:
                noise = np.sqrt(5) * np.random.RandomState(0).standard_t(4, size)
                y += np.where(noise < 3, 0, noise)
            expected.extend(y[-200:])
        np.testing.assert_allclose(result[:, i], expected, atol=1e-12)


def test_own_lag_designs_give_back_the_innovations():
    store = build(innovations="shared", contaminated=0)
    inputs, targets = rows(store)
    beta = np.array([-0.25] + [0.75] * 5)
    residual = targets[0] - inputs[0, :, 0] @ beta
    second = slice(200, 399)  # rows of times 201 to 399; 200 has no past in its segment
    shocks = np.stack([np.random.RandomState(i).normal(size=200) for i in range(5)], axis=1)
    np.testing.assert_allclose(residual[second], shocks[1:], atol=1e-12)


def test_fresh_innovations_differ_between_segments_and_realisations():
    store = build(realisations=60, contaminated=0)
    value = store["value"].values
    for segment, coefficient in enumerate(_simulated_ar.COEFFICIENTS):
        part = value[:, 200 * segment : 200 * (segment + 1)]
        level = part.mean()
        assert level == pytest.approx(
            _simulated_ar.LEVELS[segment] / (1 - coefficient), abs=0.1 if segment == 1 else 0.02
        )
        past, now = part[:, :-1] - level, part[:, 1:] - level
        assert (past * now).sum() / (past**2).sum() == pytest.approx(coefficient, abs=0.01)
        assert (now - coefficient * past).std() == pytest.approx(1, abs=0.01)
    first, last = value[:, 1:200] + 0.5 * value[:, :199], value[:, 401:] + 0.7 * value[:, 400:599]
    assert abs(np.corrcoef(first.ravel(), last.ravel())[0, 1]) < 0.02


def test_contamination_is_positive_and_on_the_first_series_alone():
    clean, seen = build(contaminated=0)["value"].values, build()["value"].values
    added = seen - clean
    assert (added[..., 1:] == 0).all()
    outliers = added[..., 0][np.abs(added[..., 0]) > 1e-9]
    assert outliers.min() >= 3
    # P(sqrt(5) t_4 > 3) = .125
    assert outliers.size / added[..., 0].size == pytest.approx(0.125, abs=0.015)


@pytest.mark.parametrize(("regressors", "first"), [("constant", 1), ("own-lag", 2)])
def test_positions_are_those_of_the_series(regressors, first):
    store = build(regressors=regressors)
    position, value = store["position"].values, store["value"].values
    assert position[0] == first and position[-1] == 600
    assert position[np.flatnonzero(store["shift"].values[3])].tolist() == [201, 401]
    for t in (0, 7, store.sizes["task"] - 1):
        batch = series.task(store, [3, 1], t).train
        np.testing.assert_array_equal(batch.targets[:, 0], value[[3, 1], position[t] - 1])


@pytest.mark.parametrize("regressors", ["constant", "own-lag"])
@pytest.mark.parametrize("rows_per_task", [1, 7])
def test_tasks_together_are_the_series(regressors, rows_per_task):
    store = build(regressors=regressors, rows_per_task=rows_per_task)
    inputs, targets = rows(store, (2, 5))
    value = store["value"].values[[2, 5]]
    skipped = regressors == "own-lag"
    np.testing.assert_array_equal(targets, value[:, skipped:])
    if skipped:
        np.testing.assert_array_equal(inputs[:, :, 0, 3, 4], value[:, :-1, 3])
        assert (inputs[..., 0] == 1).all() and (inputs[:, :, 0, 3, [1, 2, 3, 5]] == 0).all()
    else:
        np.testing.assert_array_equal(inputs[0, 0, 0], np.eye(5))
    starts = store["position"].values - 1
    for change in (200, 400):
        (holder,) = np.flatnonzero((starts <= change) & (change < starts + rows_per_task))
        assert store["shift"].values[:, holder].all()


def test_scaling_and_centring():
    each = build(scaling="z-score")["value"].values
    np.testing.assert_allclose(each.mean(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(each.std(axis=1), 1)
    jointly = build(scaling="z-score-jointly")["value"].values
    np.testing.assert_allclose(jointly.std(axis=(1, 2)), 1)
    assert np.ptp(jointly.std(axis=1), axis=1).min() > 0.1
    nile = {name: build(dataset="nile", centre=name) for name in ("none", "first", "whole-series")}
    raw = nile["none"]["value"].values
    np.testing.assert_allclose(nile["first"]["value"].values, raw - 1120)
    np.testing.assert_allclose(nile["whole-series"]["value"].values, raw - 919.35)
    assert [store.attrs["look_ahead"] for store in nile.values()] == ["", "", "mean"]


def write_well(folder: Path, text: str) -> Path:
    (folder / "well.txt").write_text(text)
    return folder


def test_annotations_stand_where_the_sixth_values_are(tmp_path):
    raw = write_well(tmp_path, "\n".join(map(str, range(4050))))
    store = build(raw, dataset="well-log", regressors="constant")
    by_person = dict(zip(store["annotator"].values, store["annotation"].values, strict=True))
    assert np.flatnonzero(by_person["12"]).tolist() == [6 * 177, 6 * 467]
    assert store["position"].values[by_person["12"]].tolist() == [1063, 2803]
    # A segment that starts after an observed value is observed to start at the next one.
    assert store["annotated_index"].values[[0, 1, 6, 7, 12, 4044, 4049]].tolist() == [
        0, 1, 1, 2, 2, 674, 674,
    ]  # fmt: skip
    lagged = build(raw, dataset="well-log", regressors="own-lag")
    assert lagged["position"].values[lagged["annotation"].values[3]].tolist() == [1063, 2803]
    assert lagged["annotated_index"].values[:6].tolist() == [1] * 6


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1\n2\n3", "shape"),
        ("\n".join(["1.5"] * 4049 + ["nan"]), "gap"),
        ("\n".join(["1.5"] * 4049 + ["missing"]), "missing"),
    ],
)
def test_wrong_files_are_reported(tmp_path, text, reason):
    with pytest.raises(UserError, match=reason) as caught:
        build(write_well(tmp_path, text), dataset="well-log")
    assert "well.txt" in str(caught.value) and "fetch" in str(caught.value)


def test_settings_that_do_not_go_together(tmp_path):
    with pytest.raises(UserError, match=r"well\.txt is missing"):
        build(tmp_path, dataset="well-log")
    with pytest.raises(UserError, match="need dataset london-nox, not nile"):
        build(dataset="nile", regressors="neighbours")
    constant = write_well(tmp_path, "\n".join(["1e12"] * 4050))
    with pytest.raises(UserError, match="constant"):
        build(constant, dataset="well-log", scaling="z-score")


@pytest.fixture(scope="module")
def stations(tmp_path_factory) -> Path:
    """Write synthetic stations in the real format; return the folder."""
    folder = tmp_path_factory.mktemp("london")
    random = np.random.default_rng(0)
    for name in _london_nox.STATIONS:
        lines = ['"x"', *random.gamma(2, 30, 366 * 12).astype(str)]
        (folder / f"{name}_081702-081703_2h.txt").write_text("\n".join(lines))
    place = 20 * random.normal(size=(29, 2))
    distance = np.linalg.norm(place[:, None] - place, axis=-1)
    np.savetxt(folder / "EuclideanDistanceMatrix_bigger.csv", distance, delimiter=",")
    np.savetxt(folder / "RoadDistanceMatrix_bigger.csv", 1.5 * distance, delimiter=",")
    return folder


def test_days_of_london(stations):
    store = build(stations, dataset="london-nox", scaling="z-score", regressors="constant")
    value = store["value"].values[0]
    assert value.shape == (366, 29) and not store["shift"].values.any()
    np.testing.assert_allclose(value.std(axis=0), 1)
    for day in range(7):
        np.testing.assert_allclose(value[day::7].mean(axis=0), 0, atol=1e-12)
    raw = np.loadtxt(stations / "KC1_081702-081703_2h.txt", skiprows=1)[12 * 9 : 12 * 10].mean()
    all_days = np.loadtxt(stations / "KC1_081702-081703_2h.txt", skiprows=1).reshape(366, 12)
    unscaled = build(stations, dataset="london-nox")["value"].sel(series="KC1").values[0]
    assert unscaled[9] == pytest.approx(raw - all_days[2::7].mean())
    (charge,) = np.flatnonzero(store["event"].values)
    assert store["time"].values[charge] == "2003-02-17"


def test_three_models_of_the_neighbours(stations):
    store = build(stations, dataset="london-nox", regressors="neighbours", rings=2)
    problem = series.problem(store)
    assert problem.input_shape == (3, 29, 4 * 29) and problem.n_tasks == 365
    inputs = series.task(store, [0], 40).train.inputs[0, 0]
    past = store["value"].values[0, 40]
    distance = {
        model: np.loadtxt(stations / f"{name}DistanceMatrix_bigger.csv", delimiter=",")
        for model, name in ((1, "Road"), (2, "Euclidean"))
    }
    for model in range(3):
        for i in range(29):
            expected = np.zeros((4, 29))
            expected[0, i], expected[1, i] = 1, past[i]
            for ring, (near, far) in enumerate([(0, 10), (10, 20)], start=2):
                for j in range(29):
                    if model and near < distance[model][i, j] < far:
                        expected[ring, i] += past[j]
            np.testing.assert_allclose(inputs[model, i], expected.ravel())


def test_without_rings_the_three_models_are_the_same(stations):
    store = build(stations, dataset="london-nox", regressors="neighbours", rings=0)
    assert series.problem(store).input_shape == (3, 29, 58)
    inputs = series.task(store, [0], 40).train.inputs[0, 0]
    assert (inputs[0] == inputs[1]).all() and (inputs[0] == inputs[2]).all()


def test_a_short_station_is_named(stations, tmp_path):
    for file in stations.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "MY1_081702-081703_2h.txt").write_text('"x"\n1\n2\n')
    with pytest.raises(UserError, match="MY1"):
        build(tmp_path, dataset="london-nox")


@needs_mirror
def test_real_files():
    well = build(MIRROR / "well-log", dataset="well-log", regressors="constant")
    assert well["value"].values[0, [0, -1], 0].tolist() == [133530.6, 110298.0]
    london = build(
        MIRROR / "london-nox",
        dataset="london-nox",
        regressors="neighbours",
        scaling="z-score",
    )
    assert london["value"].shape == (1, 366, 29)
    ring = london["neighbour"].values[:, 0]
    assert (ring == ring.transpose(0, 2, 1)).all() and not ring[0].any()
    assert ring[1].sum(axis=1).min() >= 1 and ring.sum(axis=(1, 2)).tolist() == [0, 66, 128]
