"""Data sets of instances."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, overload

from foresolve._base import checks
from foresolve._base.progress import Progress, reporting
from foresolve._base.randomness import Seed, as_generator
from foresolve.data.batch import NoThetaError
from foresolve.data.frames.assembly import assemble
from foresolve.data.frames.forms import Form
from foresolve.data.inputs import first_table
from foresolve.data.lags import check_order, checked_lags, lagged_features, lagged_names
from foresolve.data.loader import Loader, UnpackedLoader
from foresolve.data.neighbors import robust_targets
from foresolve.data.parts import DivisibleInstances
from foresolve.problems.base import Problem


class DecisionDataset(DivisibleInstances):
    """Features, true parameters and a problem; the best decisions under the truth are computed once, on first use.

    Where only decisions are on record, `DecisionDataset(features, decisions=y, problem=problem)` is what can be learned
    from: with losses that need nothing else (`loss.uses_theta` is False), and scored by agreement instead of regret.

    Parameters
    ----------
    features: `(N, ...)`, or a dict or tuple of such arrays. NumPy, torch, pandas or Arrow: tensors keep their dtype,
        anything else gets torch's default dtype (`torch.get_default_dtype()`, float32 unless you changed it).
    theta: the true parameters `(N, *shape)`, in the same formats; `None` where only decisions are known. Of a frame
        (and of one of decisions) columns are matched with the problem's names, where it has them; only names that are
        strings are matched. Rows of pandas frames are matched by their index, and put into its order where all tables
        have one; `from_frames` reads text, dates, the long form and files, and fills what is missing.
    problem: shared by all instances, or with one feasible set for each (`problem.batch_shape == (N,)`).
    decisions, values: the best decisions `(N, n)` and their objectives `(N,)`, where they are known. Without `theta`,
        the decisions on record.
    cache: a file that keeps decisions and values (`.npz`, no pickle). It is keyed by `theta` and all data of the
        problem: with other data it is not used but replaced. A data set with a cache is solved before it is split.
    labels: further tables `(N, ...)` by name that say which instances these are (numbers of papers, say); they follow
        their instances into parts, and no model sees them.
    weights: how much each instance counts, `(N,)`, not negative and not all zero. `fit` minimizes the mean of
        `w_i loss_i` with weights scaled to a mean of 1 over the training set, and `evaluate` gives weighted means.
    check: whether decisions on record, without `theta`, must be feasible. Fractional ones, such as the mean of several
        people's decisions, need only be so with integrality left aside.

    Attributes
    ----------
    feature_names: the columns of features that came as one frame with names; models that know theirs get the columns
        in their order. `None` for anything else, and where names are not strings.
    keys, times, reader, imputed: what identifies each instance, when it is from, how a frame of features is read, and
        whose truth was filled in, where the data came from frames; `None` otherwise.
    positions: `(N,)`, where the instances were in the data set that was made first: parts of parts, folds and what
        `solve` leaves know where they come from.
    skipped: positions, in the data set it came from, of the instances that `solve(on_failure="skip")` left out.

    Examples
    --------
    >>> import torch
    >>> from foresolve.data import DecisionDataset
    >>> from foresolve.problems import TopK
    >>> data = DecisionDataset(torch.zeros(6, 2), torch.arange(18.0).reshape(6, 3), TopK(3, 1))
    >>> data[:2].theta
    tensor([[0., 1., 2.],
            [3., 4., 5.]])
    >>> data.values
    tensor([ 2.,  5.,  8., 11., 14., 17.])
    >>> train, test = data.split(0.5, 0.5, seed=0)
    >>> [len(batch) for batch in train.loader(batch_size=2)]
    [2, 1]

    Decisions alone:

    >>> chosen = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    >>> DecisionDataset(torch.zeros(2, 4), decisions=chosen, problem=TopK(3, 1)).has_theta
    False
    """

    @classmethod
    def from_frames(
        cls,
        features: Any,
        theta: Any = None,
        problem: Problem | None = None,
        *,
        key: str | Sequence[str],
        variable: str | Sequence[str] | None = None,
        value: str | None = None,
        columns: Sequence[str] | None = None,
        encode: Mapping[str, Any] | None = None,
        missing: Any = "refuse",
        weights: str | None = None,
        dates: str | bool | None = None,
    ) -> Self:
        """From a user's own tables, matched by key and by name: the order of rows and columns never matters.

        Tables are frames (pandas, polars, Arrow) or files: paths, or a `TableFile` for a text file with decimal commas,
        marks between thousands or dates that are not ISO. Instances are put into the order of their keys, of time where
        these are dates. What one table has and another lacks is refused, and named.

        Parameters
        ----------
        features: one row per instance; or one per instance and variable, where it has the columns `variable`: then
            features are `(N, variables, d)`, and a model predicts each variable from its own row.
        theta: the true parameters. Wide: one row per instance, a column for each of the problem's names. Long: one row
            per instance and variable. `None` where they are columns of `features`.
        problem: with names (`names=`, `from_frame`).
        key: the column, or columns, that identify an instance, in both tables.
        variable, value: of the long form, the column that names the variable (several for pairs: `("worker", "job")`),
            and the one with its parameter.
        columns: which columns to predict from; by default all that are nothing else.
        encode: how, by column: "number", "category" (an indicator for each), "date" (season, weekday, time of day),
            "trend" (days since the first), "ignore", or several of these. By default numbers are numbers, text is a
            category, dates are dates, and key columns are not used; `print(data.reader.encoding)` says what was done.
        missing: the rule for missing entries, of both tables or `{"features": rule, "theta": rule}`: "refuse" them,
            "drop" the instance (also one that a table lacks), fill in the "mean" or "median" of the column (the most
            frequent category), or the "previous" value in time. `data.origin.missing` has the count, `data.imputed` the
            instances whose truth was filled.
        weights: a column of `features` that says how much an instance counts.
        dates: the column that says when an instance is from, where it is not a key, or False if a date is only a name.

        Examples
        --------
        >>> import pandas, foresolve
        >>> roads = pandas.DataFrame({"road": ["r1", "r2", "r3"], "from": ["A", "A", "B"], "to": ["B", "C", "C"]})
        >>> problem = foresolve.ShortestPath.from_frame(roads, "A", "C", tail="from", head="to", name="road")
        >>> days = pandas.DataFrame({"day": ["2024-05-02", "2024-05-01"], "rain": [0.0, 3.5]})
        >>> times = pandas.DataFrame({"r3": [4.0, 1.0], "r1": [2.5, 2.0], "r2": [5.0, 5.0], "day": days["day"]})
        >>> data = foresolve.DecisionDataset.from_frames(days, times, problem, key="day")
        >>> data.keys[0], data.features[0], data.theta[0]
        ('2024-05-01', tensor([3.5000]), tensor([2., 5., 1.]))
        >>> problem.path(data.decisions[0])
        ['A', 'B', 'C']
        """
        if not isinstance(problem, Problem):
            raise checks.fail("problem", "a foresolve Problem", type(problem).__name__)
        form = Form.of(key, variable, value, columns, encode=encode, weights=weights, dates=dates)
        tables = assemble(features, theta, problem, form, missing)
        data = cls(
            tables.features.to(problem.device), tables.theta.to(problem.device), problem,
            weights=tables.weights if tables.weights is None else tables.weights.to(problem.device),
        )  # fmt: skip
        data.origin, data.feature_names = tables.origin, tables.names
        return data

    @overload
    def loader(
        self, batch_size: int, *, seed: Seed = 0, shuffle: bool = True, drop_last: bool = False,
        unpacked: Literal[False] = False,
    ) -> Loader: ...  # fmt: skip

    @overload
    def loader(
        self, batch_size: int, *, seed: Seed = 0, shuffle: bool = True, drop_last: bool = False,
        unpacked: Literal[True],
    ) -> UnpackedLoader: ...  # fmt: skip

    def loader(
        self, batch_size: int, *, seed: Seed = 0, shuffle: bool = True, drop_last: bool = False, unpacked: bool = False
    ) -> Loader | UnpackedLoader:
        """Batches, in a new order each time it is iterated over; a plain `DataLoader` works too, and is slower.

        With `unpacked`, tuples `(features, theta, decision, value)` as PyEPO's loaders give them: `value` is `(B, 1)`
        and in the problem's own sense, a cost where costs are minimized.
        """
        generator = as_generator("seed", seed) if shuffle else None
        loader = Loader(self, checks.positive_int("batch_size", batch_size), generator, drop_last)
        if not unpacked:
            return loader
        if not self.has_theta:  # decisions alone have no value
            raise NoThetaError("this data set")
        self.solve()
        return UnpackedLoader(loader)

    # -- other targets -----------------------------------------------------------------------------------------------

    def robust(self, k: int = 10, weight: float = 0.5, *, progress: bool | Progress | None = None) -> Self:
        r"""The same instances with targets that hold for their neighbors too: for training, where the truth is noisy.

        With :math:`N_i` the `k` nearest other instances of `i` by the Euclidean distance of their features,

        .. math::
            \theta_{ij} = w \, \theta_i + (1 - w) \, \theta_j, \qquad
            \theta_i' = \frac1k \sum_{j \in N_i} \theta_{ij}, \qquad
            x_i' = \frac1k \sum_{j \in N_i} x^*(\theta_{ij}), \qquad
            v_i' = \frac1k \sum_{j \in N_i} f(x^*(\theta_{ij}), \theta_{ij})

        take the place of the parameters, the best decision and its value. The objective must be linear: then
        :math:`v_i' - f(x, \theta_i')` is the mean regret of a decision `x` over the neighbors, and `SPOPlus` has the
        subgradient :math:`2 (\tilde x - x_i')` with :math:`\tilde x` the best decision for :math:`2 \hat c - c_i'`.
        :math:`x_i'` lies in the hull of the decisions: `FenchelYoung` and `Imitation` take it too (`CaVE` wants a
        vertex, and warns). Score models on the data as they are (Schutte, Postek and Yorke-Smith, *Robust Losses for
        Decision-Focused Learning*, IJCAI 2024).

        Parameters
        ----------
        k: how many neighbors; at most all other instances. `N k` problems are solved, once.
        weight: :math:`w` in [0, 1], of an instance itself; 1 leaves everything as it is.
        progress: as in `solve`.

        Features count as they are: scale them first, so that a distance means something. Nearest neighbors are looked
        for among these instances alone: split the data before. Another problem comes before too,
        `data.with_problem(problem).robust()`: afterwards, `with_problem` keeps the mean parameters alone, and works
        out one best decision for each.

        Examples
        --------
        >>> import torch
        >>> from foresolve.data import DecisionDataset
        >>> from foresolve.problems import TopK
        >>> theta = torch.tensor([[1.0, 0.0], [0.0, 3.0], [4.0, 0.0]])
        >>> data = DecisionDataset(torch.tensor([[0.0], [1.0], [9.0]]), theta, TopK(2, 1))
        >>> data.robust(k=1).theta[0], data.robust(k=1).decisions[0]
        (tensor([0.5000, 1.5000]), tensor([0., 1.]))
        """
        with reporting(progress, "robust targets") as report:
            targets = robust_targets(self.features, self.theta, self.problem, k, weight, report)
        twin = copy.copy(self)
        twin._theta, twin._decisions, twin._values = targets
        twin.cache = None
        return twin

    # -- other features ----------------------------------------------------------------------------------------------

    def lagged(self, *lags: int) -> Self:
        """For rows in the order of time: the true parameters of the rows `lag` earlier, appended to the features.

        Features must be one table `(N, d)`, parameters `(N, p)`. The columns of the first lag come first; those of a
        frame are called "<name of the parameter> lag <lag>", where the problem has names of parameters too. The first
        `max(lags)` instances, which lack an earlier truth, are left out; `positions` says so. Parts of data that are
        shuffled are refused: call it before `split(shuffle=False)`; so are dated rows where several have the same time.
        `LastValue` predicts from these columns.

        Parameters
        ----------
        lags: different numbers of rows, each at least 1. When a decision is taken, the truth of that many rows before
            must be known.

        Examples
        --------
        >>> import torch
        >>> from foresolve.data import DecisionDataset
        >>> from foresolve.problems import TopK
        >>> data = DecisionDataset(torch.zeros(5, 1), torch.arange(10.0).reshape(5, 2), TopK(2, 1))
        >>> data.lagged(1, 3).features
        tensor([[0., 4., 5., 0., 1.],
                [0., 6., 7., 2., 3.]])
        >>> data.lagged(1, 3).theta
        tensor([[6., 7.],
                [8., 9.]])
        """
        check_order(self.positions, self.times)
        numbers = checked_lags(lags, len(self))
        features = lagged_features(self.features, self.theta, numbers)
        names = lagged_names(self.feature_names, self.problem.theta_names, numbers)
        if self.cache is not None:
            self.solve()
        part = self.subset(slice(max(numbers), None)).with_features(features)
        part.feature_names = names
        return part

    def __repr__(self) -> str:
        shape, truth = tuple(first_table(self.features).shape[1:]), "no theta, "
        if self.has_theta:
            truth = f"theta {tuple(self.theta.shape[1:])}, "
        known = ("known" if self.has_theta else "on record") if self.solved else "not yet known"
        weighted = "" if self.weights is None else ", weighted"
        return (
            f"{type(self).__name__}({len(self)} instances, features {shape}, {truth}{self.problem!r}, "
            f"decisions {known}{weighted})"
        )
