"""One loop for every ascent; what differs between them is the step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

State = TypeVar("State")


class Step(ABC, Generic[State]):
    """A way to climb: from one state of a flat batch to the next, all that it remembers in the state."""

    def done(self, state: State) -> bool:
        """True if no instance has anything left to climb; by default all steps are taken."""
        return False

    @abstractmethod
    def __call__(self, state: State, k: int) -> State:
        """The state after step `k` = 0, 1, ..."""


def climb(step: Step[State], state: State, max_iter: int) -> State:
    """The state where the step is done, or after `max_iter` of them."""
    for k in range(max_iter):
        if step.done(state):
            break
        state = step(state, k)
    return state
