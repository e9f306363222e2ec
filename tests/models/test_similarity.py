from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from foresolve.learning import Policy
from foresolve.learning.registry import build
from foresolve.models import CosinePairs, TfIdfSimilarity, most_rated, tfidf
from foresolve.problems import BipartiteMatching, SubmodularProblem
from foresolve.sets import ProbabilisticCoverage, UniformMatroid
from mistakes import mistake


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def papers(words: int = 12, share: float = 0.4) -> tuple[Tensor, Tensor]:
    """Words of 2 x 3 papers on the left and 2 x 4 on the right, 0 or 1."""
    source = generator()
    left, right = (torch.rand(2, nodes, words, generator=source) < share for nodes in (3, 4))
    return left.float(), right.float()


def trained() -> CosinePairs:
    """As if training had moved all parameters."""
    model = CosinePairs(12, torch.rand(12, generator=generator(1)) + 0.5, dropout=0.25)
    with torch.no_grad():
        model.power.fill_(1.3)
        model.norm.fill_(0.8)
        model.shift.normal_(generator=generator(2))
    return model


def test_it_starts_as_tfidf_similarity() -> None:
    left, right = papers()
    words = torch.cat([left, right], 1)
    expected = TfIdfSimilarity(words)((left, right))
    model = CosinePairs(12, tfidf(words))
    torch.testing.assert_close(model((left, right)), expected, atol=1e-5, rtol=0)
    assert torch.equal(model({"left": left, "right": right}), model((left, right)))


def test_the_formula() -> None:
    (left, right), model = papers(), trained().eval()
    w = model.log_prior.exp() ** 1.3 * model.shift.exp()
    a, b = left[1, 2], right[1, 3]
    expected = (w**2 * a * b).sum() / ((w * a).norm() * (w * b).norm()) ** 0.8
    torch.testing.assert_close(model((left, right)).reshape(2, 3, 4)[1, 2, 3], expected, atol=1e-5, rtol=1e-5)


def test_a_node_without_features_is_like_no_other() -> None:
    left, right = papers()
    left[0, 1] = 0.0
    model = CosinePairs(12)
    theta = model((left, right))
    assert torch.equal(theta.reshape(2, 3, 4)[0, 1], torch.zeros(4))
    theta.sum().backward()
    assert all(bool(p.grad.isfinite().all()) for p in model.parameters() if p.grad is not None)


def test_gradients_are_those_of_finite_differences() -> None:
    left, right = (side.double() for side in papers())
    model = trained().double().eval()
    names = [name for name, _ in model.named_parameters()]

    def theta(*parameters: Tensor) -> Tensor:
        return torch.func.functional_call(model, dict(zip(names, parameters, strict=True)), ((left, right),))

    start = tuple(p.detach().clone().requires_grad_() for p in model.parameters())
    assert set(names) == {"power", "norm", "shift"}
    assert torch.autograd.gradcheck(theta, start)


def test_dropout_is_for_training_only_and_the_same_for_all_nodes() -> None:
    features, model = papers(share=1.0), CosinePairs(12, dropout=0.5)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        dropped = model.train()(features)
        torch.manual_seed(3)
        assert torch.equal(model(features), dropped)
        assert not torch.equal(model(features), dropped)
        # All nodes have all features: whatever is dropped for all alike, they stay equal.
        torch.testing.assert_close(dropped, torch.ones(2, 12))
        mixed = papers()
        torch.manual_seed(3)
        mixed_dropped = model(mixed)
    before = torch.get_rng_state()
    plain = model.eval()(mixed)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(plain, CosinePairs(12)(mixed))
    assert not torch.allclose(mixed_dropped, plain)


def test_decay_is_for_the_word_weights_alone() -> None:
    model = CosinePairs(12)
    ends, words = model.groups(1e-2, 3.0)
    assert (ends["lr"], ends["weight_decay"]) == (3e-2, 0.0)
    assert (words["lr"], words["weight_decay"]) == (1e-2, 3.0)
    assert [id(p) for p in words["params"]] == [id(model.shift)]
    assert {id(p) for group in (ends, words) for p in group["params"]} == {id(p) for p in model.parameters()}


def test_rebuilt_from_its_config() -> None:
    model = trained()
    again = build("CosinePairs", json.loads(json.dumps(model.config())), device="meta")
    assert again.config() == model.config() == {"features": 12, "dropout": 0.25}
    again.load_state_dict(model.state_dict(), assign=True)
    assert torch.equal(again.eval()(papers()), model.eval()(papers()))


def test_a_policy_comes_back_with_its_prior(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    model, features = trained().eval(), papers()
    Policy(model, BipartiteMatching(3, 4)).save(tmp_path)
    again = Policy.load(tmp_path)
    assert isinstance(again.model, CosinePairs)
    assert torch.equal(again.model.log_prior, model.log_prior)
    assert torch.equal(again(features).x, Policy(model, BipartiteMatching(3, 4))(features).x)


@pytest.mark.parametrize("prior", [[1.0, 2.0], [1.0, 0.0, 1.0], [1.0, -1.0, 1.0], [1.0, float("nan"), 1.0]])
def test_a_prior_must_fit_and_be_positive(prior: list[float]) -> None:
    with mistake("prior", "(3,)"):
        CosinePairs(3, prior)


def test_bad_input() -> None:
    with mistake("features", "got 0"):
        CosinePairs(0)
    with mistake("dropout", "got 1.0"):
        CosinePairs(3, dropout=1.0)
    with mistake("left features", "(1, 2, 4)"):
        CosinePairs(3)((torch.zeros(1, 2, 4), torch.zeros(1, 2, 3)))


class TestTfIdf:
    words = (torch.rand(30, 12, generator=torch.Generator().manual_seed(0)) < 0.3).float()

    def test_as_scikit_learn(self) -> None:
        text = pytest.importorskip("sklearn.feature_extraction.text")
        transform = text.TfidfTransformer().fit(self.words.numpy())
        np.testing.assert_allclose(tfidf(self.words).numpy(), transform.idf_, rtol=1e-6)
        rows = transform.transform(self.words.numpy()).toarray()
        features = {"left": self.words[None, :10], "right": self.words[None, 10:]}
        similarity = TfIdfSimilarity(self.words)(features)
        assert similarity.shape == (1, 200)
        np.testing.assert_allclose(similarity.reshape(10, 20).numpy(), rows[:10] @ rows[10:].T, atol=1e-6)

    def test_halves_or_a_table_are_counted_alike(self) -> None:
        assert torch.equal(tfidf(self.words), tfidf(self.words.reshape(3, 10, 12)))

    def test_papers_without_words_resemble_none(self) -> None:
        features = (torch.zeros(2, 3, 12), self.words[:4].expand(2, 4, 12))
        assert TfIdfSimilarity(self.words)(features).tolist() == [[0.0] * 12] * 2

    def test_other_vocabularies(self) -> None:
        with mistake("right features", "(*batch, 12)"):
            TfIdfSimilarity(self.words)((torch.zeros(1, 2, 12), torch.zeros(1, 2, 11)))


def test_most_rated_shapes() -> None:
    assert most_rated(torch.ones(4, 10, 11), topics=5).shape == (4, 10, 5)
    with mistake("features", "(3,)"):
        most_rated(torch.zeros(3))


def test_most_rated_holds_for_many_movies_that_nearly_all_rated() -> None:
    """Little is left uncovered after a few of them; the order must survive that."""
    features = (torch.arange(100)[:, None] + 900 >= torch.arange(1000)).float()[None]
    problem = SubmodularProblem(ProbabilisticCoverage(), UniformMatroid(100, 20))
    chosen = problem.solve(most_rated(features, topics=50))
    assert chosen[0].nonzero().flatten().tolist() == list(range(80, 100))
