"""Programs that another tool holds: files, HiGHS, cvxpy, SciPy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from torch import Tensor

from foresolve._base import checks, configs
from foresolve.problems.assembly import linear_program, program_of_cvxpy, program_of_model
from foresolve.problems.base import Sense
from foresolve.problems.parameters import Parameters
from foresolve.problems.predicted import PredictedProgram
from foresolve.problems.readers.cvxpy_program import read_cvxpy
from foresolve.problems.readers.files import read_model
from foresolve.problems.readers.highs_program import read_highs
from foresolve.problems.readers.milp import read_constraints

if TYPE_CHECKING:
    from foresolve.problems.linear import LinearProgram


class ImportedProgram(PredictedProgram):
    """How programs come from elsewhere; `LinearProgram` is one.

    Attributes
    ----------
    nominal: `theta` as the file or model has it, `(p,)`; `None` where it has none.
    shapes: of the variables of a cvxpy problem by name, in the order of `x`; see `split`.
    """

    nominal: Tensor | None = None
    shapes: Mapping[str, tuple[int, ...]] = {}

    @classmethod
    def from_mps(
        cls,
        path: str | Path,
        *,
        predict: Sequence[str] | None = None,
        predict_rows: Sequence[str] | None = None,
        sense: Sense | None = None,
    ) -> LinearProgram:
        r"""The model in an MPS or LP file, which may be compressed by gzip.

        Integers, names, sense and the objective's constant are kept; ranged rows become two inequalities. An objective
        with a quadratic part makes a `QuadraticProgram`, which has no integers: QUADOBJ, QMATRIX or the objective's
        QSECTION of an MPS file, `[ x^2 + 4 x * y ] / 2` of an LP file. The file is read strictly: numbers that are
        none, names that were not declared, entries given twice, quadratic constraints and whatever else a program
        cannot hold are refused with their line.

        Parameters
        ----------
        path: of the file; what it is shows in its first words, whatever its name.
        predict: the names of the variables whose objective coefficients are predicted, in the order of `theta`
            `(*batch, p)`; the other coefficients stay as they are. By default all are, in the order of the file.
        predict_rows: the names of the rows whose right-hand sides are predicted, demands or capacities: they follow the
            coefficients in `theta`, each as the file has it, whichever way its row is written. With `predict=[]` they
            are alone. Such a `theta` moves the feasible set (docs/parameters.md).
        sense: of an MPS file that does not state one (they are minimized, as a rule); that of the file itself wins,
            and another is refused: coefficients of `min` are costs, those of `max` gains.

        Returns
        -------
        The program; `problem.nominal` is `theta` as the file has it, the linear coefficients of the objective.

        Examples
        --------
        >>> import pathlib, tempfile, torch, foresolve
        >>> path = pathlib.Path(tempfile.mkdtemp(), "plan.lp")
        >>> _ = path.write_text('''maximize
        ...  value: 3 bread + 2 cake + 10
        ... subject to
        ...  flour: bread + 2 cake <= 8
        ...  oven: bread + cake <= 5
        ... general
        ...  cake
        ... end''')
        >>> problem = foresolve.LinearProgram.from_mps(path, predict=["cake"])
        >>> problem.nominal, problem.theta_names
        (tensor([2.], dtype=torch.float64), ('cake',))
        >>> theta = torch.tensor([[2.0], [5.0]])
        >>> x = problem.solve(theta)
        >>> x, problem.objective(x, theta)
        (tensor([[5., 0.],
                [2., 3.]]), tensor([25., 31.]))

        What there is of flour is predicted, too:

        >>> problem = foresolve.LinearProgram.from_mps(path, predict=["cake"], predict_rows=["flour"])
        >>> problem.solve(torch.tensor([[2.0, 8.0], [2.0, 4.0]]))
        tensor([[5., 0.],
                [4., 0.]])

        Gains less risk, which is quadratic:

        >>> _ = path.write_text("max worth: 3 a + 2 b + [ -2 a^2 - 4 b^2 ] / 2\nst a + b = 1\nend")
        >>> problem = foresolve.LinearProgram.from_mps(path)
        >>> type(problem).__name__, problem.Q
        ('QuadraticProgram', tensor([[2., 0.],
                [0., 4.]], dtype=torch.float64))
        """
        model = read_model(path)
        own: Sense | None = None if model.maximize is None else "max" if model.maximize else "min"
        if sense is not None and own is not None and sense != own:
            remedy = "Leave `sense` out; to turn the problem round, negate the coefficients of the file"
            raise checks.fail("sense", f"{own!r}, as the file says", repr(sense), remedy)
        chosen = sense or own or "min"
        return program_of_model(model, predict, predict_rows, chosen, ("path", f"{str(path)!r}"))

    @classmethod
    def from_highs(
        cls, model: Any, *, predict: Sequence[str] | None = None, predict_rows: Sequence[str] | None = None
    ) -> LinearProgram:
        """The model that a `highspy.Highs` holds now.

        Integers, names, sense and the objective's constant are kept; columns without a name are called `x0`, `x1`, ...
        A model with a Hessian makes a `QuadraticProgram`.

        Parameters
        ----------
        model: the `highspy.Highs`; it is read, not kept.
        predict, predict_rows: the names of the variables whose coefficients, and of the rows whose right-hand sides,
            are predicted, as for `from_mps`.

        Examples
        --------
        >>> import highspy, torch, foresolve
        >>> model = highspy.Highs()
        >>> _ = model.setOptionValue("output_flag", False)
        >>> bread, cake = model.addVariable(ub=4, name="bread"), model.addVariable(ub=2, name="cake")
        >>> _ = model.addConstr(bread + cake <= 5)
        >>> _ = model.setObjective(3 * bread + 2 * cake, highspy.ObjSense.kMaximize)
        >>> problem = foresolve.LinearProgram.from_highs(model, predict=["cake"])
        >>> problem.solve(torch.tensor([[2.0], [5.0]]))
        tensor([[4., 1.],
                [3., 2.]])
        """
        read = read_highs(model)
        sense: Sense = "max" if read.maximize else "min"
        return program_of_model(read, predict, predict_rows, sense, ("model", "a `highspy.Highs`"))

    @classmethod
    def from_cvxpy(cls, problem: Any, parameter: Any = None) -> LinearProgram:
        r"""A linear or quadratic `cvxpy.Problem` whose parameters are predicted; needs the extra `cvxpy`.

        .. math::
            \max_x \; \pm \bigl( (c_0 + S \theta)^\top x + d_0 + r^\top \theta \bigr) - \tfrac12 x^\top Q x
            \quad \text{s.t.} \quad A_{eq} x = b_0 + B \theta, \; A_{ub} x \le h_0 + H \theta, \; \ell \le x \le u

        Parameters may stand in the objective and on right-hand sides, in any way that cvxpy calls DPP; boolean and
        integer variables, sense and constants are kept. Sums of absolute values, maxima and the like are written as
        rows by cvxpy, with variables of its own behind those of the user. A quadratic objective (`quad_form`,
        `sum_squares`, `huber`, ...) makes a `QuadraticProgram` of continuous variables; squares of sums are those of
        variables of cvxpy's own, and parameters may be factors of squares, as in `risk * quad_form(x, S)`. Refused:
        what is conic or a quadratic constraint, and parameters that stand before a variable in a constraint or within
        a square: predicted covariances are given by `problem.parametrized(factor=...)`.

        Parameters
        ----------
        problem: the `cvxpy.Problem`.
        parameter: what is predicted: a `cvxpy.Parameter` or its name, or several, in the order of `theta`; by default
            all. Their entries, each in row-major order, are `theta` `(*batch, p)`, named `price[0]`, ...; other
            parameters are known by their `value`.

        Returns
        -------
        The program. `x` holds the variables in the order of `problem.variables()`, each in row-major order, and
        `split(x)` gives them by name and in their shapes; `nominal` are the values of the parameters, if they have any.

        Examples
        --------
        >>> import cvxpy as cp, torch, foresolve
        >>> charge, discharge = (cp.Variable(3, nonneg=True, name=name) for name in ("charge", "discharge"))
        >>> price = cp.Parameter(3, name="price")
        >>> stored = cp.cumsum(charge - discharge)
        >>> limits = [stored >= 0, stored <= 1, charge <= 1, discharge <= 1]
        >>> battery = cp.Problem(cp.Maximize(price @ (discharge - charge)), limits)
        >>> problem = foresolve.LinearProgram.from_cvxpy(battery, price)
        >>> x = problem.solve(torch.tensor([[10.0, 20.0, 30.0]]))
        >>> problem.split(x)["charge"], problem.split(x)["discharge"]
        (tensor([[1., 0., 0.]]), tensor([[0., 0., 1.]]))

        A portfolio, whose returns are predicted, with a known covariance:

        >>> weights, returns = cp.Variable(2, nonneg=True, name="weights"), cp.Parameter(2, name="returns")
        >>> worth = returns @ weights - cp.quad_form(weights, torch.tensor([[1.0, 0.5], [0.5, 2.0]]).numpy())
        >>> portfolio = cp.Problem(cp.Maximize(worth), [cp.sum(weights) == 1])
        >>> problem = foresolve.LinearProgram.from_cvxpy(portfolio, returns)
        >>> problem.Q
        tensor([[2., 1.],
                [1., 4.]], dtype=torch.float64)
        """
        return program_of_cvxpy(read_cvxpy(problem, parameter))

    @classmethod
    def from_milp(
        cls,
        c: Any = None,
        *,
        integrality: Any = None,
        bounds: Any = None,
        constraints: Any = None,
        sense: Sense = "min",
    ) -> LinearProgram:
        """The program of a call of `scipy.optimize.milp`, by its arguments; `theta` are costs, as `c` is.

        Parameters
        ----------
        c: the costs, which become `nominal`; `None` where there are none yet.
        integrality, bounds: as for `LinearProgram` and `milp` alike.
        constraints: a `scipy.optimize.LinearConstraint`, a tuple `(A, lb, ub)`, or a list of them.
        sense: "max" where `theta` are gains.

        Examples
        --------
        >>> import torch, foresolve
        >>> from scipy.optimize import LinearConstraint
        >>> rows = LinearConstraint([[1.0, 1.0, 1.0]], lb=2, ub=2)
        >>> problem = foresolve.LinearProgram.from_milp(constraints=rows, integrality=1, bounds=(0, 1))
        >>> problem.solve(torch.tensor([3.0, 1.0, 2.0]))
        tensor([0., 1., 1.])
        """
        nominal = None if c is None else checks.as_tensor("c", c).double()
        size = len(nominal) if nominal is not None and nominal.ndim == 1 else None
        rows = read_constraints(constraints)
        program = linear_program()(**rows, bounds=bounds, integrality=integrality, sense=sense, n=size)
        if nominal is not None and nominal.shape != (program.n,):
            raise checks.fail("c", f"({program.n},), a cost for each variable", str(tuple(nominal.shape)))
        program.nominal = nominal
        return program

    def _with_parameters(self, parameters: Parameters) -> Self:
        twin = super()._with_parameters(parameters)
        twin.nominal = None  # it was that of other parameters
        return twin

    # -- what came along ---------------------------------------------------------------------------------------------

    @property
    def blocks(self) -> dict[str, slice]:
        """Where in `x` each variable of a cvxpy problem stands, by its name."""
        ends = np.cumsum([0, *(math.prod(shape) for shape in self.shapes.values())]).tolist()
        return {name: slice(start, end) for name, start, end in zip(self.shapes, ends, ends[1:])}

    def split(self, x: Tensor) -> dict[str, Tensor]:
        """A decision by the variables of the cvxpy problem: for each name its part, `(*batch, *shape)`."""
        x = checks.as_tensor("x", x)
        checks.last_dim("x", x, self.n)
        if not self.shapes:
            raise checks.fail("problem", "made by `from_cvxpy`, which knows variables by name", f"{self!r}")
        return {name: x[..., part].reshape((*x.shape[:-1], *self.shapes[name])) for name, part in self.blocks.items()}

    def config(self) -> configs.Config:
        """As for every program, and what came along from elsewhere."""
        nominal = configs.on_cpu(self.nominal)
        came = {"nominal": nominal, "shapes": [[name, list(shape)] for name, shape in self.shapes.items()]}
        return super().config() | {name: value for name, value in came.items() if value is not None and len(value)}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """The program that `config()` describes."""
        program = super().from_config(
            {name: part for name, part in config.items() if name not in ("nominal", "shapes")}
        )
        if "nominal" in config:
            program.nominal = configs.tensor(config, "nominal").double()
            checks.last_dims("nominal", program.nominal, program.theta_shape)
        sizes = {
            str(name): tuple(configs.whole("shapes", k) for k in shape) for name, shape in config.get("shapes", ())
        }
        program.shapes = sizes
        if sum(map(math.prod, sizes.values())) > program.n:
            raise ValueError(f"`shapes` must hold at most {program.n} entries")
        return program
