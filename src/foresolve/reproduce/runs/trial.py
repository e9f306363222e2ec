"""One method on one split: train, choose on validation data, score on test data."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from foresolve._base.randomness import generator
from foresolve.data.dataset import DecisionDataset
from foresolve.errors import NoImprovementWarning, WeakReferenceWarning
from foresolve.layers.base import Layer
from foresolve.learning.evaluation import evaluate
from foresolve.learning.fitting import fit
from foresolve.learning.history import History, averaged
from foresolve.learning.options import Schedule
from foresolve.learning.prediction import inference, predict
from foresolve.learning.report import Report
from foresolve.report.records import Config, Course, Job, Record
from foresolve.reproduce.domains.domain import Domain
from foresolve.reproduce.domains.methods import (
    BestMethod,
    ForestMethod,
    Method,
    NetworkMethod,
    RandomMethod,
    RecipeMethod,
    RuleMethod,
    Setting,
)
from foresolve.reproduce.runs.course import course, course_of, prediction_error
from foresolve.reproduce.runs.measures import published_measures
from foresolve.reproduce.runs.pictures import picture
from foresolve.reproduce.runs.recipe import follow
from foresolve.reproduce.runs.split import Split

# What each stream of random numbers is for; a seed, a purpose and a split make a generator.
FOREST, SPLIT, CHANCE, DRAWS, WEIGHTS, TRAINING = 0, 1, 2, 3, 4, 5
PREDICTED = nn.Identity()  # the model of instances whose features are predictions
Courses = dict[int | None, list[tuple[float | None, float | None]]]  # regret and error of epochs, by budget


@dataclass(frozen=True)
class Trained:
    """A network of the best setting, the setting, its validation value, and how its training went."""

    model: nn.Module
    setting: Setting
    value: float | None = None
    course: Course = field(default_factory=dict)


class Trial:
    """One method on one split, for one budget after the other; `picture` is what the figures need.

    Parameters
    ----------
    count: how many instances there are, whatever the budget.
    """

    def __init__(self, config: Config, job: Job, domain: Domain, count: int) -> None:
        self.config, self.job, self.domain = config, job, domain
        self.methods = domain.methods(config)
        self.split = Split.draw(count, self._stream(SPLIT))
        self.picture: dict[str, np.ndarray] = {}
        self._forecast: Tensor | None = None
        self._choices: dict[int | None, Trained] = {}
        self._carried: tuple[tuple[int | None, ...], nn.Module] | None = None  # budgets so far, and the network

    def score(self, data: DecisionDataset, k: int | None) -> Record:
        """Train on instances under a budget, where that is to be done, and decide on the test instances."""
        method, test = self.methods[self.job.method], data.subset(self.split.test)
        optimum = float(test.values.double().mean())
        blank = Record(self.config.domain, self.job.split, self.job.method, k, optimum, None, optimum)
        if isinstance(method, RandomMethod):
            return replace(blank, value=self._by_chance(method, test))
        if isinstance(method, BestMethod):
            return replace(blank, fractional=self._fractional(method.layer, test.with_features(test.theta)))
        validation: float | None = None
        setting: Setting = {}
        learned: Course = {}
        if isinstance(method, RuleMethod):
            model, held_out = method.model(data), data.subset(self._held_out)
            validation = self._report(held_out.with_features(self._predict(model, held_out))).value
            theta_hat = self._predict(model, test)
        elif isinstance(method, ForestMethod):
            theta_hat = self._forest_prediction(method, data, test)
        elif isinstance(method, RecipeMethod):
            theta_hat, setting = self._predict(self._by_recipe(method, data, k), test), {"lr": method.lr}
        else:
            trained = self._trained(method, data, k)
            setting, validation, learned = trained.setting, trained.value, trained.course
            theta_hat = self._predict(trained.model, test)
        predicted = test.with_features(theta_hat)
        report = self._report(predicted, metrics=self.config.protocol == "exact")
        self._draw(theta_hat, test, k)
        return replace(
            blank,
            value=report.value,
            fractional=None if isinstance(method, RuleMethod) else self._fractional(method.layer, predicted),
            validation=validation,
            setting=dict(setting),
            course=learned,
            **self._measures(method, report, theta_hat, test),
        )

    def _measures(
        self, method: Method, report: Report, theta_hat: Tensor, test: DecisionDataset
    ) -> dict[str, float | None]:
        """Of the predictions, as the protocol has them."""
        if self.config.protocol == "exact":
            return {"mse": report.mse, "cross_entropy": report.cross_entropy, "auc": report.auc}
        logits = isinstance(method, RecipeMethod | ForestMethod) and method.logits
        return {**published_measures(theta_hat, test.theta, logits=logits)}

    def _predict(self, model: Any, data: DecisionDataset) -> Tensor:
        with inference(model):
            return predict(model, data.features).to(data.theta.device)

    def _fractional(self, layer: Callable[[], Layer] | None, predicted: DecisionDataset) -> float | None:
        return None if layer is None else self._report(predicted, layer()).value

    @property
    def _held_out(self) -> Tensor:
        """What validation values are measured on: all training instances where networks are cross-validated."""
        folded = any(isinstance(method, NetworkMethod) and method.folds > 1 for method in self.methods.values())
        return self.split.train if folded else self.split.valid

    def _report(self, predicted: DecisionDataset, layer: Layer | None = None, metrics: bool = False) -> Report:
        """What decisions by predictions are worth."""
        return evaluate(PREDICTED, predicted, layer, metrics=metrics, bootstrap=0, device=self.config.device)

    def _by_chance(self, method: RandomMethod, test: DecisionDataset) -> float:
        source = self._stream(CHANCE)
        total = 0.0
        for _ in range(method.draws):
            x = self.domain.random(test.problem, len(test), source)
            total += float(test.problem.objective(x.to(test.theta), test.theta).double().mean())
        return total / method.draws

    def _forest_prediction(self, method: ForestMethod, data: DecisionDataset, test: DecisionDataset) -> Tensor:
        """What a forest predicts, once for all budgets: it knows none."""
        if self._forecast is None:
            forest = method.model(data, self._seed(FOREST)).fit(data.subset(self.split.train))
            self._forecast = self._predict(forest, test)
        return self._forecast

    def _trained(self, method: NetworkMethod, data: DecisionDataset, k: int | None) -> Trained:
        """The network of the best setting."""
        if not method.validate:
            setting, train = method.settings[0], data.subset(self.split.train)
            return Trained(self._fit(method, setting, data, train, None, method.epochs)[0], setting)
        if method.folds > 1:
            value, setting, learned = self._cross_validated(method, data)
            train = data.subset(self.split.train)
            model = self._fit(method, setting, data, train, None, setting["epochs"])[0]
            return Trained(model, setting, value, learned)
        if not method.per_k:
            self._choices = self._choices or self._trained_once(method, data)
            return self._choices[k]
        best: tuple[float, Trained] | None = None
        valid = data.subset(self.split.valid)
        for setting in method.settings:
            part = data.subset(self.split.part)
            model, history = self._fit(method, setting, data, part, valid, method.epochs)
            value = self._report(valid.with_features(self._predict(model, valid))).value
            if best is None or value > best[0]:
                chosen = {**setting, "epochs": max(1, history.best_epoch or 0)}
                best = value, Trained(model, chosen, value, course_of(history))
        assert best is not None
        return best[1]

    def _trained_once(self, method: NetworkMethod, data: DecisionDataset) -> dict[int | None, Trained]:
        """One training for each setting; after each epoch every budget has its validation."""
        valid = data.subset(self.split.valid)
        budgets = {k: self.domain.at(valid, k).solve(progress=False) for k in self.job.ks}
        best: dict[int | None, Trained] = {}
        reached: dict[int | None, float] = {}
        for setting in method.settings:
            courses: Courses = {k: [(None, None)] for k in budgets}  # epoch 0 cannot be chosen: it is not looked at

            def note(
                model: nn.Module, history: History, setting: Setting = setting, courses: Courses = courses
            ) -> None:
                theta_hat = self._predict(model, valid)
                error = prediction_error(theta_hat, valid)
                for k, instances in budgets.items():
                    report = self._report(instances.with_features(theta_hat))
                    courses[k].append((report.normalized_regret, error))
                    if k not in reached or report.value > reached[k]:
                        reached[k] = report.value
                        chosen = {**setting, "epochs": len(history)}
                        best[k] = Trained(copy.deepcopy(model), chosen, report.value)

            self._fit(method, setting, data, data.subset(self.split.part), None, method.epochs, note)
            new = {k: trained for k, trained in best.items() if not trained.course}  # of this setting
            best.update({k: replace(trained, course=course(*zip(*courses[k]))) for k, trained in new.items()})
        return best

    def _cross_validated(self, method: NetworkMethod, data: DecisionDataset) -> tuple[float, dict[str, Any], Course]:
        """The best mean value over all training instances, each decided by networks that have not seen it."""
        folds = self.split.shuffled.tensor_split(method.folds)
        best: tuple[float, dict[str, Any], Course] | None = None
        for setting in method.settings:
            total, histories = np.zeros(method.epochs), []
            for i, fold in enumerate(folds):
                rest = torch.cat([*folds[:i], *folds[i + 1 :]]).sort().values
                valid = data.subset(fold.sort().values)
                history = self._fit(method, setting, data, data.subset(rest), valid, method.epochs)[1]
                best_values = valid.values.double()
                regret = np.array(history.valid_regret, dtype=float)  # in units of the size of the best values
                total += float(best_values.sum()) - float(best_values.abs().sum()) * regret
                histories.append(history)
            epoch = int(total.argmax())
            mean = total[epoch] / len(self.split.train)
            if best is None or mean > best[0]:
                best = mean, {**setting, "epochs": epoch + 1}, course_of(averaged(histories))
        assert best is not None
        return best

    def _by_recipe(self, method: RecipeMethod, data: DecisionDataset, k: int | None) -> nn.Module:
        """The network of a budget; what was trained for the last one is where it starts, or all that there is to do."""
        smaller = [budget for budget in self.domain.info.ks if k is not None and budget < k]
        stages = (*(smaller if method.carried else ()), k) if method.per_k else (None,)
        if self._carried is None or stages[: len(self._carried[0])] != self._carried[0]:
            mean = float(data.theta[self.split.train].double().mean())
            self._carried = (), method.model(data, self._stream(WEIGHTS), mean).to(self.config.device)
        done, model = self._carried
        for stage in stages[len(done) :]:
            train = self.domain.at(data, stage).subset(self.split.train)
            follow(method, model, train, self._stream(DRAWS, stage or 0))
        self._carried = stages, model
        return model

    def _fit(
        self,
        method: NetworkMethod,
        setting: Setting,
        data: DecisionDataset,
        train: DecisionDataset,
        valid: DecisionDataset | None,
        epochs: int,
        note: Callable[[nn.Module, History], None] | None = None,
    ) -> tuple[nn.Module, History]:
        """A trained network; with a validation part, and no folds, it has the weights of its best epoch.

        `note` looks at it after each epoch.
        """
        mean = float(train.theta.double().mean())
        model = method.model(data, self._stream(WEIGHTS), mean)
        model.to(self.config.device)
        share = (epochs - 1) / max(method.epochs - 1, 1)  # fewer epochs end where the longer training was by then
        anneal = None if method.anneal is None else _shortened(method.anneal(setting), share)
        patience = None if valid is None or method.folds > 1 else method.patience or epochs
        with warnings.catch_warnings():
            for category in (NoImprovementWarning, WeakReferenceWarning):
                warnings.simplefilter("ignore", category)  # one setting of several; the best is taken
            history = fit(
                model, method.loss(setting), train, valid,
                epochs=epochs, batch_size=method.batch_size, optimizer=method.optimizer(model, setting),
                patience=patience, anneal=anneal, device=self.config.device, seed=self._seed(TRAINING),
                progress=False if note is None else lambda history: note(model, history),
            )  # fmt: skip
        if history.interrupted:  # `fit` ends without an error; half a training run is not a result
            raise KeyboardInterrupt
        return model, history

    def _stream(self, purpose: int, *more: int) -> torch.Generator:
        return generator(self.config.seed, purpose, self.job.split, *more)

    def _seed(self, purpose: int) -> int:
        return self._stream(purpose).initial_seed() % 2**31

    def _draw(self, theta_hat: Tensor, test: DecisionDataset, k: int | None) -> None:
        """What the figures need, for the first split and their budget."""
        wanted = self.domain.info.table2_k
        budget = wanted if wanted in self.config.ks else (*self.config.ks, None)[0]
        if not self.job.split and k == budget:
            self.picture = picture(self.domain, theta_hat, test)


def _shortened(schedule: Schedule | Mapping[str, Schedule], share: float) -> Schedule | dict[str, Schedule]:
    if isinstance(schedule, Mapping):
        return {name: lambda progress, each=each: each(progress * share) for name, each in schedule.items()}
    return lambda progress: schedule(progress * share)
