"""Units of features and targets, learned from training data and kept with the weights."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from foresolve.data.fingerprint import fingerprint
from foresolve.models.heads import Head
from foresolve.models.reference import Reference

UNIT_SOFTPLUS = math.log(math.e - 1)  # softplus of it is 1
LEAST_SHARE = 1e-3  # how near 0 and 1 a mean probability is taken to be at most
FLAT = 1e-6  # a column that varies by less than this share of its size is constant
TINY = torch.finfo(torch.float32).tiny  # a deviation below it is 0 in the numbers of most models


class Scaling(nn.Module):
    """Standardized columns, `(a - center) / scale`; as they are before `measure`, and in units of 1 where constant.

    Parameters
    ----------
    shape: of the columns.
    """

    center: Tensor
    scale: Tensor
    known: Tensor

    def __init__(self, *shape: int) -> None:
        super().__init__()
        self.register_buffer("center", torch.zeros(shape))
        self.register_buffer("scale", torch.ones(shape))
        self.register_buffer("known", torch.zeros((), dtype=torch.bool))

    def forward(self, features: Tensor) -> Tensor:
        return (features - self.center) / self.scale

    def measure(self, table: Tensor, weights: Tensor | None = None) -> None:
        """Take mean and standard deviation of the rows `(R, *shape)`."""
        center, deviation = moments(table, weights)
        self._set(center, torch.where(deviation > 0, deviation, 1.0))

    def _set(self, center: Tensor, scale: Tensor) -> None:
        self.center.copy_(center.reshape(self.center.shape))
        self.scale.copy_(scale.reshape(self.scale.shape))
        self.known.fill_(True)

    def _load_from_state_dict(self, state_dict: dict[str, Tensor], prefix: str, *rest: Any, **more: Any) -> None:
        """Weights that were saved without units belong to those of before `measure`."""
        for name, buffer in Scaling(*self.center.shape).named_buffers():
            state_dict.setdefault(prefix + name, buffer)
        super()._load_from_state_dict(state_dict, prefix, *rest, **more)

    def extra_repr(self) -> str:
        return f"{tuple(self.center.shape)}, {'known' if bool(self.known) else 'not yet known'}"


class TargetScaling(Scaling):
    r"""Output of a network's last layer, :math:`z`, in the units of the targets and in the range of a head.

    .. math::
        \text{free: } m + s z, \quad \text{positive: } e^{m + s z}, \quad
        \text{non-negative: } s \, \mathrm{softplus}(z + m), \quad \text{probability: } \mathrm{sigmoid}(z + m)

    per column, with :math:`m` and :math:`s` mean and standard deviation of the targets (of their logarithms where they
    are positive); where a head bounds them, :math:`s` is their mean and :math:`m` such that :math:`z = 0` gives it. So
    a network whose last layer gives zeros predicts the mean (the geometric one where targets are positive). Before
    `measure`, :math:`m = 0` and :math:`s = 1`.
    """

    def __init__(self, head: Head, *shape: int) -> None:
        super().__init__(*shape)
        self.head: Head = head

    def forward(self, features: Tensor) -> Tensor:
        if self.head == "probability":
            return (features + self.center).sigmoid()
        if self.head == "non_negative":
            return self.scale * functional.softplus(features + self.center)
        shifted = self.center + self.scale * features
        return shifted.exp() if self.head == "positive" else shifted

    def measure(self, table: Tensor, weights: Tensor | None = None) -> None:
        """Take the units of targets `(R, *shape)`; those that the head cannot reach leave everything as it is."""
        if self.head in ("free", "positive"):
            if self.head == "positive" and not bool((table > 0).all()):
                return
            center, deviation = moments(table.log() if self.head == "positive" else table, weights)
            # A column that is constant in training may vary later: in units of the others.
            usual = deviation[deviation > 0].mean() if bool((deviation > 0).any()) else deviation.new_ones(())
            self._set(center, torch.where(deviation > 0, deviation, usual))
            return
        mean = moments(table, weights)[0]
        if self.head == "probability":
            if bool(((table < 0) | (table > 1)).any()):
                return
            share = mean.clamp(LEAST_SHARE, 1 - LEAST_SHARE)
            self._set((share / (1 - share)).log(), torch.ones_like(mean))
        elif bool((mean > 0).any()):
            mean = torch.where(mean > 0, mean, mean[mean > 0].mean())
            self._set(torch.full_like(mean, UNIT_SOFTPLUS), mean)


class ScaledReference(Reference):
    """A network in the units of the data that it is first trained on; a subclass gives `_measure`."""

    _drawn: str | None = None  # a digest of the weights as they were drawn; `None` for a network without units

    def standardize(self, train: Any) -> None:
        """Take the units of features and targets from training data, unless they are known; `fit` calls it.

        Weights that have been changed since they were drawn (trained, loaded, set) belong to the units they were
        changed in: then nothing is done.
        """
        units = [module for module in self.modules() if isinstance(module, Scaling)]
        if units and not any(bool(unit.known) for unit in units) and self._drawn == self._digest():
            self._measure(train)

    @abstractmethod
    def _measure(self, train: Any) -> None:
        """Let each `Scaling` take its units."""

    def _digest(self) -> str | None:
        weights = [parameter.detach() for parameter in self.parameters()]
        return None if any(w.is_meta for w in weights) else fingerprint(*(w.float().cpu() for w in weights))


def moments(table: Tensor, weights: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation over rows, float64; a deviation that is rounding is 0."""
    table = table.detach().double()
    share = table.new_full((len(table),), 1 / max(1, len(table))) if weights is None else weights.double()
    share = (share / share.sum()).to(table.device)
    center = torch.tensordot(share, table, 1)
    deviation = torch.tensordot(share, (table - center).square(), 1).sqrt()
    return center, torch.where(deviation > (FLAT * center.abs()).clamp_min(TINY), deviation, 0.0)


def weights_of_rows(weights: Tensor | None, rows: int) -> Tensor | None:
    """Weights of instances, for each of the rows that they have."""
    return None if weights is None else weights.repeat_interleave(rows // max(1, len(weights)))


def rows_of(table: Any, width: int) -> Tensor:
    """A tensor `(N, ..., width)` as rows `(R, width)`."""
    return table.reshape(-1, width)
