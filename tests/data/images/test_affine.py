"""Affine maps against SciPy's interpolation and OpenCV's documented conventions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.ndimage

from shiftbench.data.images import _affine


def warped(image: np.ndarray, affine: np.ndarray) -> np.ndarray:
    """Return a grey image [y, x] of bytes under a map, as floats [y, x]."""
    operator = _affine.interpolation(affine, *image.shape)
    return _affine.warp(image[np.newaxis, ..., np.newaxis], operator)[0, ..., 0]


def picture(height: int, width: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (height, width), dtype=np.uint8)


@pytest.mark.parametrize(
    ("scale", "rotation", "translation"),
    [(1, 0, 0), (1.3, 0, 0), (0.4, 25, 0.1), (0.9, -170, -0.35), (2.2, 8, 0.02), (0.1, 3, 0)],
)
@pytest.mark.parametrize("shape", [(8, 8), (28, 28), (5, 9)])
def test_warp_equals_scipy(shape, scale, rotation, translation):
    image, affine = picture(*shape), _affine.matrix(scale, rotation, translation, *shape)
    # SciPy maps the result back to the source, and orders coordinates as (row, column).
    back = np.linalg.inv(np.vstack([affine, [0, 0, 1]]))[np.ix_([1, 0], [1, 0, 2])]
    expected = scipy.ndimage.affine_transform(
        image / 255, back[:, :2], back[:, 2], order=1, mode="grid-constant"
    )
    np.testing.assert_allclose(warped(image, affine), expected, atol=1e-5)


def test_matrix_is_that_of_opencv_with_the_offsets_added():
    # getRotationMatrix2D(center=(16, 16), angle=30, scale=1.5) by its documented formula:
    # [[a, b, (1 - a) cx - b cy], [-b, a, b cx + (1 - a) cy]], a = s cos, b = s sin.
    a, b = 1.5 * np.sqrt(3) / 2, 1.5 / 2
    opencv = np.array([[a, b, (1 - a) * 16 - b * 16], [-b, a, b * 16 + (1 - a) * 16]])
    expected = opencv + 0.1 * 32 * np.array([[0, 0, 1], [0, 0, 1]])
    np.testing.assert_allclose(_affine.matrix(1.5, 30, 0.1, 32, 32), expected)


def test_centre_stays_where_it_is():
    affine = _affine.matrix(0.7, 33, 0, 28, 20)
    np.testing.assert_allclose(affine @ [10, 14, 1], [10, 14])


def test_quarter_turn_is_counter_clockwise_and_exact():
    image = picture(8, 8)
    expected = np.zeros((8, 8), np.float32)
    # Around (4, 4), the right-hand column x = 7 goes to row y = 1, and x = 0 leaves the image.
    expected[1:] = np.rot90(image)[:-1] / np.float32(255)
    np.testing.assert_allclose(warped(image, _affine.matrix(1, 90, 0, 8, 8)), expected, atol=1e-6)


def test_translation_by_whole_pixels_is_exact():
    image = picture(8, 8)
    expected = np.zeros((8, 8), np.float32)
    expected[2:, 2:] = image[:6, :6] / np.float32(255)
    np.testing.assert_array_equal(warped(image, _affine.matrix(1, 0, 0.25, 8, 8)), expected)


def test_no_map_is_exact_for_all_images_and_channels():
    images = np.random.default_rng(1).integers(0, 256, (3, 5, 4, 2), dtype=np.uint8)
    operator = _affine.interpolation(_affine.matrix(1, 0, 0, 5, 4), 5, 4)
    result = _affine.warp(images, operator)
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, images / np.float32(255))


def test_values_stay_between_black_and_white():
    white = np.full((28, 28), 255, np.uint8)
    result = warped(white, _affine.matrix(1.37, 12.3, 0.041, 28, 28))
    assert result.min() >= 0 and result.max() <= 1 and result[14, 14] > 0.99999
