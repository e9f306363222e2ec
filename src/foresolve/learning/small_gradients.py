"""Adam in small units: its `eps` must stay small beside the gradients."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

USUAL = 1e-5  # root mean square of gradients from which on Adam's own `eps` is small
LEAST = 1e-22  # squares of gradients are 0 in single precision where `eps` would have to be smaller


def suit_eps(optimizer: torch.optim.Optimizer, gradients: Sequence[Tensor]) -> bool:
    r"""Make Adam's `eps` as small beside the first gradients as it usually is; say whether there are any.

    Adam divides by :math:`\sqrt v + \epsilon`. Targets of 1e-6 give squared errors gradients of 1e-12, which
    :math:`\epsilon` = 1e-8 would drown: nothing would be learned, in these units alone. An optimizer that has seen
    gradients already, such as one from a checkpoint, is left as it is.
    """
    if any(bool(state["exp_avg"].any()) for state in optimizer.state.values() if "exp_avg" in state):
        return True
    count = sum(gradient.numel() for gradient in gradients)
    squares = torch.stack([gradient.detach().double().square().sum() for gradient in gradients]).sum()
    size = float((squares / max(1, count)).sqrt())
    if size == 0:
        return False
    for group in optimizer.param_groups:
        group["eps"] = max(LEAST, group["eps"] * min(1.0, size / USUAL))
    return True
