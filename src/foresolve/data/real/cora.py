r"""Bipartite matching on citations: which papers of one half cite, or are cited by, which of the other.

The domain of Wilder, Dilkina and Tambe (AAAI 2019). A graph of papers is cut into parts of 100, each part into two
halves with many citations between them. The weight `theta_ij` of a pair is 1 where there is a citation, 0 elsewhere; it
is predicted from the words of both papers, and a maximum matching is decided.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks, reading
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


def cora_data(
    graph: CitationGraph | str | Path, count: int = 27, *, size: int = 100, seed: Seed = 0, restarts: int = 50
) -> DecisionDataset:
    """The graph in parts of `size` papers, each in two halves with as many citations between them as can be found.

    Parameters
    ----------
    graph: of papers, or the folder that `load_cora` reads one from.
    count, size: of the parts, see `balanced_parts`; papers that are too many are left out, and so are citations between
        parts and inside halves.
    seed: of the parts and of the halves, an integer or a generator. Papers stand in random order in their half.
    restarts: of `bisection`.

    Returns
    -------
    A data set like that of `citation_data`; `data.labels["papers"]` `(count, size)` are the papers' numbers in the
    graph, those of the left half first.
    """
    if checks.positive_int("size", size) % 2:
        raise checks.fail("size", "even, for two halves", str(size))
    graph = graph if isinstance(graph, CitationGraph) else load_cora(graph)
    nodes = len(graph.words)
    seed = as_seed("seed", seed)
    parts = balanced_parts(graph.edges, nodes, count, size, seed)
    links = adjacency(graph.edges, nodes)
    seeds = np.random.SeedSequence(seed).generate_state(count)  # the search in one part is not that in the next
    papers, theta = [], []
    for part, part_seed in zip(parts, seeds):
        inside = torch.from_numpy(links[part.numpy()][:, part.numpy()].toarray())
        left, right = bisection(inside, int(part_seed), restarts)
        papers.append(torch.cat([part[left], part[right]]))
        theta.append(inside[left][:, right].float().flatten())
    table = torch.stack(papers)
    features = {name: graph.words[half] for name, half in zip(("left", "right"), table.split(size // 2, dim=1))}
    problem = BipartiteMatching(size // 2, size // 2)
    return DecisionDataset(features, torch.stack(theta), problem, labels={"papers": table})


def _read_content(path: Path) -> tuple[Tensor, tuple[str, ...], tuple[str, ...]]:
    """Words, classes and ids of the papers, in the order of the file."""
    ids: dict[str, int] = {}
    classes: list[str] = []
    rows: list[bytes] = []
    for number, line in enumerate(reading.read_bytes(path).splitlines(), 1):
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
    for number, line in enumerate(reading.read_text(path, errors="replace").splitlines(), 1):
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


def _bad(path: Path, number: int, expected: str, field: str, remedy: str = "") -> InvalidInputError:
    return checks.fail(f"line {number} of {path}", expected, field, remedy)
