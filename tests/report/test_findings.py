"""Sentences that follow from the numbers, whichever way they go."""

from __future__ import annotations

from dataclasses import replace

from foresolve.report.findings import (
    alikeness,
    difference_sentences,
    headline,
    limits,
    shortfalls,
    two_stage_gaps,
)
from foresolve.report.summary import SplitComparison
from foresolve.report.view import RunView
from report.views import published_run
from reproduce.fakes import fake_run


def difference(mean: float, low: float | None, high: float | None, k: int | None = None) -> SplitComparison:
    interval = None if low is None or high is None else (low, high)
    return SplitComparison(
        name="A-Decision", reference="A-2Stage", gained=mean, interval=interval, units=30, k=k, basis="rounded"
    )


def shifted(run: RunView, method: str, by: float) -> RunView:
    """The same run with one method's values moved."""
    moved = [
        replace(r, value=r.value + by, validation=None if r.validation is None else r.validation + by)
        if r.method == method
        else r
        for r in run.records
    ]
    return replace(run, records=moved)


def test_budgets_with_one_verdict_share_a_sentence() -> None:
    sentences = difference_sentences(
        [difference(1.0, 0.5, 1.5, 5), difference(-1.0, -1.5, -0.5, 10), difference(2.0, 1.0, 3.0, 20)]
    )
    ahead, behind = sentences
    assert all(text in ahead for text in ("1.00 [0.50, 1.50] at k = 5", "2.00 [1.00, 3.00] at k = 20"))
    assert "1.00 [0.50, 1.50] at k = 10" in behind


def test_shortfalls_come_and_go_with_the_numbers() -> None:
    run = fake_run()
    assert not any("published" in text for text in shortfalls(run))
    worse = shifted(run, "NN2-Decision", -3.0)
    assert any(
        text.startswith("NN2-Decision does not reproduce the published figure: it is below by 3.0")
        for text in shortfalls(worse)
    )
    assert any(text.startswith("NN2-Decision is behind NN2-2Stage") for text in shortfalls(worse))
    better = shifted(shifted(run, "NN2-Decision", 20.0), "NN1-Decision", 1.0)
    assert shortfalls(better) == []
    assert any(text.startswith("Chosen is ahead of TF-IDF by 7.") for text in headline(better))
    assert not any("published" in text for text in shortfalls(shifted(run, "Random", -2.0)))


def test_one_split_does_not_hide_what_is_smaller() -> None:
    run = shifted(fake_run(splits=1), "NN2-Decision", -5.0)
    sentences = shortfalls(run)
    assert any(text.startswith("NN2-Decision beside the published figure") for text in sentences)
    assert any(text.startswith("NN2-Decision minus NN2-2Stage: -") for text in sentences)


def test_limits() -> None:
    assert limits(fake_run(data="somewhere")) == []
    assert limits(fake_run()) == ["The data are generated, not the paper's."]
    assert "--quick" in limits(fake_run(quick=True, data="somewhere"))[0]
    assert "no difference can be called significant" in limits(fake_run(splits=1, data="somewhere"))[0]
    assert limits(fake_run(splits=3, data="somewhere"))[0].startswith("3 splits are few")


def test_random_decisions_tell_whether_data_are_alike() -> None:
    assert alikeness(fake_run())[0].startswith("Random reproduces the published figure (2.4")
    assert alikeness(shifted(fake_run(), "Random", 3.0))[0].startswith("Random is above the published figure")
    assert alikeness(fake_run(quick=True)) == []


def test_the_headline_names_the_best_of_what_is_learned() -> None:
    sentences = headline(fake_run())
    assert all(text in sentences[0] for text in ("NN2-Decision", "NN2-2Stage", " 2.6"))
    assert all(text in sentences[1] for text in ("NN2-Decision's, 6.1", "(15.3 %", "TF-IDF 18.7"))


def test_shares_say_what_they_are_of() -> None:
    run = fake_run("budget", protocol="paper")
    assert "% of the best decisions known)" in headline(run)[1]
    steps = [replace(r, fractional=0.95 * r.value) if r.method == "OPT" else r for r in run.records]
    sentence = headline(replace(run, records=steps))[1]
    assert all(text in sentence for text in ("k = 5", "NN1-Decision's, 49.5", "100.1 % of the best by", "Random 9.7"))


def test_two_stage_rows_far_from_the_published_ones_are_named_with_the_reason() -> None:
    assert two_stage_gaps(published_run("budget")) == []
    means = {("NN1-2Stage", 5): 49.0, ("NN1-2Stage", 10): 45.63 * 1.14, ("NN1-2Stage", 20): 99.0}
    means |= {("RF-2Stage", 5): 40.0, ("NN1-Decision", 5): 20.0}
    above, forest = two_stage_gaps(published_run("budget", "exact", means=means))
    assert above.startswith("NN1-2Stage is above the published figure by 53 % at k = 5 (49.00 ± ")
    assert " and 60 % at k = 20 (99.00 ± " in above
    assert "k = 10" not in above
    assert "Likely: Settings and epochs were chosen on validation instances;" in above
    assert forest.startswith("RF-2Stage is below the published figure by 18 % at k = 5")
    assert "Likely: " in forest
    (wide,) = two_stage_gaps(published_run("matching", data="d", means={("NN1-2Stage", None): 3.5}))
    assert wide.endswith("Both intervals allow for it.")
