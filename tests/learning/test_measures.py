from __future__ import annotations

from foresolve.data.dataset import DecisionDataset
from foresolve.learning import compare, evaluate
from foresolve.learning.measures import MEASURES
from foresolve.learning.paired import Standing
from learning.instances import model, top_k_data


def test_every_column_of_a_report_has_a_direction_or_none() -> None:
    report = evaluate(model(), top_k_data(20))
    assert set(report.instances) <= set(MEASURES)
    assert {name for name, measure in MEASURES.items() if measure.more_is_better is None} == {"optimum", "mean_regret"}


def test_the_truth_is_ahead_of_other_predictions_by_every_measure() -> None:
    """A direction that is wrong would put it behind."""
    data = top_k_data(40)
    recorded = DecisionDataset(data.features, decisions=data.decisions, problem=data.problem)
    guesses = {"truth": data.theta, "another instance's": data.theta.flip(0)}
    seen = set()
    for scored in (data, recorded):
        reports = {name: evaluate(lambda a, guess=guess: guess[: len(a)], scored) for name, guess in guesses.items()}
        for measure in reports["truth"].instances:
            if MEASURES[measure].more_is_better is not None and measure not in ("feasible", "adjusted"):
                pair = compare(reports, reference="another instance's", measure=measure)["truth"]
                assert pair.standing is Standing.AHEAD, measure
                seen.add(measure)
    assert {"value", "regret", "relative_regret", "worst_case_regret", "mse", "identical", "hamming"} <= seen
