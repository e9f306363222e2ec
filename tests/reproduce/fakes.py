"""Runs with made-up records near the paper's figures: for tables, figures and pages, without any training."""

from __future__ import annotations

from typing import Any

import numpy as np

from foresolve.report.published import TABLE1, TABLE2
from foresolve.report.records import Config, Course, DomainInfo, MethodInfo, Record
from foresolve.report.view import RunView
from foresolve.reproduce.domains.methods import METHODS

PAPER_METHODS = ("NN1-Decision", "NN2-Decision", "NN1-2Stage", "NN2-2Stage", "RF-2Stage")
BEST = {5: 52.0, 10: 75.0, 20: 101.0, None: 40.0}
INFOS = {
    "budget": DomainInfo(
        "budget", "Budget allocation", ("Channels reach customers.", "Choose k channels."), (5, 10, 20), 10, ("mse",),
        "channels", "customers", ("NN1-2Stage", "NN1-Decision"), METHODS,
    ),
    "matching": DomainInfo(
        "matching", "Bipartite matching", ("Papers & citations.",), (), None, ("cross_entropy", "auc"),
        "papers", "papers of the other side", ("NN2-2Stage", "NN2-Decision"),
        {**METHODS, "TF-IDF": MethodInfo("heuristic")}, False,
    ),
    "recommendation": DomainInfo(
        "recommendation", "Diverse recommendation", ("Movies and actors.",), (5, 10, 20), 10,
        ("cross_entropy", "auc"), "movies", "actors", ("NN2-2Stage", "NN2-Decision"),
        {**METHODS, "Most rated": MethodInfo("heuristic")},
    ),
}  # fmt: skip


def record(split: int, method: str, value: float, **more: Any) -> Record:
    """A record of the matching domain, unless told otherwise."""
    defaults: dict[str, Any] = {"domain": "matching", "k": None, "fractional": None, "optimum": 40.0}
    return Record(split=split, method=method, value=value, **{**defaults, **more})


def course(method: str) -> Course:
    """Of a network: regret falls, and so do the errors of predictions where they are what is trained for."""
    if method not in PAPER_METHODS or "RF" in method:
        return {}
    return {"regret": [0.5, 0.3, 0.25], "mse": [1.0, 0.5, 0.4] if method.endswith("2Stage") else [1.0, 2.0, 9.0]}


def fake_run(
    domain: str = "matching", *, splits: int = 30, pictures: bool = True, curves: bool = True, **config: Any
) -> RunView:
    """Records at the published figures plus noise; heuristics and "OPT" beside them."""
    info = INFOS[domain]
    rng = np.random.default_rng(7)
    ks: tuple[int | None, ...] = info.ks or (None,)
    heuristics = dict.fromkeys(info.heuristics, 18.8)
    methods = (*PAPER_METHODS, *info.heuristics, "Random", "OPT")
    records: list[Record] = []
    for split in range(splits):
        luck = rng.normal()
        for k in ks:
            for method in methods:
                paper = TABLE1.get((domain, method, k))
                base = BEST[k] if method == "OPT" else heuristics.get(method, 0.0) if paper is None else paper.mean
                value = base * (1 + 0.01 * luck) + 0.1 * rng.normal()
                learned = method in PAPER_METHODS
                scores: dict[str, Any] = {
                    m: f.mean for (d, name, m), f in TABLE2.items() if (d, name) == (domain, method)
                }
                records.append(
                    Record(
                        domain, split, method, k, value, value + 0.3 if learned and "RF" not in method else None,
                        BEST[k], value - 0.2 if learned or method in heuristics else None, seconds=1.5,
                        course=course(method) if curves else {}, **scores,
                    )
                )  # fmt: skip
    chosen = Config(domain, splits=splits, ks=info.ks, methods=methods, **config)
    versions = {"foresolve": "0.1.0", "torch": "2.9.0", "date": "2025-01-01"}
    drawn = {method: picture(domain, method) for method in info.figure_methods} if pictures else {}
    return RunView(chosen, versions, records, drawn, info, 754.0)


def picture(domain: str, method: str) -> dict[str, np.ndarray]:
    """A sparse truth and a prediction: a blurred truth for two-stage, large row effects for decision-focused."""
    rng = np.random.default_rng(3)
    rows, columns, instances = (50, 50, 6) if domain == "matching" else (100, 500, 30)
    weight = rng.pareto(1.5, (instances, rows)) + 0.2
    true = (rng.random((rows, columns)) < np.minimum(0.02 * weight[0], 0.8)[:, None]) * rng.random((rows, columns))
    decided = decisions(true, columns if domain == "matching" else 0, method)
    if method.endswith("2Stage"):
        return decided | {"theta": true, "theta_hat": 0.3 * true + 0.05 * rng.random(true.shape), "true_weight": weight,
                "predicted_weight": 0.5 * weight + rng.random(weight.shape)}  # fmt: skip
    return decided | {
        "theta": true, "theta_hat": true.sum(1, keepdims=True) + rng.random((1, columns)), "true_weight": weight,
        "predicted_weight": 13 + 3 * weight + 0.3 * rng.random(weight.shape),
    }  # fmt: skip


def decisions(true: np.ndarray, pairs: int, method: str, count: int = 3) -> dict[str, np.ndarray]:
    """The best ten items, or pairs, of some instances; two-stage training takes others."""
    truth = np.stack([(true * (1 + i)).ravel() if pairs else true.sum(1) * (1 + i) for i in range(count)])
    best = np.zeros_like(truth)
    np.put_along_axis(best, np.argsort(-truth, 1)[:, :10], 1.0, 1)
    made = np.roll(best, 1, 1) if method.endswith("2Stage") else best
    return {"item_truth": truth, "item_predicted": truth + 0.25, "decision": made, "best_decision": best,
            "decision_value": (made * truth).sum(1), "best_value": (best * truth).sum(1)}  # fmt: skip
