r"""Bipartite matching on citations: which papers of one half cite, or are cited by, which of the other.

The domain of Wilder, Dilkina and Tambe (AAAI 2019). A graph of papers is cut into parts of 100, each part into two
halves with many citations between them. The weight `theta_ij` of a pair is 1 where there is a citation, 0 elsewhere; it
is predicted from the words of both papers, and a maximum matching is decided.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from foresolve._base import checks
from foresolve._base.randomness import Seed, as_seed
from foresolve.data.dataset import DecisionDataset
from foresolve.data.real.partition import adjacency, balanced_parts, bisection
from foresolve.data.real.registry import locate
from foresolve.errors import InvalidInputError
from foresolve.problems.matching import BipartiteMatching


@dataclass(frozen=True)
class CitationGraph:
    """Papers and the citations among them.

    Attributes
    ----------
    words: `(N, W)` float32, 1 where a paper has a word.
    edges: `(M, 2)`, the smaller node first: undirected, each once, no loops.
    classes: the subject of each paper.
    ids: what the files call each paper.
    repeated, loops: citations of the file that are not in `edges`: of a pair that occurred before, in whichever
        direction, and of a paper by itself.
    """

    words: Tensor
    edges: Tensor
    classes: tuple[str, ...]
    ids: tuple[str, ...]
    repeated: int = 0
    loops: int = 0


@dataclass(frozen=True)
class CitationInstances:
    """Papers in two halves and the citations between them; all float32 but `nodes`.

    Attributes
    ----------
    left, right: `(N, L, W)` and `(N, R, W)`, the words of the papers of each half.
    theta: `(N, L * R)`, 1 where there is a citation; pair `(i, j)` is entry `i * R + j`.
    nodes: `(N, L + R)`, the papers' numbers in the graph they came from, those of `left` first.
    """

    left: Tensor
    right: Tensor
    theta: Tensor
    nodes: Tensor

    def __len__(self) -> int:
        return len(self.theta)

    def dataset(self) -> DecisionDataset:
        """With features `{"left": ..., "right": ...}` and a `BipartiteMatching` of the two halves."""
        problem = BipartiteMatching(self.left.shape[1], self.right.shape[1])
        return DecisionDataset({"left": self.left, "right": self.right}, self.theta, problem)


def load_cora(folder: str | Path) -> CitationGraph:
    """The published Cora data set: 2,708 papers with 1,433 words and 5,278 distinct citations.

    Parameters
    ----------
    folder: holds `cora.content` (a line for each paper: id, a 0 or 1 for each word, class; separated by tabs) and
        `cora.cites` (a line for each citation: two ids), or has a subfolder `cora` that does.
    """
    content, cites = locate("cora", folder)
    words, classes, ids = _read_content(content)
    edges, repeated, loops = _read_cites(cites, {name: i for i, name in enumerate(ids)})
    return CitationGraph(words, edges, classes, ids, repeated, loops)


def citation_instances(
    graph: CitationGraph, *, parts: int = 27, size: int = 100, seed: Seed = 0, restarts: int = 50
) -> CitationInstances:
    """The graph in parts of `size` papers, each in two halves with as many citations between them as can be found.

    Parameters
    ----------
    parts, size: of `balanced_parts`; papers that are too many are left out, and so are citations between parts and
        inside halves.
    seed: of the parts and of the halves, an integer or a generator. Papers stand in random order in their half.
    restarts: of `bisection`.
    """
    if checks.positive_int("size", size) % 2:
        raise checks.fail("size", "even, for two halves", str(size))
    count, seed = len(graph.words), as_seed("seed", seed)
    chosen = balanced_parts(graph.edges, count, parts, size, seed)
    links = adjacency(graph.edges, count)
    seeds = np.random.SeedSequence(seed).generate_state(parts)  # the search in one part is not that in the next
    nodes, theta = [], []
    for part, part_seed in zip(chosen, seeds):
        inside = torch.from_numpy(links[part.numpy()][:, part.numpy()].toarray())
        left, right = bisection(inside, int(part_seed), restarts)
        nodes.append(torch.cat([part[left], part[right]]))
        theta.append(inside[left][:, right].float().flatten())
    table = torch.stack(nodes)
    left, right = table.split(size // 2, dim=1)
    return CitationInstances(graph.words[left], graph.words[right], torch.stack(theta), table)


def tfidf(words: Tensor) -> Tensor:
    r"""The weight of each word, `(W,)`, from a table `(..., W)` of which document has which word.

    .. math::
        \text{idf}_w = \ln \frac{1 + N}{1 + \text{df}_w} + 1,

    the smooth form that scikit-learn uses by default, for `N` documents of which `df_w` have the word.
    """
    table = checks.as_tensor("words", words).flatten(0, -2)
    return torch.log((1.0 + len(table)) / (1.0 + (table > 0).sum(0))) + 1.0


class TfIdfSimilarity:
    r"""A model that learns nothing: the cosine similarity of the TF-IDF vectors of two papers.

    .. math::
        \hat\theta_{ij} = \frac{\langle d \odot a_i, d \odot b_j \rangle}{|d \odot a_i| \, |d \odot b_j|}

    with `d` the weights of `tfidf`; 0 for a paper without words.

    Parameters
    ----------
    words: `(..., W)`, the documents that are counted for the weights. They need no citations, so that every paper at
        hand may be among them.

    Examples
    --------
    >>> import torch
    >>> words = torch.tensor([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    >>> model = TfIdfSimilarity(words)
    >>> model({"left": words[None, :1], "right": words[None, 1:]})
    tensor([[0.3119, 1.0000]])
    """

    def __init__(self, words: Tensor) -> None:
        self.weights = tfidf(words)

    def __call__(self, features: Any) -> Tensor:
        """`(B, L * R)` from features with "left" `(B, L, W)` and "right" `(B, R, W)`."""
        left, right = (features["left"], features["right"]) if isinstance(features, dict) else features
        for name, side in (("left", left), ("right", right)):
            checks.last_dim(f"{name} features", side, len(self.weights), "the words that were counted")
        weights = self.weights.to(left)
        a, b = (functional.normalize(side * weights, dim=-1) for side in (left, right))
        return (a @ b.mT).flatten(-2)


def _read_content(path: Path) -> tuple[Tensor, tuple[str, ...], tuple[str, ...]]:
    """Words, classes and ids of the papers, in the order of the file."""
    ids: dict[str, int] = {}
    classes: list[str] = []
    rows: list[bytes] = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        name, _, rest = line.partition(b"\t")
        middle, _, subject = rest.rpartition(b"\t")
        row, between = middle[::2], middle[1::2]  # marks and tabs alternate: no list of 1,433 fields is needed
        if not (name and subject and row) or row.strip(b"01") or between.strip(b"\t") or len(middle) % 2 == 0:
            raise _bad(path, number, "an id, a 0 or 1 for each word and a class, separated by tabs", _odd_field(line))
        if rows and len(row) != len(rows[0]):
            raise _bad(path, number, f"{len(rows[0])} words as in the lines before", str(len(row)))
        paper = name.decode("utf-8", "replace")
        if paper in ids:
            raise _bad(path, number, "an id that did not occur before", repr(paper))
        ids[paper] = number
        classes.append(subject.decode("utf-8", "replace"))
        rows.append(row)
    if not rows:
        raise checks.fail(path.name, "a file with a line for each paper", f"none in {path}")
    table = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(len(rows), -1) - ord("0")
    return torch.from_numpy(table.astype(np.float32)), tuple(classes), tuple(ids)


def _read_cites(path: Path, number_of: dict[str, int]) -> tuple[Tensor, int, int]:
    """The distinct undirected citations, ascending, and how many lines were repetitions and loops."""
    pairs: set[tuple[int, int]] = set()
    lines = loops = 0
    for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1):
        papers = line.split()
        if not papers:
            continue
        if len(papers) != 2:
            raise _bad(path, number, "two ids", repr(line[:60]))
        lines += 1
        for paper in papers:
            if paper not in number_of:
                raise _bad(
                    path, number, "ids of papers in cora.content", repr(paper), "Take both files from one source"
                )
        i, j = sorted(number_of[paper] for paper in papers)
        if i == j:
            loops += 1
        else:
            pairs.add((i, j))
    if not pairs:
        raise checks.fail(path.name, "a file with at least one citation", f"none in {path}")
    return torch.tensor(sorted(pairs)), lines - loops - len(pairs), loops


def _odd_field(line: bytes) -> str:
    """What is wrong with a line of words, in a few characters."""
    fields = line.decode("utf-8", "replace").split("\t")
    if len(fields) < 3:
        return f"{len(fields)} columns: {fields[0][:60]!r}"
    odd = [(i, field) for i, field in enumerate(fields[1:-1], 2) if field not in {"0", "1"}]
    return f"{odd[0][1][:20]!r} in column {odd[0][0]}" if odd else "an empty id or class"


def _bad(path: Path, number: int, expected: str, found: str, remedy: str = "") -> InvalidInputError:
    return checks.fail(f"line {number} of {path}", expected, found, remedy)
