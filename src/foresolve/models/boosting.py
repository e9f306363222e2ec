"""Gradient boosting with trees, on squared errors or on the gradient of a loss of decisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.extras import need
from foresolve._base.randomness import Seed
from foresolve.data.dataset import DecisionDataset
from foresolve.errors import ForesolveError
from foresolve.losses.base import Loss
from foresolve.models.boosting_rounds import Rounds, Stage, squares
from foresolve.models.table import check_bounds, layout_of
from foresolve.models.targets import Transform
from foresolve.models.trees import TreeEnsemble, column_units, in_units, leaf_values, seed_number

Start = Literal["mean", "squares"]


class BoostedTrees(TreeEnsemble):
    r"""Gradient boosting with scikit-learn's regression trees, two-stage or decision-focused.

    With :math:`F_0` the mean of the targets, :math:`T_m` a tree of all outputs at once that is grown on negative
    gradients, :math:`\nu` the learning rate and :math:`g` the transform,

    .. math::
        F_m(a) = F_{m-1}(a) + \nu \, T_m(a), \qquad \hat\theta = g^{-1}(F_M(a)), \qquad
        T_m \approx -\sigma \, \frac{\partial \ell}{\partial F}

    Without a `loss`, :math:`\ell` is the squared error, :math:`\sigma = 1` and trees are grown on residuals. With a
    loss they are grown on `-loss.gradient(theta_hat, batch)`, and leaves hold its means. Gradients of decisions have
    the units of the objective over those of :math:`\theta`: with :math:`s_j` the standard deviation of what the start
    gets wrong in output `j`, output `j` is grown in units of :math:`s_j`, and the first gradient is scaled to the
    root mean square 1. So `lr` means the same for both, and steps become smaller as the loss does.

    Once grown it is a few tensors, as `RandomForest` is; the loss is not saved with it.

    Parameters
    ----------
    trees: the number of trees; with a loss and `start="squares"`, of each of the two stages.
    depth: of a tree at most.
    lr: the learning rate.
    loss: any `Loss`; `None` for the squared error.
    subsample: the share of instances that each tree is grown on, drawn anew without replacement.
    leaf: the least rows of a leaf.
    start: what trees of a loss are added to: "squares", trees of the squared error (the default with a loss), or
        "mean" (the only start without one). From the mean alone the gradient of decisions says little.
    bounds: `(low, high)`, `None` for no bound: predictions are cut off there. Trees are not grown beyond them.
    seed: of the samples and of scikit-learn's choice among equal splits.
    transform: "log" and "scale" as for `RandomForest`; gradients are those for the transformed targets.

    `fit(train, valid)`, also as `foresolve.fit(model, None, train, valid)`, keeps the number of trees with the least
    regret on `valid`, in each stage, measured 25 times (with the least squared error where `theta` makes constraints);
    `model.chosen` is that number. Without `valid` all trees are kept.

    Examples
    --------
    >>> import foresolve
    >>> from foresolve.data import shortest_path_data
    >>> from foresolve.models import BoostedTrees
    >>> train, valid, test = shortest_path_data(120, degree=6, seed=0).split(60, 30, 30)
    >>> model = BoostedTrees(trees=20, depth=2, loss=foresolve.SPOPlus()).fit(train, valid)
    >>> model(test.features).shape
    torch.Size([30, 40])
    """

    combine = "sum"
    weighted = True
    uses_valid = True
    _buffers_of_fit = (*TreeEnsemble._buffers_of_fit, "offset")
    offset: Tensor  # (outputs,)

    def __init__(
        self,
        trees: int = 100,
        depth: int = 3,
        lr: float = 0.1,
        loss: Loss | None = None,
        subsample: float = 1.0,
        leaf: int = 5,
        start: Start | None = None,
        bounds: Sequence[float | None] = (None, None),
        seed: Seed | None = 0,
        transform: Transform | None = None,
        fitted: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(fitted, transform)
        if loss is not None and not isinstance(loss, Loss):
            raise checks.fail("loss", "a foresolve Loss, or None for the squared error", type(loss).__name__)
        checks.one_of("start", start, (None, "mean", "squares"))
        if loss is None and start == "squares" and fitted is None:
            raise checks.fail("start", '"mean" or None without a loss', "'squares'", "All trees are of squares then")
        low, high = check_bounds(bounds)
        self._config = {
            "trees": checks.positive_int("trees", trees),
            "depth": checks.positive_int("depth", depth),
            "lr": checks.between("lr", lr, "(0, 1]"),
            "subsample": checks.between("subsample", subsample, "(0, 1]"),
            "leaf": checks.positive_int("leaf", leaf),
            "start": start,
            "bounds": [low, high],
            "seed": seed_number(seed),
        }
        self._loss = (loss,)  # no part of the model: a file of its weights holds none of the loss's state
        self._grown_on = "" if fitted is None else str(fitted.get("loss", ""))
        if self._fitted is not None and self._grown_on:
            self._fitted["loss"] = self._grown_on

    @property
    def loss(self) -> Loss | None:
        """The loss that the trees are grown on; `None` for the squared error."""
        return self._loss[0]

    def fit(self, train: Any, valid: Any = None) -> Self:
        if self._grown_on and self.loss is None:
            raise ForesolveError(
                f"these trees were grown on {self._grown_on}, which no file holds: make a new "
                f"`BoostedTrees(loss={self._grown_on}(...))` to fit them again"
            )
        layout, shape = layout_of(train.features, train.theta)
        stages = self._stages(train)
        rounds = self._rounds(train, valid, layout)
        for stage in stages:
            rounds.grow(stage)
        rounds.trees = rounds.trees or [rounds.stump()]
        self.chosen = None if valid is None else len(rounds.trees)
        self.offset = torch.from_numpy(rounds.offset).to(train.theta.device)
        trees = [tree.tree_ for tree, _ in rounds.trees]
        leaves = (leaf_values(tree.tree_) * unit for tree, unit in rounds.trees)
        self._take(trees, leaves, len(rounds.offset), 1, rounds.units, train.theta.device)
        self._fitted = {"layout": layout, "shape": list(shape)}
        if self.chosen is not None:
            self._fitted["chosen"] = self.chosen
        if self.loss is not None:
            self._grown_on = self._fitted["loss"] = type(self.loss).__name__
        return self

    def _stages(self, train: DecisionDataset) -> list[Stage]:
        if self.loss is None:
            return [squares]
        self.loss.prepare(train, progress=False)
        decisions = Stage(self.loss)
        return [decisions] if self._config["start"] == "mean" else [squares, decisions]

    def _rounds(self, train: DecisionDataset, valid: DecisionDataset | None, layout: str) -> Rounds:
        table, outputs, weights = self._tables(train, layout)
        config = self._config
        grower = need("sklearn.tree", "boosted trees", "learn").DecisionTreeRegressor
        units = column_units(table)
        return Rounds(
            train.solve() if self.loss is not None and self.loss.uses_best else train,
            None if valid is None else valid.solve(),
            rows=in_units(table, units),
            valid_rows=None if valid is None else in_units(self._tables(valid, layout)[0], units),
            units=units,
            targets=self._targets(outputs.double()).cpu().numpy(),
            weights=None if weights is None else weights.cpu().numpy(),
            restored=super()._restored,
            bounds=(config["bounds"][0], config["bounds"][1]),
            grower=lambda seed: grower(
                max_depth=config["depth"], min_samples_leaf=config["leaf"], random_state=seed
            ),
            count=config["trees"], rate=config["lr"], share=config["subsample"], seed=config["seed"],
        )  # fmt: skip

    def _restored(self, targets: Tensor) -> Tensor:
        low, high = self._config["bounds"]
        theta = super()._restored(targets)
        return theta if low is None and high is None else theta.clamp(low, high)

    def fit_table(self, rows: Tensor, outputs: Tensor, weights: Tensor | None = None) -> None:
        raise NotImplementedError("trees are grown from instances, whose decisions a table does not know")

    def predict_table(self, rows: Tensor) -> Tensor:
        return super().predict_table(rows) + self.offset
