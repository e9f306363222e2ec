"""Two-stage learning: losses of the prediction, which know nothing of decisions."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor
from torch.nn import functional

from foresolve._base import checks
from foresolve.data.batch import Batch
from foresolve.losses.base import Loss


def _each(values: Tensor) -> Tensor:
    """The mean over all dimensions but the first."""
    return values.flatten(1).mean(-1) if values.ndim > 1 else values


PREDICTION_RATE = 1e-2  # in units of the data; decisions jump, and want smaller steps


class MSE(Loss):
    r"""The mean squared error of an instance's parameters.

    .. math:: L = \frac{1}{n} \sum_j (\hat\theta_j - \theta_j)^2

    Works with: any problem.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.losses import MSE
    >>> MSE()(torch.tensor([[1.0, 2.0]]), foresolve.Batch(None, torch.tensor([[1.0, 4.0]]), foresolve.TopK(2, 1)))
    tensor([2.])
    """

    lr = PREDICTION_RATE

    def forward(self, theta_hat: Tensor, batch: Batch) -> Tensor:
        """Losses `(B,)`."""
        return _each((theta_hat - batch.theta.to(theta_hat.dtype)).square())


class LogMSE(Loss):
    r"""The mean squared error of the logarithms of an instance's parameters: for positive, skewed ones.

    .. math:: L = \frac{1}{n} \sum_j (\log \hat\theta_j - \log \theta_j)^2

    An error of a tenth counts the same for small parameters as for large ones. Minimized, it predicts the geometric
    mean: of a lognormal the median, which is less than its mean.

    Works with: any problem whose parameters are positive, and a model whose predictions are: the heads "positive" and
    "non_negative" of ours, or `Standardized(module, head="positive")`.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.losses import LogMSE
    >>> batch = foresolve.Batch(None, torch.tensor([[1.0, 10.0]]), foresolve.TopK(2, 1))
    >>> LogMSE()(torch.tensor([[1.0, 10.0]]) * torch.e, batch).round(decimals=4)
    tensor([1.])
    """

    lr = PREDICTION_RATE

    def forward(self, theta_hat: Tensor, batch: Batch) -> Tensor:
        """Losses `(B,)`."""
        theta = batch.theta.to(theta_hat.dtype)
        _check_logarithm("theta", theta, "Leave those instances out, or take `MSE()`")
        _check_logarithm(
            "theta_hat", theta_hat, 'Take a model with positive outputs, such as `MLP(..., head="positive")`'
        )
        return _each((theta_hat.log() - theta.log()).square())


def _check_logarithm(name: str, value: Tensor, remedy: str) -> None:
    """Refuse numbers without a logarithm; those that are not finite are the caller's to find."""
    bad = int((value <= 0).sum())
    if bad:
        got = f"{bad} of {value.numel()} numbers that are not, the least {float(value.min()):g}"
        raise checks.fail(name, "positive for LogMSE", got, remedy)


class CrossEntropy(Loss):
    r"""The mean binary cross-entropy of an instance's parameters, which are probabilities.

    .. math:: L = -\frac{1}{n} \sum_j \theta_j \log \hat\theta_j + (1 - \theta_j) \log (1 - \hat\theta_j)

    Logarithms are bounded from below by -100, as in torch.

    Works with: any problem whose parameters lie in [0, 1] (0/1 outcomes, or probabilities).

    Parameters
    ----------
    logits: the model's output is the log-odds of `theta` (more accurate near 0 and 1), to be put through a sigmoid
        before a problem takes it.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.losses import CrossEntropy
    >>> theta = torch.tensor([[1.0, 0.0, 1.0]])
    >>> batch = foresolve.Batch(features=torch.zeros(1, 2), theta=theta, problem=foresolve.TopK(3, k=1))
    >>> CrossEntropy()(torch.tensor([[0.9, 0.1, 0.9]]), batch)
    tensor([0.1054])
    """

    lr = PREDICTION_RATE

    def __init__(self, *, logits: bool = False) -> None:
        super().__init__()
        self.logits = bool(logits)

    def forward(self, theta_hat: Tensor, batch: Batch) -> Tensor:
        """Losses `(B,)`."""
        theta = batch.theta.to(theta_hat.dtype)
        checks.unit_interval("theta", theta)
        if self.logits:
            return _each(functional.binary_cross_entropy_with_logits(theta_hat, theta, reduction="none"))
        checks.unit_interval("theta_hat", theta_hat)
        return _each(functional.binary_cross_entropy(theta_hat, theta, reduction="none"))

    def extra_repr(self) -> str:
        return f"logits={self.logits}"


class PredictionLoss(Loss):
    r"""A torch loss of your own, averaged over an instance's parameters.

    Works with: any problem.

    Parameters
    ----------
    torch_loss: called as `torch_loss(theta_hat, theta)`, gives `(B, ...)`: a torch loss with `reduction="none"`, or any
        function with a number, or several, for each instance.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.losses import PredictionLoss
    >>> loss = PredictionLoss(torch.nn.L1Loss(reduction="none"))
    >>> loss(torch.tensor([[1.0, 2.0]]), foresolve.Batch(None, torch.tensor([[1.0, 4.0]]), foresolve.TopK(2, 1)))
    tensor([1.])
    """

    lr = PREDICTION_RATE

    def __init__(self, torch_loss: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        if not callable(torch_loss):
            raise checks.fail("torch_loss", "a function of (theta_hat, theta)", type(torch_loss).__name__)
        reduction = getattr(torch_loss, "reduction", "none")
        if reduction != "none":
            remedy = f'Write {type(torch_loss).__name__}(reduction="none")'
            raise checks.fail("torch_loss", "one that keeps the instances apart", f"reduction={reduction!r}", remedy)
        self.torch_loss = torch_loss

    def forward(self, theta_hat: Tensor, batch: Batch) -> Tensor:
        """Losses `(B,)`."""
        values = self.torch_loss(theta_hat, batch.theta.to(theta_hat.dtype))
        if not isinstance(values, Tensor) or values.shape[:1] != theta_hat.shape[:1]:
            shape = str(tuple(values.shape)) if isinstance(values, Tensor) else type(values).__name__
            expected = f"a function that gives a number, or several, for each of the {len(theta_hat)} instances"
            raise checks.fail("torch_loss", expected, shape, 'With a torch loss, pass reduction="none"')
        return _each(values)


OF_PREDICTION = (MSE, LogMSE, CrossEntropy, PredictionLoss)  # what two-stage learning minimizes
