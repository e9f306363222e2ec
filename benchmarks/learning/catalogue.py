"""What is compared, and how. Standard library only."""

from __future__ import annotations

from benchmarks._harness import places

CASES_DIR = places.cases("learning")

ENVIRONMENTS: dict[str, tuple[str, ...]] = {"pyepo": ("pyepo==2.2.7", "ortools==9.15.6755", "torch")}

GRID, FEATURES, DEGREE, NOISE = (5, 5), 5, 4, 0.5
TRAIN, TEST = 1000, 1000

# Two defaults of foresolve (the step of PerturbationGradient, the iterations of CaVE) were chosen on other instances of
# this kind, seeds 0 and 1: those are not used here.
FIRST_SEED = 100

# One set of defaults for every method of both packages; nothing is tuned.
EPOCHS, BATCH, RATE = 20, 32, 0.01

FORESOLVE = (
    "least squares", "MSE", "SPOPlus", "FenchelYoung quadratic", "FenchelYoung perturbed 3",
    "FenchelYoung perturbed 10", "FenchelYoung multiplicative 10", "PerturbationGradient", "Decision quadratic",
    "Decision perturbed", "Decision blackbox", "Decision identity", "Decision IMLE", "Decision adaptive IMLE",
    "Decision Frank-Wolfe", "NCE", "MAP", "pointwise ranking", "pairwise ranking", "listwise ranking", "CaVE",
    "LODL weighted", "LODL quadratic", "score function", "true mean",
)  # fmt: skip
PYEPO = ("MSE", "SPOPlus", "FenchelYoung perturbed 3", "FenchelYoung perturbed 10", "Decision blackbox", "NCE")
QUICK = ("MSE", "SPOPlus")
