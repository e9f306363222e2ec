"""From a config to jobs, and from a job to records: split, train, choose on validation data, score on test data."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from torch import Tensor, nn

from foresolve._base import checks
from foresolve._base.devices import find_device
from foresolve._base.extras import need
from foresolve._base.files import sha256
from foresolve._base.randomness import generator
from foresolve.data.dataset import DecisionDataset
from foresolve.errors import ForesolveError
from foresolve.layers.base import Layer
from foresolve.learning.evaluation import evaluate
from foresolve.learning.fitting import fit
from foresolve.learning.history import History
from foresolve.learning.report import Report
from foresolve.report.records import Config, DomainInfo, Job, Outcome, Protocol, Record
from foresolve.reproduce.domains import budget, generated, matching, recommendation
from foresolve.reproduce.domains.domain import Domain
from foresolve.reproduce.domains.methods import (
    Best,
    Chance,
    Forest,
    Instances,
    Method,
    Network,
    Rule,
    Setting,
    depends_on_k,
)

ALL: dict[str, Domain] = {
    domain.info.name: domain for domain in (budget.DOMAIN, matching.DOMAIN, recommendation.DOMAIN, *generated.DOMAINS)
}
DOMAINS: dict[str, DomainInfo] = {name: domain.info for name, domain in ALL.items()}
PAPER = ("budget", "matching", "recommendation")
TEST, VALIDATION = 0.2, 0.2  # of all instances, and of the others
LARGEST_K = 30  # the sites of facility location, the fewest items that any domain has


def plan(
    domain: str,
    *,
    protocol: Protocol = "exact",
    splits: int | None = None,
    ks: Sequence[int] | None = None,
    methods: Sequence[str] | None = None,
    seed: int = 0,
    quick: bool = False,
    data: str | Path | None = None,
    device: str = "cpu",
) -> Config:
    """A config with everything filled in; wrong arguments and missing or damaged files are errors here, not later."""
    if domain not in ALL:
        raise checks.fail("domain", f"one of {', '.join(ALL)}", repr(domain))
    if protocol not in get_args(Protocol):
        raise checks.fail("protocol", f"one of {', '.join(get_args(Protocol))}", repr(protocol))
    if protocol == "paper" and domain not in PAPER:
        raise checks.fail("protocol", f'"exact" for {domain}, which is not in the paper', repr(protocol))
    found = ALL[domain]
    if data is not None and found.files is None:
        raise checks.fail("data", f"not given for {domain}, which is generated", str(data))
    place, files, source = _real_data(found, data)
    find_device(device, nn.Identity())
    config = Config(
        domain, protocol, splits=checks.positive_int("splits", (3 if quick else 30) if splits is None else splits),
        ks=_budgets(found.info, ks, quick), seed=checks.positive_int("seed", seed, zero=True), quick=bool(quick),
        data=place, source=source, files=files, device=device,
    )  # fmt: skip
    table = found.methods(config)
    known = list(table)
    wanted = known if methods is None else list(methods)
    if not wanted:
        raise checks.fail("methods", f"some of {', '.join(known)}", "none")
    for name in wanted:
        if name not in known:
            raise checks.fail("methods", f"among those of {domain}: {', '.join(known)}", repr(name))
    if any(isinstance(table[name], Forest) for name in wanted):
        need("sklearn.ensemble", "RF-2Stage", "learn")
    return replace(config, methods=tuple(name for name in known if name in wanted))


def jobs(config: Config) -> list[Job]:
    """All that there is to do: split by split, the methods whose training depends on the budget once for each."""
    table, ks = ALL[config.domain].methods(config), config.ks or (None,)
    listed = []
    for split in range(config.splits):
        for name in config.methods:
            groups: Iterable[tuple[int | None, ...]] = ((k,) for k in ks) if depends_on_k(table[name]) else [tuple(ks)]
            listed += [Job(config.domain, split, name, group) for group in groups]
    return listed


def work(config: Config, job: Job) -> Outcome:
    """Do a job. Its numbers depend on config, split, method and budget alone, not on what was done before it."""
    began = time.perf_counter()
    data = instances(replace(config, splits=0, methods=()))
    method = ALL[config.domain].methods(config)[job.method]
    trial = _Trial(config, job, data)
    found = [trial.score(method, k) for k in job.ks]
    seconds = (time.perf_counter() - began) / len(found)
    return Outcome(tuple(replace(record, seconds=seconds) for record in found), trial.picture)


def instances(config: Config) -> Instances:
    """The instances of a run, as data sets for each budget: `instances(plan("matching")).dataset(None)`."""
    return _instances(_Key(config))


@dataclass(frozen=True)
class _Key:
    """A config by what its instances depend on."""

    config: Config

    def __hash__(self) -> int:
        return hash((self.config.domain, self.config.seed, self.config.quick, self.config.data, self.config.ks))


@lru_cache(maxsize=1)  # a worker goes through one domain after the other
def _instances(key: _Key) -> Instances:
    return ALL[key.config.domain].build(key.config)


class _Trial:
    """One method on one split."""

    def __init__(self, config: Config, job: Job, data: Instances) -> None:
        self.config, self.job, self.data = config, job, data
        order = torch.randperm(len(data), generator=generator(config.seed, 1, job.split))
        tests = max(1, round(TEST * len(data)))
        self.test, self.shuffled = order[:tests].sort().values, order[tests:]
        held = max(1, round(VALIDATION * len(self.shuffled)))
        self.valid, self.part = self.shuffled[:held].sort().values, self.shuffled[held:].sort().values
        self.train = self.shuffled.sort().values
        self.picture: dict[str, np.ndarray] = {}
        self._fitted: tuple[Any, Setting] | None = None

    def score(self, method: Method, k: int | None) -> Record:
        """Train where that is to be done, and decide on the test instances."""
        whole = self.data.dataset(k)
        test = whole.subset(self.test)
        optimum = float(test.values.double().mean())
        blank = Record(self.config.domain, self.job.split, self.job.method, k, optimum, None, optimum)
        if isinstance(method, Best):
            return blank
        if isinstance(method, Chance):
            return replace(blank, value=self._by_chance(method, test))
        if isinstance(method, Rule):
            model, setting, layer = method.model(self.data), {}, None
            validation = self._report(model, whole.subset(self._held_out), metrics=False).value
        elif isinstance(method, Forest):
            model, setting, layer = self._grown(method, whole), {}, method.layer
            validation = None
        else:
            model, setting, validation = self._trained(method, whole, k)
            layer = method.layer
        report = self._report(model, test)
        fractional = None if layer is None else self._report(model, test, layer(), metrics=False).value
        self._draw(model, test, k)
        return replace(
            blank,
            value=report.value,
            fractional=fractional,
            validation=validation,
            mse=report.mse,
            cross_entropy=report.cross_entropy,
            auc=report.auc,
            setting=dict(setting),
        )

    @property
    def _held_out(self) -> Tensor:
        """What validation values are measured on: all training instances where networks are cross-validated."""
        table = ALL[self.config.domain].methods(self.config).values()
        return self.train if any(isinstance(m, Network) and m.folds > 1 for m in table) else self.valid

    def _report(self, model: Any, data: DecisionDataset, layer: Layer | None = None, metrics: bool = True) -> Report:
        device = self.config.device if isinstance(model, nn.Module) else None
        return evaluate(model, data, layer, metrics=metrics, bootstrap=0, device=device)

    def _by_chance(self, method: Chance, test: DecisionDataset) -> float:
        source = generator(self.config.seed, 2, self.job.split)
        total = 0.0
        for _ in range(method.draws):
            x = self.data.random(test.problem, len(test), source)
            total += float(test.problem.objective(x.to(test.theta), test.theta).double().mean())
        return total / method.draws

    def _grown(self, method: Forest, whole: DecisionDataset) -> nn.Module:
        if self._fitted is None:
            model = method.model(self.data, self._seed(0))
            self._fitted = model.fit(whole.subset(self.train)), {}
        return self._fitted[0]

    def _trained(self, method: Network, whole: DecisionDataset, k: int | None) -> tuple[Any, Setting, float | None]:
        """The network of the best setting, the setting, and its validation value."""
        if not method.validate:
            if self._fitted is None or method.per_k:
                setting = method.settings[0]
                model = self._fit(method, setting, self._drawn(method, whole), None, method.epochs)[0]
                self._fitted = model, setting
            return self._fitted[0], self._fitted[1], None
        if method.folds > 1:
            value, setting = self._cross_validated(method, whole)
            model = self._fit(method, setting, whole.subset(self.train), None, setting["epochs"])[0]
            return model, setting, value
        best: tuple[float, nn.Module, dict[str, Any]] | None = None
        valid = whole.subset(self.valid)
        for setting in method.settings:
            model, history = self._fit(method, setting, whole.subset(self.part), valid, method.epochs)
            value = self._report(model, valid, metrics=False).value
            if best is None or value > best[0]:
                best = value, model, {**setting, "epochs": (history.best_epoch or 0) + 1}
        assert best is not None
        return best[1], best[2], best[0]

    def _cross_validated(self, method: Network, whole: DecisionDataset) -> tuple[float, dict[str, Any]]:
        """The best mean value over all training instances, each decided by networks that have not seen it."""
        folds = self.shuffled.tensor_split(method.folds)
        best: tuple[float, dict[str, Any]] | None = None
        for setting in method.settings:
            total = np.zeros(method.epochs)
            for fold in folds:
                others = torch.cat([other for other in folds if other is not fold]).sort().values
                valid = whole.subset(fold.sort().values)
                history = self._fit(method, setting, whole.subset(others), valid, method.epochs)[1]
                best_values = valid.values.double()
                regret = np.array(history.valid_regret, dtype=float)  # in units of the size of the best values
                total += float(best_values.sum()) - float(best_values.abs().sum()) * regret
            epoch = int(total.argmax())
            if best is None or total[epoch] / len(self.train) > best[0]:
                best = total[epoch] / len(self.train), {**setting, "epochs": epoch + 1}
        assert best is not None
        return best

    def _drawn(self, method: Network, whole: DecisionDataset) -> DecisionDataset:
        if method.draws is None:
            return whole.subset(self.train)
        source = generator(self.config.seed, 3, self.job.split)
        places = torch.randint(len(self.train), (method.draws,), generator=source)
        return whole.subset(self.train[places])

    def _fit(
        self, method: Network, setting: Setting, train: DecisionDataset, valid: DecisionDataset | None, epochs: int
    ) -> tuple[nn.Module, History]:
        """A trained network; with a validation part, and no folds, it has the weights of its best epoch."""
        mean = float(train.theta.double().mean())
        model = method.model(self.data, generator(self.config.seed, 4, self.job.split), mean)
        model.to(self.config.device)
        share = (epochs - 1) / max(method.epochs - 1, 1)  # fewer epochs end where the longer training was by then
        anneal = None if method.anneal is None else _shortened(method.anneal(setting), share)
        patience = None if valid is None or method.folds > 1 else method.patience or epochs
        history = fit(
            model, method.loss(setting), train, valid,
            epochs=epochs, batch_size=method.batch_size, optimizer=method.optimizer(model, setting),
            patience=patience, anneal=anneal, device=self.config.device, seed=self._seed(5), progress=False,
        )  # fmt: skip
        if history.interrupted:  # `fit` ends without an error; half a training is no result
            raise KeyboardInterrupt
        return model, history

    def _seed(self, purpose: int) -> int:
        return generator(self.config.seed, purpose, self.job.split).initial_seed() % 2**31

    def _draw(self, model: Any, test: DecisionDataset, k: int | None) -> None:
        """What the figures need."""
        info = DOMAINS[self.config.domain]
        asked = info.table2_k if info.table2_k in self.config.ks else (*self.config.ks, None)[0]
        if self.job.split or k != asked or self.data.shape is None:
            return
        if isinstance(model, nn.Module):
            model.cpu().eval()
        with torch.no_grad():
            theta_hat = model(test.features)
        shape = (len(test), *self.data.shape)
        truth, predicted = (_array(theta.reshape(shape)) for theta in (test.theta, theta_hat))
        self.picture = {
            "theta": truth[0],
            "theta_hat": predicted[0],
            "true_weight": truth.sum(-1),
            "predicted_weight": predicted.sum(-1),
        }


def _array(theta: Tensor) -> np.ndarray:
    return theta.detach().float().cpu().numpy()


def _shortened(schedule: Callable[[float], Any], share: float) -> Callable[[float], Any]:
    return lambda progress: schedule(progress * share)


def _budgets(info: DomainInfo, ks: Sequence[int] | None, quick: bool) -> tuple[int, ...]:
    if not info.ks:
        if ks:
            raise checks.fail("ks", f"not given for {info.name}, which has no budget", ", ".join(map(str, ks)))
        return ()
    default = (info.table2_k,) if quick and info.table2_k is not None else info.ks
    chosen = tuple(sorted({checks.positive_int("ks", k) for k in (ks or default)}))
    if chosen[-1] > LARGEST_K:
        raise checks.fail("ks", f"at most {LARGEST_K}", str(chosen[-1]))
    return chosen


def _real_data(domain: Domain, data: str | Path | None) -> tuple[str | None, dict[str, str], str]:
    """The folder, the checksums of its files, and what they are: all is read once, to see that it can be."""
    if data is None or domain.files is None or domain.read is None:
        return None, {}, "generated"
    place = Path(data).resolve()
    try:
        paths = domain.files(place)
    except ForesolveError:
        if domain.optional and place.is_dir():
            return None, {}, "generated, for the data folder has no file for it"
        raise
    return str(place), {path.name: sha256(path) for path in paths}, domain.read(place)
