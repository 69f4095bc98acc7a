"""Examples of transformed images: images, maps and labels."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from shiftbench.data.images import transformed_images
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import transformed_examples
from tests.evaluation.scoring import stores


def panels(figure):
    """Return the axes [image, segment], with one column per segment of the stream."""
    return np.array(figure.get_axes()).reshape(-1, 3)


def test_each_column_has_the_same_test_images_under_the_map_of_its_segment():
    study = stores.image_study()
    shown = panels(transformed_examples.draw(study))
    (store,) = study.streams.values()
    tests = np.flatnonzero(store.split.values == 2)
    for segment in range(3):
        task = transformed_images.task(store, [0], 3 * segment)
        for row, axes in enumerate(shown[:, segment]):
            at = np.flatnonzero(store.label.values[tests] == row)[0]
            drawn = axes.get_images()[0].get_array()
            np.testing.assert_allclose(drawn, task.test.inputs[0, at, :, :, 0], atol=1e-6)


def test_labels_say_tasks_scale_rotation_and_shift():
    study = stores.image_study()
    (store,) = study.streams.values()
    first, second = (axes.get_title() for axes in panels(transformed_examples.draw(study))[0, :2])
    assert first.startswith("tasks 0 to 2\nas it is")
    scale, rotation, shift = (
        float(store[name][0, 1]) for name in ("scale", "rotation", "translation")
    )
    lines = second.replace("\N{MINUS SIGN}", "-").split("\n")
    assert lines[0] == "tasks 3 to 5"
    numbers = [float(line.split()[1].rstrip("°")) for line in lines[1:]]
    assert lines[3].endswith(" %"), "as in the title"
    assert np.allclose(numbers, [scale, rotation, 100 * shift], atol=[0.005, 0.5, 0.5])


def test_the_title_says_how_strong_the_maps_are():
    study = stores.image_study()
    ((name, store),) = study.streams.items()
    (block,) = transformed_examples.draw(study).subfigs
    said = block.get_suptitle()
    scale, shift = (store[each].values[0, :3] for each in ("scale", "translation"))
    assert said.startswith(f"{name}: the maps of the first 3 segments scale by {scale.min():.2f}")
    assert said.endswith(f"shift by up to {100 * np.abs(shift).max():.0f} %")
    assert transformed_examples.caption(study).startswith(f"{said}. ")


def test_colours_stay_colours():
    store = stores.image_stream()
    grey = store["images"]
    images = np.repeat(grey.values, 3, axis=-1)
    images[..., 2] = 0
    coloured = store.drop_vars("images").assign(images=(grey.dims, images))
    shown = transformed_examples._pictures
    figure = figure_style.figure(2.0, "")
    axes = figure.subplots()
    shown.show(axes, transformed_images.view(coloured, 0, 3, np.array([0]))[0])
    drawn = axes.get_images()[0].get_array()
    assert drawn.shape == (8, 8, 3) and (drawn[..., 2] == 0).all() and drawn[..., 0].max() > 0


def test_the_caption_states_cuts():
    assert "9 tasks in place of 100." in transformed_examples.caption(stores.image_study())


def test_columns_are_the_segments_that_the_first_realisation_has():
    settings = transformed_images.Settings(
        tasks=9, train_per_task=20, realisations=2, schedule="irregular", tasks_per_segment=4
    )
    store = transformed_images.build(settings, Path())
    study = stores.image_study()
    (name,) = study.streams
    spec = study.streams[name].attrs["spec"]
    study = dataclasses.replace(study, streams={name: store.assign_attrs(spec=spec)})
    titles = [axes.get_title() for axes in transformed_examples.draw(study).get_axes()]
    starts = np.flatnonzero(store["shift"][0])
    assert store.sizes["segment"] == 9 and 0 < len(starts) < 8
    shown = [title.split("\n")[0] for title in titles if title]
    firsts = [int(title.split()[1]) for title in shown]
    assert firsts == [0, *starts]
