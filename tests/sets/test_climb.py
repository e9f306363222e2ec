from __future__ import annotations

from foresolve.sets.climb import Step, climb


class Add(Step[list[int]]):
    def __init__(self, most: int) -> None:
        self.most = most

    def done(self, state: list[int]) -> bool:
        return len(state) >= self.most

    def __call__(self, state: list[int], k: int) -> list[int]:
        return [*state, k]


class Endless(Add):
    done = Step.done


def test_steps_are_numbered_and_end_when_done() -> None:
    assert climb(Add(3), [], 10) == [0, 1, 2]
    assert climb(Add(3), [], 2) == [0, 1]
    assert climb(Add(3), [7, 8, 9], 10) == [7, 8, 9]  # nothing left to climb: no step is taken
    assert climb(Add(3), [], 0) == []


def test_without_a_rule_all_steps_are_taken() -> None:
    assert climb(Endless(0), [], 5) == [0, 1, 2, 3, 4]
