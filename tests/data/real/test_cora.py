from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest
import torch

from foresolve.data import CitationGraph, cora_data, load_cora
from foresolve.models import TfIdfSimilarity
from foresolve.problems import BipartiteMatching
from mistakes import mistake

DATA = Path(os.environ.get("FORESOLVE_DATA", ""))
real = pytest.mark.skipif(
    not (DATA / "cora" / "cora.content").is_file(), reason="FORESOLVE_DATA does not point at the data sets"
)
metis = pytest.mark.skipif(importlib.util.find_spec("pymetis") is None, reason="pymetis is not installed")

CONTENT = "31\t0\t1\t1\tTheory\n7\t1\t0\t0\tGenetic_Algorithms\nx9\t0\t0\t0\tTheory\n"
CITES = "31\t7\n7\t31\nx9\t31\n7\t7\n31\t7\n"


def written(folder: Path, content: str = CONTENT, cites: str = CITES) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cora.content").write_text(content)
    (folder / "cora.cites").write_text(cites)
    return folder


def ring(papers: int = 40) -> CitationGraph:
    """Each paper linked to the next two; the words of a paper are its number in binary."""
    i = torch.arange(papers)
    edges = torch.cat([torch.stack([i, (i + step) % papers], 1) for step in (1, 2)]).sort(1).values
    words = (i[:, None] >> torch.arange(6) & 1).float()
    return CitationGraph(words, edges, ("ring",) * papers, tuple(map(str, i.tolist())))


class TestLoad:
    def test_what_is_read(self, tmp_path: Path) -> None:
        graph = load_cora(written(tmp_path))
        assert graph.words.tolist() == [[0, 1, 1], [1, 0, 0], [0, 0, 0]]
        assert graph.words.dtype == torch.float32
        assert graph.edges.tolist() == [[0, 1], [0, 2]]
        assert graph.classes == ("Theory", "Genetic_Algorithms", "Theory")
        assert graph.ids == ("31", "7", "x9")
        assert (graph.repeated, graph.loops) == (2, 1)

    def test_a_subfolder_will_do(self, tmp_path: Path) -> None:
        written(tmp_path / "cora")
        assert load_cora(str(tmp_path)).ids == ("31", "7", "x9")

    def test_empty_lines_and_those_of_windows(self, tmp_path: Path) -> None:
        written(tmp_path)
        for name, text in (("cora.content", CONTENT), ("cora.cites", CITES)):
            (tmp_path / name).write_bytes((text.replace("\n", "\r\n") + "\r\n").encode())
        assert load_cora(tmp_path).edges.tolist() == [[0, 1], [0, 2]]

    def test_no_files(self, tmp_path: Path) -> None:
        (tmp_path / "cora.content").write_text(CONTENT)
        with mistake("folder", "cora.cites", "`foresolve data fetch cora`"):
            load_cora(tmp_path)

    @pytest.mark.parametrize(
        ("change", "line", "fact"),
        [
            (("7\t1\t0\t0\tG", "7\t1\t2\t0\tG"), 2, "'2' in column 3"),
            (("7\t1\t0\t0\tG", "7\t1\t01\t0\tG"), 2, "'01' in column 3"),
            (("7\t1\t0\t0\tG", "7\t1\t\t0\tG"), 2, "'' in column 3"),
            (("7\t1\t0\t0\tG", "7\t1\t0\tG"), 2, "3 words"),
            (("7\t1\t0\t0\tG", "7 1 0 0 G"), 2, "1 columns"),
            (("7\t1\t0\t0\tGenetic_Algorithms", "7\t1\t0\t0\t"), 2, "empty id or class"),
            (("x9\t", "31\t"), 3, "'31'"),
        ],
    )
    def test_bad_papers(self, tmp_path: Path, change: tuple[str, str], line: int, fact: str) -> None:
        with mistake(None, f"line {line} of", "cora.content", fact):
            load_cora(written(tmp_path, content=CONTENT.replace(*change)))

    @pytest.mark.parametrize(
        ("cites", "facts"),
        [
            ("31\t7\n31\t8\n", ("line 2 of", "'8'")),
            ("31\t7\n31\n", ("line 2 of", "'31'")),
            ("\n", ("none in",)),
            ("7\t7\n", ("none in",)),
        ],
    )
    def test_bad_citations(self, tmp_path: Path, cites: str, facts: tuple[str, ...]) -> None:
        with mistake(None, "cora.cites", *facts):
            load_cora(written(tmp_path, cites=cites))

    def test_no_papers(self, tmp_path: Path) -> None:
        with mistake("cora.content", "none"):
            load_cora(written(tmp_path, content="\n"))


@metis
class TestInstances:
    def test_theta_and_words_are_those_of_the_papers(self) -> None:
        graph = ring()
        data = cora_data(graph, count=3, size=12, seed=0)
        links = {tuple(edge) for edge in graph.edges.tolist()}
        assert len(data) == 3
        papers = data.labels["papers"]
        assert len(papers.unique()) == 36
        for nodes, theta, left, right in zip(papers.tolist(), data.theta, *data.features.values()):
            expected = [[float((min(i, j), max(i, j)) in links) for j in nodes[6:]] for i in nodes[:6]]
            assert theta.reshape(6, 6).tolist() == expected
            assert torch.equal(torch.cat([left, right]), graph.words[nodes])

    def test_data_set(self) -> None:
        data = cora_data(ring(), count=3, size=12, seed=0)
        assert {name: part.shape for name, part in data.features.items()} == {
            "left": (3, 6, 6),
            "right": (3, 6, 6),
        }
        assert isinstance(data.problem, BipartiteMatching)
        assert data.decisions.shape == (3, 36)
        assert bool((data.values >= 5).all())  # twelve papers in a row: six links that share none

    def test_the_seed_decides(self) -> None:
        first, again, different = (cora_data(ring(), count=3, size=12, seed=seed) for seed in (0, 0, 1))
        assert torch.equal(first.labels["papers"], again.labels["papers"])
        assert torch.equal(first.theta, again.theta)
        assert not torch.equal(first.labels["papers"], different.labels["papers"])

    def test_odd_sizes(self) -> None:
        with mistake("size", "11"):
            cora_data(ring(), count=3, size=11)


@real
def test_cora_is_as_published() -> None:
    graph = load_cora(DATA)
    assert graph.words.shape == (2708, 1433)
    assert graph.words.sum() == 49216
    assert graph.edges.shape == (5278, 2)
    assert (graph.repeated, graph.loops) == (151, 0)
    assert len(set(graph.classes)) == 7


@real
@metis
def test_figures_of_cora() -> None:
    """Citations across, and the values of a random, the TF-IDF and the best matching: over seeds they vary less."""
    graph = load_cora(DATA)
    data = cora_data(graph)
    guess = data.problem.solve(TfIdfSimilarity(graph.words)(data.features))
    assert data.labels["papers"].shape == (27, 100)
    assert float(data.theta.sum()) == pytest.approx(3550, abs=60)
    assert float(data.theta.sum()) / 27 / 50 == pytest.approx(2.63, abs=0.05)
    assert float(data.values.mean()) == pytest.approx(40.6, abs=0.6)
    assert float(data.problem.objective(guess, data.theta).mean()) == pytest.approx(18.3, abs=1.2)
