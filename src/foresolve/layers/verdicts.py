"""What a layer says of a batch that was not solved to the end."""

from __future__ import annotations

import torch

from foresolve._base import checks
from foresolve.errors import ConvergenceWarning, InfeasibleError
from foresolve.problems.linear import LinearProgram
from foresolve.solvers.arrays import to_array, to_tensor
from foresolve.solvers.exact.highs import is_feasible
from foresolve.solvers.projection.polytope import Polytope
from foresolve.solvers.projection.project import ProjectionResult
from foresolve.solvers.status import Status


def report(
    result: ProjectionResult, problem: LinearProgram, polytope: Polytope, batch: torch.Size, tol: float, max_iter: int
) -> bool:
    """Whether all instances converged; raises for infeasible ones, warns of the others."""
    if not bool((result.status != int(Status.CONVERGED)).any()):
        return True
    status = to_tensor(result.status)
    late, ill, infeasible = (
        (status == int(kind)).nonzero().flatten().tolist()
        for kind in (Status.MAX_ITER, Status.ILL_CONDITIONED, Status.INFEASIBLE)
    )
    # Where all rows hold, x itself shows that there is a decision.
    broken = to_tensor(result.face.broken).cpu().amax(-1) if polytope.rows.m else torch.zeros(len(status))
    unclear = [i for i in late + ill if float(broken[i]) > tol]
    infeasible = sorted(infeasible + [i for i in unclear if not is_feasible(polytope.detach(), i)])
    if infeasible:
        raise InfeasibleError(
            "no decision satisfies the constraints of {instances}",
            infeasible,
            checks.instance_names(infeasible, batch),
            remedy="Check the right-hand sides and bounds (`problem.check(x)` says what a given x breaks)",
        )
    if late:
        _warn_of_late(late, result, problem, batch, tol, max_iter)
    if ill:
        worst = float(to_tensor(result.residual)[ill].max())
        checks.warn(
            f"{checks.instance_names(ill, batch)}: ill-conditioned. Rounding of the data may "
            f"move x by up to {worst:.1e} of its size. Raise gamma ({_weakness(problem)}), or drop rows that nearly "
            "repeat others; `layer.solve(...).residual` has the figure of each instance",
            ConvergenceWarning,
        )
    return False


def _weakness(problem: LinearProgram) -> str:
    """What a larger gamma would mend."""
    return "theta / gamma is large against x" if problem.linear else "Q + 2 gamma I is nearly singular"


def _warn_of_late(
    late: list[int], result: ProjectionResult, problem: LinearProgram, batch: torch.Size, tol: float, max_iter: int
) -> None:
    residual, spent = to_tensor(result.residual), to_tensor(result.iterations)
    worst = max(late, key=lambda i: float(residual[i]))
    broken = to_array(to_tensor(result.face.broken)[worst].cpu())
    row = int(broken.argmax()) if len(broken) else 0
    if len(broken) and broken[row] > tol:
        what = f"{problem.row_name(row)} is broken by {broken[row]:.1e} of the size of its terms"
    else:
        what = "its rows hold, but no multipliers explain it"
    exhausted = bool(to_tensor(result.exhausted)[late].any())
    checks.warn(
        f"{checks.instance_names(late, batch)} did not reach tol={tol:g} after {int(spent[late].max())} linear systems "
        f"(max_iter={max_iter}{', used up' if exhausted else ''}). The best iterate is returned: residual "
        f"{float(residual[worst]):.1e}"
        f"{f', worst in {checks.instance_names([worst], batch)}' if len(late) > 1 else ''}, where {what}. "
        f"{'Raise max_iter or gamma' if exhausted else 'Raise gamma'}, drop rows that nearly repeat others, or bring "
        "rows and bounds to similar sizes",
        ConvergenceWarning,
    )
