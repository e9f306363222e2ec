r"""The multilinear extension of probabilistic coverage, and its derivatives.

Write `q_ij = 1 - x_i theta_ij`, `P_j = prod_i q_ij` and `r_ij = theta_ij / q_ij`. Then

    F           = sum_j w_j (1 - P_j)
    dF/dx_i     = sum_j w_j P_j r_ij
    H_il        = -sum_j w_j P_j r_ij r_lj                                          for i != l, and H_ii = 0
    dF/dtheta_lj            = w_j P_j x_l / q_lj
    d(v' grad F)/dtheta_lj  = w_j P_j / q_lj (v_l - x_l sum_{i != l} v_i r_ij).

All products that leave items out are quotients, and a quotient is as exact as its parts, however small `q` is. Only an
exact zero has to be kept from vanishing: it is replaced by `TINY`, which cancels wherever the item is left out, and
leaves next to nothing where it is not, which is taken out of the gradient. `F` itself is a difference that has lost its
digits where little is covered: there it is `sum_j w_j (-expm1(sum_i log(1 - x_i theta_ij)))` instead. Sums that leave
one item out are another matter, for a difference is not exact where one term outweighs the rest: columns with a large
`r` take prefix and suffix sums instead.
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor
from torch.nn.functional import pad

from foresolve.sets.functions.extension import TINY, Local, cleaned

LARGE = 1e3  # of r: a difference of two sums then still has 13 digits
LITTLE = 1e-2  # share of the weight below which what is covered is not taken for what is left


class CoverageLocal(Local):
    """The formulas above. Items with `x_i = 0` have `q = 1`: on the CPU only the others are multiplied and divided."""

    def __init__(self, x: Tensor, theta: Tensor, weights: Tensor | None) -> None:
        self.x, self.theta = x, theta
        index = _support(x != 0)
        rows, at = self._rows(index)
        q = _miss(at, rows)
        through = q.prod(-2)
        self._zeros = q.is_cuda or bool((through == 0).any())  # a GPU is not asked: the answer would take longer
        if self._zeros:
            through = _no_zero(q).prod(-2)
        self._left = through if weights is None else weights * through  # (B, targets): w_j P_j
        total = through.shape[-1] if weights is None else weights.sum(-1)
        self.value = total - self._left.sum(-1)
        if q.is_cuda or bool((self.value < LITTLE * total).any()):
            self.value = _covered(at, rows, weights)
        left = self._left.unsqueeze(-1)
        self.gradient = (torch.div(rows, q, out=q) @ left).squeeze(-1)  # in place: fresh memory costs more than sums
        if index is not None:
            self.gradient = (theta @ left).squeeze(-1).scatter(-1, index, self.gradient)
        if self._zeros:
            self.gradient = cleaned(
                self.gradient, through.shape[-1] if weights is None else weights.sum(-1, keepdim=True)
            )

    def merge(self, which: Tensor, fallback: CoverageLocal) -> CoverageLocal:
        """This one where `which` `(B,)` holds, `fallback`, around another point, elsewhere."""
        merged = copy.copy(self)
        merged._zeros = self._zeros or fallback._zeros
        merged.value = torch.where(which, self.value, fallback.value)
        for name in ("x", "_left", "gradient"):
            setattr(merged, name, torch.where(which.unsqueeze(-1), getattr(self, name), getattr(fallback, name)))
        return merged

    def _rows(self, index: Tensor | None) -> tuple[Tensor, Tensor]:
        """Parameters `(B, f, targets)` and coordinates `(B, f)` of some items."""
        if index is None:
            return self.theta, self.x
        many, n, targets = self.theta.shape
        row = index if many == 1 else _row(index, n)
        rows = self.theta.reshape(-1, targets).index_select(0, row.reshape(-1))
        return rows.reshape(*index.shape, targets), self.x.gather(-1, index)

    def _ratios(self, index: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """`x` `(B, f, 1)`, `q` and `r` `(B, f, targets)` of some items (all where none are named)."""
        rows, at = self._rows(index)
        q = _miss(at, rows)
        if self._zeros:
            q = _no_zero(q)
        return at.unsqueeze(-1), q, rows / q if index is None else rows.div_(q)

    def _zeros_like_theta(self) -> Tensor:
        return self.theta.new_zeros(self.x.shape[0], *self.theta.shape[1:])

    def hessian(self, index: Tensor) -> Tensor:
        _, _, r = self._ratios(index)
        matrix = (r * -self._left.unsqueeze(-2)) @ r.mT
        matrix.diagonal(dim1=-2, dim2=-1).zero_()
        return matrix

    def product(self, v: Tensor) -> Tensor:
        _, _, r = self._ratios(None)
        return -(self._left.unsqueeze(-2) * r * _leave_one_out(v.unsqueeze(-1) * r, r)).sum(-1)

    def cross(self, v: Tensor) -> Tensor:
        return self.put_cross(v, self._zeros_like_theta())

    def put_cross(self, v: Tensor, out: Tensor) -> Tensor:
        index = _support((self.x != 0) | (v != 0))  # elsewhere both terms vanish
        x, q, r = self._ratios(index)
        v = (v if index is None else v.gather(-1, index)).unsqueeze(-1)
        others = _leave_one_out(v * r, r)
        torch.addcmul(v, x, others, value=-1, out=others)
        return _put(others.div_(q).mul_(self._left.unsqueeze(-2)), index, out)

    def slope(self) -> Tensor:
        index = _support(self.x != 0)
        x, q, _ = self._ratios(index)
        return _put(self._left.unsqueeze(-2) * x / q, index, self._zeros_like_theta())


def _put(rows: Tensor, index: Tensor | None, out: Tensor) -> Tensor:
    """Rows `(B, f, targets)` of some items in their places among zeros `(B, n, targets)`."""
    if index is None:
        return out.copy_(rows)
    out.view(-1, out.shape[-1]).index_copy_(0, _row(index, out.shape[-2]).reshape(-1), rows.flatten(0, 1))
    return out


def _row(index: Tensor, n: int) -> Tensor:
    """The place of each item among the rows of all instances."""
    return index + n * torch.arange(index.shape[0], device=index.device).unsqueeze(-1)


def _support(needed: Tensor) -> Tensor | None:
    """Indices `(B, s)` that hold all items that are needed, or nothing where that would save little."""
    if needed.is_cuda:
        return None  # counting would stop the device, which multiplies by one at no cost
    most = int(needed.sum(-1).max()) if needed.numel() else 0
    return needed.byte().topk(most, sorted=False).indices if 4 * most < 3 * needed.shape[-1] else None


def _miss(x: Tensor, theta: Tensor) -> Tensor:
    """`q = 1 - x theta`, `(B, n, targets)`."""
    return torch.addcmul(torch.ones((), dtype=theta.dtype, device=theta.device), x.unsqueeze(-1), theta, value=-1)


def _covered(x: Tensor, theta: Tensor, weights: Tensor | None) -> Tensor:
    """`F` `(B,)` to all digits, however small."""
    reached = -torch.expm1(torch.log1p(-x.unsqueeze(-1) * theta).sum(-2))
    return (reached if weights is None else weights * reached).sum(-1)


def _no_zero(q: Tensor) -> Tensor:
    return q.masked_fill_(q == 0, TINY)


def _leave_one_out(terms: Tensor, r: Tensor) -> Tensor:
    """`sum_{i != l} terms_ij` for all `l`, also where one term outweighs the others; overwrites `terms`."""
    if terms.numel() == 0:
        return terms
    low, high = r.aminmax()
    if max(float(high), -float(low)) <= LARGE:
        return torch.sub(terms.sum(-2, keepdim=True), terms, out=terms)
    large = r.abs().amax(-2) > LARGE
    columns = terms.mT[large]
    before = pad(columns[:, :-1], (1, 0)).cumsum(-1)
    after = pad(columns[:, 1:], (0, 1)).flip(-1).cumsum(-1).flip(-1)
    out = terms.sum(-2, keepdim=True) - terms
    out.mT[large] = before + after
    return out
