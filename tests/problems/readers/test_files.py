from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foresolve.errors import InvalidInputError
from foresolve.problems.readers.files import read_model
from mistakes import mistake
from problems.readers.highs_models import as_highs_reads, as_we_read, drawn, made
from problems.readers.test_lp_format import MODEL as LP_MODEL
from problems.readers.test_mps import MODEL as MPS_MODEL
from problems.readers.test_mps import SPACED

MPS = "NAME T\nROWS\n N COST\n L R1\nCOLUMNS\n    x  COST 1.0 R1 1.0\nRHS\n    RHS R1 4.0\nENDATA\n"
LP = "minimize\n obj: x\nsubject to\n r: x <= 4\nend\n"


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**20), ending=st.sampled_from(["mps", "lp"]))
def test_files_that_highs_writes_are_read_as_highs_reads_them(seed: int, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"model.{ending}"
    drawn(seed).writeModel(str(path))
    assert as_we_read(read_model(path)) == as_highs_reads(path)


@pytest.mark.parametrize("ending", ["mps", "lp"])
def test_lines_that_highs_breaks(ending: str, tmp_path: Path) -> None:
    rng, n = np.random.default_rng(0), 60
    bounds = (np.zeros(n), np.ones(n))
    rows = (np.full(3, -np.inf), rng.normal(size=3))
    path = tmp_path / f"wide.{ending}"
    made(rng.normal(size=(3, n)), rows, bounds, np.zeros(n, dtype=bool), rng.normal(size=n), rng).writeModel(str(path))
    assert as_we_read(read_model(path)) == as_highs_reads(path)


@pytest.mark.parametrize("text", [MPS, LP, "* first a comment\n" + MPS, "\\ first a comment\n\n" + LP, "\ufeff" + LP])
@pytest.mark.parametrize("name", ["model.mps", "model.lp", "model.txt", "model"])
def test_the_content_says_what_it_is(tmp_path: Path, text: str, name: str) -> None:
    path, packed = tmp_path / name, tmp_path / f"{name}.gz"
    path.write_text(text, encoding="utf-8")
    packed.write_bytes(gzip.compress(text.encode()))
    assert as_we_read(read_model(path)) == as_we_read(read_model(packed))
    assert read_model(path).names == ("x",)


@pytest.mark.parametrize(("text", "first"), [("hello world", "'hello'"), ("", "empty"), ("{}", "'{}'")])
def test_what_is_no_model_is_refused(tmp_path: Path, text: str, first: str) -> None:
    path = tmp_path / "model.mps"
    path.write_text(text)
    with mistake("path", str(path), first, "NAME", "minimize"):
        read_model(path)


def mutated(text: str, rng: np.random.Generator) -> str:
    """Characters, words and lines lost, doubled, moved or taken for others."""
    for _ in range(rng.integers(1, 4)):
        parts = [list(text), re.split(r"(\s+)", text), text.splitlines(keepends=True)][rng.integers(3)]
        i, j = (int(k) for k in rng.integers(0, len(parts), 2))
        change = rng.integers(4)
        if change == 0:
            del parts[i]
        elif change == 1:
            parts.insert(i, parts[j])
        elif change == 2:
            parts[i], parts[j] = parts[j], parts[i]
        else:
            parts[i] = str(rng.choice(["4x.0", "\t", "-", "1e", "nan", ":", "é", "RHS", "'MARKER'", "<=", "\x00", "["]))
        text = "".join(parts)
    return text


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32), which=st.integers(0, 2))
@pytest.mark.filterwarnings("ignore:.*neither the objective nor any row has:foresolve.ForesolveWarning")
def test_damaged_files_are_read_or_refused(seed: int, which: int, tmp_path: Path) -> None:
    """Nothing else, whatever the damage: neither an error of Python's own nor numbers that are none."""
    path = tmp_path / "model"
    path.write_text(mutated((MPS_MODEL, LP_MODEL, SPACED)[which], np.random.default_rng(seed)), encoding="utf-8")
    try:
        model = read_model(path)
    except InvalidInputError:
        return
    assert np.isfinite(model.coefficients).all()
    assert np.isfinite(model.matrix.data).all()
    assert not np.isnan(np.concatenate([model.lower, model.upper, model.row_lower, model.row_upper])).any()
    assert len(set(model.names)) == len(model.names) == len(model.coefficients)
