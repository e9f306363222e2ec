"""The loop of the published code: what it looks at, how often, and with which steps."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import torch
from torch import nn

import foresolve
from foresolve.data import Batch, DecisionDataset
from foresolve.errors import ForesolveError
from foresolve.losses import MSE, CrossEntropy
from foresolve.reproduce import Minibatch, RecipeMethod
from foresolve.reproduce.domains.coverage import items
from foresolve.reproduce.domains.matching import single_pairs
from foresolve.reproduce.runs.recipe import follow
from mistakes import mistake
from reproduce import tiny


class Spy(MSE):
    """A loss that remembers what it was asked about."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[torch.Tensor] = []

    def forward(self, theta_hat: torch.Tensor, batch: Batch) -> torch.Tensor:
        self.seen.append(batch.theta.flatten(1))
        return super().forward(theta_hat, batch)


def source(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def network(data: DecisionDataset) -> nn.Module:
    return foresolve.MLP(data.features.shape[-1], data.theta.shape[-1], seed=0)


def method(loss: Spy | MSE, **how: object) -> RecipeMethod:
    return RecipeMethod(
        lambda data, generator, mean: network(data), lambda: loss, foresolve.MultilinearRelaxation, **how
    )  # type: ignore[arg-type]


def counted(rows: list[torch.Tensor], table: torch.Tensor) -> Counter[int]:
    """How often each row of a table was seen; no two rows are equal."""
    places = [(table == row).all(-1).nonzero().flatten() for batch in rows for row in batch]
    assert all(len(place) == 1 for place in places)
    return Counter(int(place) for place in places)


def test_instances_are_drawn_with_replacement() -> None:
    data, loss = tiny.data("budget"), Spy()
    follow(method(loss, draws=60), network(data), data, source())
    assert [len(batch) for batch in loss.seen] == [1] * 60
    visits = counted(loss.seen, data.theta.flatten(1))
    assert max(visits.values()) > 60 / len(data)


def test_epochs_see_every_instance_once() -> None:
    data, loss = tiny.data("budget"), Spy()
    follow(method(loss, epochs=3), network(data), data, source())
    assert set(counted(loss.seen, data.theta.flatten(1)).values()) == {3}
    first, second = loss.seen[: len(data)], loss.seen[len(data) : 2 * len(data)]
    assert not torch.equal(torch.cat(first), torch.cat(second))  # in another order


def test_minibatches_are_of_rows_of_one_instance() -> None:
    data, loss = tiny.data("budget"), Spy()  # 12 items
    follow(method(loss, draws=1, minibatch=Minibatch(5, items)), network(data), data, source())
    assert [len(batch) for batch in loss.seen] == [5, 5]  # two are left over
    seen = torch.cat(loss.seen)
    homes = [i for i in range(len(data)) if all(bool((data.theta[i] == row).all(-1).any()) for row in seen)]
    assert len(homes) == 1


def test_minibatches_of_pairs_train_as_the_pairs_do() -> None:
    """One step on all pairs of an instance, cut into single pairs, is a step on the instance."""
    data = tiny.data("matching").subset([0])
    make = lambda: foresolve.models.PairModel(60, 60, 7, seed=3)  # noqa: E731
    whole, single = make(), make()
    recipe = RecipeMethod(lambda *_: make(), CrossEntropy, foresolve.QuadraticRelaxation, draws=1)
    follow(recipe, whole, data, source())
    follow(replace(recipe, minibatch=Minibatch(64, single_pairs)), single, data, source())
    for a, b in zip(whole.parameters(), single.parameters(), strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=0)


def test_steps_are_those_of_adam() -> None:
    data = tiny.data("budget").subset([0])
    model, twin = network(data), network(data)
    follow(method(MSE(), draws=4, lr=0.01), model, data, source())
    optimizer = torch.optim.Adam(twin.parameters(), lr=0.01)
    for _ in range(4):
        optimizer.zero_grad()
        (twin(data.features) - data.theta).square().mean().backward()
        optimizer.step()
    for a, b in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(a, b)


def test_a_loss_that_is_not_finite_is_an_error() -> None:
    data = tiny.data("budget")
    model = network(data)
    nn.init.constant_(next(model.parameters()), float("nan"))
    with mistake("", "nan", "step 0", kind=ForesolveError):
        follow(method(MSE(), draws=1), model, data, source())
