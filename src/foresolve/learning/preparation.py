"""What is done once before training: model, loss and data in their places."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import nn

from foresolve._base import checks
from foresolve._base.devices import find_device
from foresolve.data.dataset import DecisionDataset
from foresolve.data.inputs import check_some_weight
from foresolve.learning.checkpoint import Checkpoint
from foresolve.learning.distributed import TrainingGroup, original, unwrap
from foresolve.learning.history import History
from foresolve.learning.identity import data_identity, identity_of
from foresolve.learning.loop import TrainingLoop
from foresolve.learning.options import Options
from foresolve.learning.prediction import inference, predict
from foresolve.learning.steps import Trainer
from foresolve.losses.base import Loss
from foresolve.models.reference import Reference

SOME = 32  # instances that a model must fit before it takes the units of all


@dataclass(frozen=True)
class Preparation:
    """Model, loss and data on one device, with what is known beforehand worked out: ready for any number of runs.

    Attributes
    ----------
    left_out: how many training instances have no best decision and are not in `train` any more.
    """

    model: nn.Module
    loss: Loss
    train: DecisionDataset
    valid: DecisionDataset | None
    device: torch.device
    left_out: int

    @classmethod
    def of(
        cls, model: nn.Module, loss: Loss, train: DecisionDataset, valid: DecisionDataset | None, options: Options
    ) -> Self:
        """Everything in its place, for options that are checked."""
        where = find_device(options.device, model)
        if where.type == "meta":
            remedy = "For a model on 'meta', `model.to_empty(device=...)` makes room for numbers"
            raise checks.fail("device", "one that holds numbers", "meta", remedy)
        loss.check_data(train)
        model.to(where)
        loss.to(where)
        total = len(train)
        # Solved before it is moved: the caller's data set keeps its decisions.
        effort: dict[str, Any] = {"on_failure": options.on_failure, "progress": options.bar}
        train = loss.prepare(train, **effort)
        if valid is not None:
            by_loss = options.monitor == "loss"
            valid = loss.prepare(valid, valid=True, **effort) if by_loss else valid.solve(**effort)
        train, valid = train.to(where), None if valid is None else valid.to(where)
        _standardize(model, train)
        return cls(model, loss, train, valid, where, total - len(train))

    def copied(self) -> Self:
        """With copies of model and loss, on the same data."""
        return replace(self, model=copy.deepcopy(unwrap(self.model)), loss=copy.deepcopy(self.loss))

    def loop(self, options: Options, name: str = "training") -> TrainingLoop:
        """A run from the weights that the model has; `name` is what its progress says."""
        optimizer = options.optimizer_for(self.model, self.loss)
        scheduler = options.scheduler_for(optimizer)
        trainer = Trainer(self.model, self.loss, self.train, optimizer, scheduler, options, self.device)
        history = History(planned=options.epochs, left_out=self.left_out)
        history.monitor = options.monitor
        file = None
        if options.checkpoint is not None:
            identity = identity_of(
                original(self.model), self.loss, optimizer, data_identity(self.train, self.valid),
                options.identity(len(self.train), self.train.weights), tuple(options.schedules),
            )  # fmt: skip
            file = Checkpoint(options.checkpoint, identity)
        return TrainingLoop(trainer, self.valid, file, history, name)


def _standardize(model: nn.Module, train: DecisionDataset) -> None:
    """Let a model of ours take the units of data that it is known to fit: one that is refused is as it was."""
    reference = original(model)
    if not isinstance(reference, Reference):
        return
    check_some_weight("train", train.weights)
    if reference.predicts:
        batch = train[:SOME]
        with inference(reference):
            batch.check_prediction(predict(reference, batch.features))
    reference.standardize(train)
    TrainingGroup.here().share_buffers(reference)
