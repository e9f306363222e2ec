"""Cone-aligned vector estimation."""

from __future__ import annotations

from typing import Literal, cast, get_args

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from foresolve._base import checks
from foresolve._base.autograd import held_fixed
from foresolve._base.progress import Progress
from foresolve._base.randomness import Seed, Seeded
from foresolve.data.batch import Batch
from foresolve.data.dataset import DecisionDataset
from foresolve.errors import ConvergenceWarning, ForesolveWarning
from foresolve.losses.base import Loss
from foresolve.problems.linear import LinearProgram
from foresolve.solvers.projection.cone import NormalCone
from foresolve.solvers.projection.polytope import Polytope

Kind = Literal["exact", "inner", "hybrid"]
CHUNK = 1024  # instances that are processed together


class CaVE(Seeded, Loss):
    r"""CaVE: pull the predicted gains into the cone in which the best decision stays best.

    The rows and bounds that are tight at the best decision :math:`x^*` have normals :math:`a_i`; for every gain in
    their cone :math:`K = \{\sum_i \lambda_i a_i : \lambda \ge 0\}` (multipliers of equalities are free) :math:`x^*` is
    optimal. The loss is the angle to it:

    .. math::
        \ell = 1 - \cos(\hat c, p), \qquad
        p = \arg\min_{q \in K} \|\hat c - q\|^2 \quad \text{(held fixed in the gradient)}.

    For the exact projection, holding :math:`p` fixed loses nothing (:math:`\nabla \tfrac12 \|p\|^2 = p`), and the
    loss is 0 just where :math:`x^*` is optimal for the relaxation, 1 or more where :math:`\hat c` points away from the
    whole cone. In the latter case there is no direction to the nearest point (it is the origin), and the center of the
    cone stands in for :math:`p`. No integer program is solved in training, but for the best decisions under the truth
    (Tang and Khalil, *CaVE: A Cone-Aligned Approach for Fast Predict-then-Optimize with Binary Linear Programs*, CPAIOR
    2024).

    Parameters
    ----------
    kind: which point of the cone is aimed at.

        - "exact": the projection (CaVE-E). It lies on the boundary, where :math:`x^*` ties with others, and the loss
          rests as soon as the cone is reached.
        - "inner": a point inside, near the projection, by an interior point method that stops after `max_iter` steps
          (CaVE+). Cheaper, and as a rule better.
        - "hybrid": with probability `solve_ratio` as "inner", otherwise without a projection: the prediction itself,
          moved toward the center of the cone, the mean direction of the tight normals (CaVE-H). The cheapest.
    max_iter: steps of the interior point method: the more, the nearer to the projection.
    inner_ratio: the weight in (0, 1] of the center for "hybrid".
    solve_ratio: the probability of the method for "hybrid".
    seed: of the draws for "hybrid", or a `torch.Generator`; their state is in the `state_dict`.

    Works with: `LinearProgram` and classes built on it, if integer variables are 0/1; decisions are to be vertices. Of
    others, such as means of several decisions or robust targets, `fit` warns: their cones have no inside, so that a
    prediction is led to where many decisions are equally good, and nowhere by a point inside of the feasible set.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.losses import CaVE
    >>> batch = foresolve.Batch(None, torch.tensor([[1.0, 3.0]]), foresolve.TopK(2, 1))
    >>> loss = CaVE("exact")
    >>> loss(torch.tensor([[1.0, 2.0]]), batch), loss(torch.tensor([[1.0, 0.0]]), batch)
    (tensor([0.]), tensor([0.2929]))
    """

    needs = ("linear", "rows", "binary", "fixed")
    uses_best = True
    uses_theta = False

    def __init__(
        self,
        kind: Kind = "inner",
        *,
        max_iter: int = 5,
        inner_ratio: float = 0.2,
        solve_ratio: float = 0.3,
        seed: Seed = 0,
    ) -> None:
        super().__init__()
        self._seed(seed)
        self.kind: Kind = checks.one_of("kind", kind, get_args(Kind))
        self.max_iter = checks.positive_int("max_iter", max_iter)
        self.inner_ratio = checks.between("inner_ratio", inner_ratio, "(0, 1]")
        self.solve_ratio = checks.between("solve_ratio", solve_ratio, "[0, 1]")

    def _prepare(self, data: DecisionDataset, valid: bool, progress: bool | Progress | None) -> None:
        if valid:
            return
        where: list[int] = []
        for index in torch.arange(len(data)).split(CHUNK):
            batch = data[index]
            polytope = cast(LinearProgram, batch.problem).polytope(torch.Size([len(batch)]))
            where += index[within_faces(batch.target().double(), polytope)].tolist()
        if where:
            checks.warn(
                f"the decisions of {checks.instance_names(where, [len(data)])} of the data are not vertices, and CaVE "
                "learns little from them. FenchelYoung(layer) and Imitation(layer) take any decisions",
                ForesolveWarning,
            )

    def forward(self, theta_hat: Tensor, batch: Batch) -> Tensor:
        problem = cast(LinearProgram, batch.problem)
        gain = problem.gain(*held_fixed(theta_hat)).double()
        best = batch.target().to(gain)
        with torch.no_grad():
            cone = NormalCone.at(best, problem.polytope(torch.Size([len(batch)])))
            aim = self._aim(gain.detach(), cone)
        length = gain.norm(dim=-1)
        # A prediction of zero has no direction: the loss is 1 there, and leads into the cone.
        cosine = (gain * normalize(aim, dim=-1)).sum(-1) / torch.where(length > 0, length, 1.0)
        return (1 - cosine).to(theta_hat.dtype)

    def _aim(self, gain: Tensor, cone: NormalCone) -> Tensor:
        """The point of the cone to turn to, `(B, n)`; its length does not matter."""
        if self.kind == "hybrid" and self.training:
            draw = float(torch.rand((), generator=self.generator, dtype=torch.float64, device=self.generator.device))
            if draw >= self.solve_ratio:
                return (1 - self.inner_ratio) * normalize(gain, dim=-1) + self.inner_ratio * cone.center()
        if self.kind != "exact":
            return cone.inside(gain, self.max_iter)
        nearest, converged = cone.project(gain)
        if not bool(converged.all()):
            where = (~converged).nonzero().flatten().tolist()
            checks.warn(
                f"the projection onto the cone of {checks.instance_names(where, [len(gain)])} stopped short of its "
                "tolerance. Scale the constraints",
                ConvergenceWarning,
            )
        away = nearest.norm(dim=-1, keepdim=True) == 0
        return torch.where(away, cone.center(), nearest)

    def extra_repr(self) -> str:
        hybrid = f", inner_ratio={self.inner_ratio:g}, solve_ratio={self.solve_ratio:g}"
        return f"kind={self.kind!r}, max_iter={self.max_iter}{hybrid if self.kind == 'hybrid' else ''}"


def within_faces(x: Tensor, polytope: Polytope) -> Tensor:
    """A mask `(B,)` of the points `x` `(B, n)` that are no vertices.

    A point is a vertex just where the rows that are tight determine the entries that are at no bound: where their
    columns of those entries are linearly independent.
    """
    cone = NormalCone.at(x, polytope)
    free = ~(cone.at_lower | cone.at_upper)
    held = cone.tight | cone.polytope.equality
    within = torch.zeros(len(x), dtype=torch.bool)
    for i in free.any(-1).nonzero().flatten().tolist():
        columns = polytope.rows.scipy(i)[held[i].cpu().numpy()][:, free[i].cpu().numpy()].toarray()
        within[i] = len(columns) == 0 or int(np.linalg.matrix_rank(columns)) < columns.shape[1]
    return within
