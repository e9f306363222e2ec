"""One instance: what each model predicts for it, what is decided, and what that turns out to be worth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torch import Tensor

from foresolve._base import checks
from foresolve._base.drawing import legends
from foresolve._base.drawing.canvas import new_figure, shortened
from foresolve._base.numbers import significant
from foresolve.learning.examples import label_of
from foresolve.learning.prediction import as_model, inference, predict
from foresolve.learning.subsets import as_dataset
from foresolve.problems.base import Problem

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from foresolve.data.batch import Batch

WIDTH, HEIGHT = 4.3, 3.4


def draw_instance(models: Mapping[str, Any], data: Any, index: int = 0, **options: Any) -> Figure:
    """Draw one instance of data: a column for the best decision and one for each model.

    Above are the decisions on what the models predict, which is what they saw; below the same decisions on the true
    parameters, with what they cost or are worth, and their regret. Numbers of the instance are on one scale.

    Parameters
    ----------
    models: by name; what `evaluate` takes, a policy among them.
    data: with true parameters.
    index: of the instance.
    options: of `problem.draw`, such as the `positions` of nodes.

    Examples
    --------
    >>> import torch, foresolve
    >>> theta = torch.tensor([[3.0, 1.0, 2.0]])
    >>> data = foresolve.DecisionDataset(theta, theta, foresolve.TopK(3, 1))
    >>> figure = foresolve.learning.draw_instance({"upside down": lambda features: -features}, data)
    >>> [axes.get_title() for axes in figure.axes if axes.get_title()]
    ['upside down: predicted\\nworth -1', 'best\\nworth 3', 'upside down: true\\nworth 1, regret 2']
    """
    if not isinstance(models, Mapping) or not models:
        raise checks.fail("models", "a dict of them by name, at least one", type(models).__name__ if models else "none")
    data = as_dataset("data", data)
    if not data.has_theta:
        raise checks.fail("data", "with true parameters", "decisions alone")
    if not isinstance(index, int) or not -len(data) <= index < len(data):
        raise checks.fail("index", f"an integer below {len(data)}", repr(index))
    index %= len(data)
    batch = data[[index]]
    problem, theta = batch.problem, batch.theta
    figure = new_figure(WIDTH * (1 + len(models)), 2 * HEIGHT)
    table = figure.subplots(2, 1 + len(models), squeeze=False)
    best, value = batch.best()
    problem.draw(best, theta, table[1, 0], **options)
    _title(table[1, 0], "best")
    table[0, 0].axis("off")
    name = f"instance {index}" if data.keys is None else shortened(label_of(data, index), 40)
    table[0, 0].text(0.5, 0.5, f"{name}\nabove: as predicted\nbelow: as it is", ha="center", va="center",
                     fontsize=10)  # fmt: skip
    for column, (name, model) in enumerate(models.items(), 1):
        theta_hat, x = _decided(model, batch, problem)
        problem.draw(x, theta_hat, table[0, column], **options)
        _title(table[0, column], f"{shortened(name)}: predicted")
        problem.draw(x, theta, table[1, column], **options)
        regret = float((value - problem.objective(x.to(theta), theta)).reshape(()))
        _title(table[1, column], f"{shortened(name)}: true", f"regret {significant(round(regret, 10))}")
    _share(figure, [axis for axis in table.ravel() if axis is not table[0, 0]])
    return figure


def _decided(model: Any, batch: Batch, problem: Problem) -> tuple[Tensor, Tensor]:
    """A prediction, and the decision for it: of a policy by its own rule."""
    from foresolve.learning.policy import Policy  # which draws its decisions

    if isinstance(model, Policy):
        decisions = model(batch.features, problem if problem.batch_shape else None)
        return decisions.theta, decisions.x
    called = as_model(model)
    with inference(called):
        theta_hat = predict(called, batch.features)
        batch.check_prediction(theta_hat)
        return theta_hat, problem.decide(theta_hat)[0]


def _title(axis: Axes, name: str, *more: str) -> None:
    words = ", ".join(filter(None, [axis.get_title(), *more]))
    axis.set_title(f"{name}\n{words}", fontsize=10)


def _share(figure: Figure, axes: list[Axes]) -> None:
    """One legend, and one scale for all that is shaded by numbers."""
    entries: dict[str, Any] = {}
    for axis in axes:
        legend = axis.get_legend()
        if legend is not None:
            entries |= {text.get_text(): mark for text, mark in zip(legend.get_texts(), legend.legend_handles)}
            legend.remove()
    for label, handle in entries.items():
        handle.set_label(label)
    shaded = [m for axis in axes for m in (*axis.images, *axis.collections) if m.get_array() is not None]
    shaded = [m for m in shaded if m.colorbar is not None]
    if shaded:
        limits = [m.get_clim() for m in shaded]
        for mappable in shaded:
            mappable.set_clim(min(low for low, _ in limits), max(high for _, high in limits))
    if entries:
        legends.below(figure, list(entries.values()))
