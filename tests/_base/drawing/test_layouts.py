from __future__ import annotations

import numpy as np
import pytest

from foresolve._base.drawing.layouts import by_arcs, by_distances, on_circle


def test_distances_in_a_plane_come_back() -> None:
    places = np.random.default_rng(0).random((9, 2))
    distances = np.linalg.norm(places[:, None] - places[None], axis=-1)
    drawn = by_distances(distances.copy())
    np.testing.assert_allclose(np.linalg.norm(drawn[:, None] - drawn[None], axis=-1), distances, atol=0.02)
    np.testing.assert_array_equal(drawn, by_distances(distances.copy()))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_points(n: int) -> None:
    assert by_distances(1.0 - np.eye(n)).shape == (n, 2)
    assert on_circle(n).shape == (n, 2)


def test_graphs_without_cycles_go_from_left_to_right() -> None:
    tails, heads = np.array([0, 0, 1, 2, 1, 3]), np.array([1, 2, 3, 3, 2, 4])
    places = by_arcs(tails, heads, 5)
    assert (places[heads, 0] > places[tails, 0]).all()


def test_arcs_that_pass_a_layer_have_room() -> None:
    """In a chain with a shortcut, the nodes that it passes are beside it, not on it."""
    tails, heads = np.array([0, 1, 2, 0]), np.array([1, 2, 3, 3])
    places = by_arcs(tails, heads, 4)
    slope = (places[3, 1] - places[0, 1]) / (places[3, 0] - places[0, 0])
    for node in (1, 2):
        assert abs(places[node, 1] - places[0, 1] - slope * (places[node, 0] - places[0, 0])) > 0.1


def test_graphs_with_cycles_and_in_pieces() -> None:
    tails, heads = np.array([0, 1, 2, 4, 5]), np.array([1, 2, 0, 5, 4])
    places = by_arcs(tails, heads, 6)
    assert np.isfinite(places).all()
    assert len(np.unique(places.round(6), axis=0)) == 6  # node 3 has no arcs
