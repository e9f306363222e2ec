"""Why a figure of ours is likely to differ from the published one: sentences as data.

To add one, add a `Reason` to `REASONS`. All that apply to a figure stand beside it, in this order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from foresolve.report.published import Verdict
from foresolve.report.records import Config, Measure, MethodInfo, Protocol

DIFFERENT: tuple[Verdict, ...] = ("above", "better", "not reproduced")
WORSE: tuple[Verdict, ...] = ("not reproduced",)
BETTER: tuple[Verdict, ...] = ("above", "better")
DECISION, TWO_STAGE_NETWORKS, FOREST = ("Decision",), ("NN1-2Stage", "NN2-2Stage"), ("RF-2Stage",)


@dataclass(frozen=True)
class Reason:
    """A sentence, and the figures that it is about; what is left empty is about all.

    Attributes
    ----------
    methods: names of methods without a variant, or of trainings such as "Decision".
    verdicts: those that it explains.
    measures: of Table 2, `None` standing for Table 1.
    when: whether it is true of a run.
    """

    text: str
    domains: tuple[str, ...] = ()
    protocols: tuple[Protocol, ...] = ()
    methods: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = DIFFERENT
    measures: tuple[Measure | None, ...] = ()
    when: Callable[[Config], bool] = lambda config: True

    def explains(self, config: Config, method: MethodInfo, measure: Measure | None, verdict: Verdict) -> bool:
        """Whether it is about this figure."""
        names = {method.judged, method.training}
        return (
            verdict in self.verdicts
            and (not self.domains or config.domain in self.domains)
            and (not self.protocols or config.protocol in self.protocols)
            and (not self.methods or not names.isdisjoint(self.methods))
            and (not self.measures or measure in self.measures)
            and self.when(config)
        )


def reasons(config: Config, method: MethodInfo, measure: Measure | None, verdict: Verdict) -> list[str]:
    """The sentences about a figure, none where none is known."""
    return [reason.text for reason in REASONS if reason.explains(config, method, measure, verdict)]


def generated(config: Config) -> bool:
    """Whether the instances come from a generator."""
    return config.data is None


def real(config: Config) -> bool:
    """Whether the instances come from files."""
    return config.data is not None


def in_part(config: Config) -> bool:
    """True for files that lack published rows."""
    return config.share is not None and config.share < 1


SECOND_SIGMOID = "The published code seems to apply a second sigmoid in its cross-entropy; ours does not."
REASONS: tuple[Reason, ...] = (
    # Protocol exact: what is done better on purpose.
    Reason(
        "Settings and epochs were chosen on validation instances; the published networks were not tuned.",
        protocols=("exact",),
        methods=(*DECISION, *TWO_STAGE_NETWORKS),
        verdicts=BETTER,
    ),
    Reason(
        "The layers are exact: solved to the end and differentiated without approximation.",
        protocols=("exact",),
        methods=DECISION,
        verdicts=BETTER,
        measures=(None,),
    ),
    Reason(
        "Decisions are feasible, made by greedy; the published ones are fractional, of ten steps of ascent.",
        ("budget", "recommendation"),
        ("exact",),
        (*DECISION, *TWO_STAGE_NETWORKS, *FOREST),
        measures=(None,),
    ),
    Reason(
        "Our AUC is over all entries together, the published one a mean over instances.",
        protocols=("exact",),
        measures=("auc",),
    ),
    # Protocol paper: what the paper and its code leave open, and what chance decides.
    Reason(
        "The learning rate is that of the text; the published script has another, which stands beside it.",
        ("recommendation",),
        ("paper",),
        DECISION,
    ),
    Reason(
        "Rectified outputs die: nearly all are zero for every channel, and decisions are by chance. In the paper that "
        "happened to NN2-2Stage; whether a network escapes depends on the features that a split draws.",
        ("budget",),
        ("paper",),
        ("NN1-2Stage",),
        WORSE,
    ),
    Reason(
        "20,000 steps on minibatches of 10 movies memorize the training movies; the fewer ratings there are, the more "
        "that costs (docs/results.md has figures).",
        ("recommendation",),
        ("paper",),
        TWO_STAGE_NETWORKS,
        WORSE,
    ),
    Reason(
        "The published forest decides as chance does; its script is not published.",
        ("recommendation",),
        methods=FOREST,
        measures=(None,),
    ),
    Reason(
        "The published forest has an AUC of 0.500 in every split, as a constant prediction has.",
        ("recommendation", "matching"),
        methods=FOREST,
        measures=("cross_entropy", "auc"),
    ),
    # Both.
    Reason(
        "The forest is grown on a sample of the rows, with settings of our own.",
        methods=FOREST,
    ),
    Reason(SECOND_SIGMOID, ("recommendation",), ("exact",), measures=("cross_entropy",)),
    Reason(
        SECOND_SIGMOID, ("matching",), ("exact",), ("NN1-Decision", "NN1-2Stage", *FOREST), measures=("cross_entropy",)
    ),
    # What the data are, which is about every figure and so comes last.
    Reason(
        "The edges are generated rather than Yahoo's, so levels need not agree; shares of the best can be compared.",
        ("budget",),
        when=generated,
    ),
    Reason(
        "The data are generated rather than the paper's, so levels need not agree.",
        ("matching", "recommendation"),
        when=generated,
    ),
    Reason("The ratings at hand are a part of the published ones.", ("recommendation",), when=in_part),
    Reason("The partition of the graph into instances is ours.", ("matching",), when=real),
)
