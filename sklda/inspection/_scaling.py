"""Topics as points in the plane, by the distances between them."""

from dataclasses import dataclass

import numpy as np


@dataclass
class Scaling:
    """Points in the plane whose distances approximate those that were given."""

    points: np.ndarray  # (n, 2)
    part: float  # of the variation of the distances that the plane has, 0 to 1


def classical_scaling(distances: np.ndarray) -> Scaling:
    """Classical scaling of a matrix of distances (n, n); Torgerson (1952)."""
    squares = np.asarray(distances, dtype=np.float64) ** 2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1, keepdims=True) + squares.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    values = np.maximum(values[::-1], 0)
    axes = vectors[:, ::-1][:, :2]
    # Eigenvectors have any sign. That of the largest entry makes the map the same everywhere.
    largest = np.abs(axes).argmax(axis=0)
    axes = axes * np.where(axes[largest, np.arange(axes.shape[1])] < 0, -1, 1)
    points = np.zeros((len(values), 2))
    points[:, : axes.shape[1]] = axes * np.sqrt(values[:2])
    total = values.sum()
    return Scaling(points, float(values[:2].sum() / total) if total > 0 else 1.0)
