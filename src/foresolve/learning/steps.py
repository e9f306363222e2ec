"""The steps of training, and all that has to be remembered to continue them."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from foresolve._base import checks
from foresolve._base.randomness import begin_epoch
from foresolve.data.batch import Batch
from foresolve.data.best import solve_all
from foresolve.data.dataset import DecisionDataset
from foresolve.data.inputs import check_some_weight
from foresolve.errors import ForesolveError, SolverError
from foresolve.layers.smoothing import SmoothedLayer, keeping_positive
from foresolve.learning.distributed import TrainingGroup, original, unwrap
from foresolve.learning.metrics import distance, ranges, squared_error
from foresolve.learning.options import Options
from foresolve.learning.prediction import inference, predict
from foresolve.learning.resuming import check_form
from foresolve.learning.small_gradients import suit_eps
from foresolve.losses.base import Loss


class Trainer:
    """A model, a loss, an optimizer and data; `epoch` and `validate` are what `fit` loops over."""

    def __init__(
        self,
        model: nn.Module,
        loss: Loss,
        train: DecisionDataset,
        optimizer: torch.optim.Optimizer,
        scheduler: Any,
        options: Options,
        device: torch.device,
    ) -> None:
        self.module, self.loss, self.train = unwrap(model), loss, train
        self.optimizer, self.scheduler, self.options, self.device = optimizer, scheduler, options, device
        self.group = TrainingGroup.here()
        self.model = model if model is not self.module else self.group.wrap(model, device)
        self._of_loss = [parameter for parameter in loss.parameters() if parameter.requires_grad]
        self._learned_gammas = [layer for layer in loss.smoothed_layers if layer.learned]
        self.skipped = 0
        self.valid_mse: float | None = None  # of predictions, when last validated
        self._unit: Tensor | None = None  # of the validation decisions' entries
        self._mean_weight = _mean_weight(train)
        self._unsuited = options.optimizer is None  # `eps` of Adam, until gradients are seen
        self.annealed: dict[str, Any] = {}
        self._holders = {name: holders(loss, name) for name in options.schedules}

    # -- training ----------------------------------------------------------------------------------------------------

    def epoch(self, epoch: int) -> float:
        """Pass over the data once; the mean loss, of `w_i loss_i` where instances have weights."""
        self.skipped = 0
        self._anneal(epoch)
        begin_epoch(self.device, self.options.seed, epoch, self.group.rank)
        self.model.train()
        self.loss.train()
        total, count = 0.0, 0
        order = self.group.order(len(self.train), self.options.seed, epoch)
        for number, index in enumerate(order.split(self.options.batch_size)):
            loss, instances = self._step(self.train[index], epoch, number)
            total, count = total + loss, count + instances
        total, count, skipped = self.group.total([total, count, self.skipped], self.device)
        self.skipped = int(skipped)
        if not count:
            raise SolverError(f"a solver failed on every training instance of epoch {epoch + 1}")
        return total / count

    def _step(self, batch: Batch, epoch: int, number: int) -> tuple[float, int]:
        """One batch: the sum of its losses, and how many instances have one."""
        self.optimizer.zero_grad()
        theta_hat = predict(self.model, batch.features)
        place = _Place(epoch + 1, number, batch.index)  # epoch 0 are the weights before training
        try:
            losses = self._losses(theta_hat, batch)
        except Exception:
            place.refuse("the prediction", theta_hat)  # whatever the solver made of it
            raise
        # One transfer from the device tells both; a step waits for no other before that of the gradient.
        total, prediction = torch.stack([losses.detach().sum(), theta_hat.detach().sum().to(losses)]).tolist()
        if not math.isfinite(prediction):
            place.refuse("the prediction", theta_hat)
        if not math.isfinite(total):
            place.refuse("the loss", losses)
        if len(losses) == 0 and self.group.world == 1:
            return 0.0, 0
        # The processes wait for each other's gradients: one without instances sends zeros.
        (losses.mean() if len(losses) else 0.0 * theta_hat.sum()).backward()
        self.group.average(self._of_loss)
        parameters = [*self.module.parameters(), *self._of_loss]
        gradients = [p.grad for p in parameters if p.grad is not None]
        if gradients and not bool(torch.isfinite(torch.stack([g.detach().sum() for g in gradients]).sum())):
            raise ForesolveError(f"the gradient is not finite in {place}", remedy=_REMEDY)
        if self.options.clip is not None:
            nn.utils.clip_grad_norm_(parameters, self.options.clip)
        if self._unsuited and gradients:
            self._unsuited = not suit_eps(self.optimizer, gradients)
        with keeping_positive(self._learned_gammas):
            self.optimizer.step()
        return total, len(losses)

    def _losses(self, theta_hat: Tensor, batch: Batch) -> Tensor:
        """One loss for each instance that no solver failed on, times its weight."""
        try:
            losses = self.loss(theta_hat, batch)
            if losses.shape != (len(batch),):
                expected = f"({len(batch)},), one number for each instance"
                raise checks.fail("loss(theta_hat, batch)", expected, str(tuple(losses.shape)))
            return self._weighted(losses, batch)
        except SolverError as error:
            if self.options.on_failure == "raise":
                raise self._named(error, theta_hat.detach(), batch) from error
        losses = []
        for row, single in self._single(batch, range(len(batch))):
            try:
                losses.append(self._weighted(self.loss(theta_hat[row : row + 1], single), single))
            except SolverError:
                self.skipped += 1
        return torch.cat(losses) if losses else theta_hat.new_zeros(0)

    def _weighted(self, losses: Tensor, batch: Batch) -> Tensor:
        """With weights whose mean over the training set is 1: an unbiased mean, whatever a batch happens to hold.

        (Divided by the weights of the batch instead, an instance would count more among light ones than among heavy.)
        """
        return losses if batch.weight is None else losses * (batch.weight / self._mean_weight).to(losses)

    def _single(self, batch: Batch, rows: Any) -> Iterator[tuple[int, Batch]]:
        assert batch.index is not None
        return ((row, self.train[batch.index[row : row + 1]]) for row in rows)

    def _named(self, error: SolverError, theta_hat: Tensor, batch: Batch) -> SolverError:
        """The error with the instance in it, by its place in the training data: the first that fails alone too."""
        suspects = [row for row in error.instances if row < len(batch)]
        assert batch.index is not None
        for row, single in self._single(batch, [*suspects, *(i for i in range(len(batch)) if i not in suspects)]):
            try:
                with torch.no_grad():
                    self.loss(theta_hat[row : row + 1], single)
            except SolverError as alone:
                where = int(batch.index[row])
                remedy = 'With on_failure="skip" such instances are left out and counted'
                return alone.renamed("training {instances}", [where], f"instance {where}", remedy)
        where = batch.index.tolist()
        return error.renamed("training {instances}", where, checks.instance_names(where, [len(self.train)]))

    def _anneal(self, epoch: int) -> None:
        progress = epoch / max(self.options.epochs - 1, 1)
        for layer in self.loss.smoothed_layers:
            layer.progress = progress
        for name, schedule in self.options.schedules.items():
            self.annealed[name] = schedule(progress)
            for module in self._holders[name]:
                setattr(module, name, self.annealed[name])

    @property
    def anneals(self) -> bool:
        """Whether something about the loss changes from epoch to epoch."""
        calibrations = [layer.calibration for layer in self.loss.smoothed_layers]
        return bool(self.options.schedules) or any(known is not None and known.anneals for known in calibrations)

    @property
    def gamma(self) -> float | None:
        """What it was calibrated, annealed or trained to; `None` where it is the caller's, or follows the data."""
        layers = self.loss.smoothed_layers
        value = layers[0].calibrated if layers and "gamma" not in self.annealed else self.annealed.get("gamma")
        if layers and layers[0].learned:
            value = cast(Tensor, layers[0].gamma).detach()
        if isinstance(value, int | float) or (isinstance(value, Tensor) and value.numel() == 1):
            return float(value)
        return None

    # -- validation --------------------------------------------------------------------------------------------------

    def validate(self, valid: DecisionDataset) -> float:
        """What `monitor` says, weighted: normalized regret, distance of decisions to those on record, or mean loss."""
        monitor = self.options.monitor or "regret"
        share = torch.arange(len(valid))[self.group.rank :: self.group.world]
        sums = [0.0] * 5
        scores = {"regret": self._valid_regret, "agreement": self._valid_distance, "loss": self._valid_loss}
        state = copy.deepcopy(self.loss.state_dict()) if monitor == "loss" else None
        self._unit = ranges(valid.decisions) if monitor == "agreement" else None
        self.loss.eval()
        with inference(self.module):
            for index in share.split(max(self.options.batch_size, 32)):
                batch = valid[index]
                theta_hat = predict(self.module, batch.features)
                batch.check_prediction(theta_hat)
                weight = torch.ones(len(batch), device=self.device) if batch.weight is None else batch.weight
                given = theta_hat, batch, weight.double()
                sums = [a + b for a, b in zip(sums, (*scores[monitor](*given), *squared_error(*given)))]
        if state is not None:
            self.loss.load_state_dict(state)  # what a loss draws or collects in validation does not touch training
        above, below, counted, error, entries = self.group.total(sums, self.device)
        self.valid_mse = error / entries if entries else None
        if not counted:
            raise SolverError("a solver failed on every validation instance")
        return above / (below or counted)  # where all optima are zero there is nothing to divide by: the mean regret

    def _valid_loss(self, theta_hat: Tensor, batch: Batch, weight: Tensor) -> tuple[float, float, float]:
        losses = self.loss(theta_hat, batch.replaced(index=None))  # positions are those of another data set
        return float((weight * losses).sum()), float(weight.sum()), float(weight.sum())

    def _valid_regret(self, theta_hat: Tensor, batch: Batch, weight: Tensor) -> tuple[float, float, float]:
        x, weight = self._decided(theta_hat, batch, weight)
        if self.loss.repair is not None:
            x = self.loss.repair(x.to(batch.theta), batch.problem.at(batch.theta))
        best = batch.best()[1].double()
        value = batch.problem.objective(x.to(batch.theta), batch.theta).double()
        return float((weight * (best - value)).sum()), float((weight * best.abs()).sum()), float(weight.sum())

    def _valid_distance(self, theta_hat: Tensor, batch: Batch, weight: Tensor) -> tuple[float, float, float]:
        assert self._unit is not None
        x, weight = self._decided(theta_hat, batch, weight)
        far = distance(x, batch.target(), self._unit)
        return float((weight * far).sum()), float(weight.sum()), float(weight.sum())

    def _decided(self, theta_hat: Tensor, batch: Batch, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Decisions for predictions, and the weights, 0 where a solver failed and is to be skipped."""
        if self.options.on_failure == "raise":
            return batch.problem.decide(theta_hat)[0], weight
        x, failed = solve_all(batch.problem, theta_hat, lambda done, total: None, predicted=True)
        weight = weight.clone()
        weight[list(failed)] = 0.0
        return x, weight

    # -- memory ------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """All that `load_state` needs to continue from here; the same in every process but the loss."""
        return {
            "model": dict(original(self.module).state_dict()),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": None if self.scheduler is None else self.scheduler.state_dict(),
            "losses": self.group.gather(dict(self.loss.state_dict())),
        }

    def load_state(self, state: dict[str, Any]) -> None:
        original(self.module).load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        if self.scheduler is not None and state["scheduler"] is not None:
            check_form(state["scheduler"], self.scheduler.state_dict())
            self.scheduler.load_state_dict(state["scheduler"])
        losses = state["losses"]
        self.loss.load_state_dict(losses[self.group.rank if self.group.rank < len(losses) else 0])


_REMEDY = "The weights are those before this batch: look at the instances, lower `lr` or set `clip`"


class _Place(NamedTuple):
    """Where in training something went wrong."""

    epoch: int
    number: int
    instances: Tensor | None

    def __str__(self) -> str:
        where = "" if self.instances is None else f" (training {checks.instance_names(self.instances.tolist(), [0])})"
        return f"epoch {self.epoch}, batch {self.number}{where}"

    def refuse(self, what: str, value: Tensor) -> None:
        """Raise an error that names the instances whose values are not finite, if there are any."""
        value = torch.atleast_1d(value.detach())
        bad = ~torch.isfinite(value).reshape(len(value), -1).all(-1)
        if not bool(bad.any()):
            return  # a sum of finite numbers that overflowed
        instances = None
        if self.instances is not None and len(bad) == len(self.instances):
            instances = self.instances[bad.to(self.instances.device)]
        first = value[bad][0].flatten()
        number = float(first[~torch.isfinite(first)][0])
        raise ForesolveError(f"{what} is {number} in {self._replace(instances=instances)}", remedy=_REMEDY)


def _mean_weight(train: DecisionDataset) -> float:
    """Of the whole training set; 1 where all instances count alike."""
    check_some_weight("train", train.weights)  # again: those that a solver failed on may have been all that counted
    return 1.0 if train.weights is None else float(train.weights.double().mean())


def holders(loss: nn.Module, name: str) -> list[nn.Module]:
    """The layers in a loss whose `name` can be set."""
    holders = [module for module in loss.modules() if hasattr(module, name)]
    if not holders:
        raise checks.fail("anneal", "for a loss with a layer that it can anneal", f"no layer with `{name}` in the loss")
    if name == "gamma" and any(isinstance(module, SmoothedLayer) and module.learned for module in holders):
        remedy = "Leave `anneal` out, or give the layer a number"
        raise checks.fail("anneal", "for a gamma that is not trained", "an nn.Parameter in the layer", remedy)
    return holders
