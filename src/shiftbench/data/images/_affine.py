"""Affine maps of images: matrices by OpenCV's conventions, and their bilinear warp.

A map is a 2 x 3 matrix that takes a point (x, y) of the source to a point of the result; x counts
columns, y counts rows, pixel centres are whole numbers. A result pixel looks back through the
inverse and interpolates between four source pixels; outside the image everything is 0. OpenCV
rounds positions to 1/32 of a pixel; here they are exact.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse


def matrix(
    scale: float, rotation: float, translation: float, height: int, width: int
) -> np.ndarray:
    """Return the map [2, 3] that turns and scales about (width / 2, height / 2), then moves.

    rotation: degrees, counter-clockwise as seen. translation: fraction of the width to the right,
    and the same fraction of the height downwards. This is OpenCV's getRotationMatrix2D with the
    offsets added (li2021vbs, C.2, as in the authors' code).
    """
    angle = np.deg2rad(rotation)
    cosine, sine = scale * np.cos(angle), scale * np.sin(angle)
    x, y = width / 2, height / 2
    return np.array(
        [
            [cosine, sine, (1 - cosine) * x - sine * y + translation * width],
            [-sine, cosine, sine * x + (1 - cosine) * y + translation * height],
        ]
    )


def interpolation(affine: np.ndarray, height: int, width: int) -> scipy.sparse.csr_array:
    """Return the warp as a sparse float32 matrix [height * width, height * width].

    Row: pixel of the result; column: pixel of the source; both in row-major order.
    """
    rows, columns = np.divmod(np.arange(height * width), width)
    x, y = np.linalg.solve(affine[:, :2], np.stack([columns, rows]) - affine[:, 2:])
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    entries = []
    for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
        weight = (1 - np.abs(y - top - i)) * (1 - np.abs(x - left - j))
        inside = (top + i >= 0) & (top + i < height) & (left + j >= 0) & (left + j < width)
        pixel = np.flatnonzero(inside)
        entries.append((weight[pixel], pixel, ((top + i) * width + left + j)[pixel]))
    weights, results, sources = (np.concatenate(part) for part in zip(*entries, strict=True))
    size = height * width
    warp = scipy.sparse.csr_array((weights, (results, sources)), shape=(size, size))
    return warp.astype(np.float32)


def warp(images: np.ndarray, operator: scipy.sparse.csr_array) -> np.ndarray:
    """Warp all images [n, height, width, channel]; bytes become floats in [0, 1]."""
    count, height, width, channels = images.shape
    pixels = images.transpose(1, 2, 0, 3).reshape(height * width, count * channels)
    warped = operator @ (pixels.astype(np.float32) / np.float32(255))
    np.minimum(warped, 1, out=warped)  # rounding may exceed white by one unit
    return warped.reshape(height, width, count, channels).transpose(2, 0, 1, 3)
