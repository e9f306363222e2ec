from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
import torch

from foresolve.sets.functions.sparse import as_coordinates, as_rows, is_sparse, refuse_sparse
from mistakes import mistake

DENSE = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
def test_what_is_sparse() -> None:
    assert is_sparse(scipy.sparse.csc_array(DENSE))
    assert is_sparse(torch.from_numpy(DENSE).to_sparse_csr())
    assert not is_sparse(torch.from_numpy(DENSE))
    assert not is_sparse(DENSE)
    with mistake("theta", "Thing", "theta.toarray()"):
        refuse_sparse(scipy.sparse.csr_array(DENSE), "Thing")
    refuse_sparse(DENSE, "Thing")


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
@pytest.mark.parametrize("kind", ["coo", "csr", "csc", "torch_coo", "torch_csr", "integers"])
def test_every_kind_gives_the_same_coordinates(kind: str) -> None:
    tensor = torch.from_numpy(DENSE)
    matrices = {
        "coo": scipy.sparse.coo_array((DENSE[[0, 1, 1]][:, [1, 0, 2]].diagonal(), ([0, 1, 1], [1, 0, 2])), (2, 3)),
        "csr": scipy.sparse.csr_matrix(DENSE),
        "csc": scipy.sparse.csc_array(DENSE),
        "torch_coo": tensor.to_sparse(),
        "torch_csr": tensor.to_sparse_csr(),
        "integers": tensor.long().to_sparse(),
    }
    coordinates = as_coordinates(matrices[kind], torch.device("cpu"))
    assert coordinates.is_coalesced()
    assert coordinates.dtype == torch.float64
    assert torch.equal(coordinates.to_dense(), tensor)
    np.testing.assert_array_equal(as_rows(coordinates).toarray(), DENSE)


def test_entries_given_twice_add_up_and_gradients_reach_those_of_torch() -> None:
    twice = scipy.sparse.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), (2, 3))
    assert as_coordinates(twice, torch.device("cpu")).values().tolist() == [3.0]
    values = torch.tensor([1.0, 2.0], requires_grad=True)
    theta = torch.sparse_coo_tensor(torch.tensor([[0, 0], [1, 1]]), values, (2, 3), check_invariants=True)
    as_coordinates(theta, torch.device("cpu")).values().sum().backward()
    assert values.grad is not None
    assert values.grad.tolist() == [1.0, 1.0]


def test_single_precision_stays() -> None:
    assert as_coordinates(scipy.sparse.csr_array(DENSE.astype(np.float32)), torch.device("cpu")).dtype == torch.float32
