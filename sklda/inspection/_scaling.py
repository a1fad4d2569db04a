"""Topics as points in the plane, by the distances between them."""

from dataclasses import dataclass

import numpy as np

# Steps of SMACOF, which ends earlier if a step changes places by less than a millionth of their spread.
_STEPS, _SMALL = 500, 1e-6


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


def least_stress(distances: np.ndarray) -> np.ndarray:
    """Points (n, 2) whose distances are nearest to those of a matrix (n, n), by squares.

    From classical scaling, SMACOF lowers the squares in every step; de Leeuw & Mair (2009).
    """
    points = classical_scaling(distances).points
    for _ in range(_STEPS):
        own = point_distances(points)
        ratio = np.where(own > 0, distances / np.where(own > 0, own, 1), 0)
        new = (points * ratio.sum(axis=1)[:, None] - ratio @ points) / len(points)
        is_last = np.abs(new - points).max() <= _SMALL * np.abs(points).max()
        points = new
        if is_last:
            break
    return points


def point_distances(points: np.ndarray) -> np.ndarray:
    """Distances between all pairs of points, (n, n)."""
    return np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
