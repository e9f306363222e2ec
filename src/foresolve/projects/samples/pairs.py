"""Matching: workers and jobs, from one long file."""

from __future__ import annotations

import numpy as np

from foresolve.projects.samples.sample import LATER, LATER_TRUTH, NEW, TRAINING, Sample, csv_text


def pairs(
    workers: int = 4, jobs: int = 4, rounds: int = 120, new: int = 5, later: int = 40, *, seed: int = 0
) -> Sample:
    """What each worker made of each job, by skill and by the way there.

    Parameters
    ----------
    workers, jobs: of every round.
    rounds: of the past; `new`: to come; `later`: after these, when the truth is known again.
    seed: of everything that is drawn.
    """
    rng = np.random.default_rng(seed)
    left, right = [f"W{i + 1}" for i in range(workers)], [f"job {i + 1}" for i in range(jobs)]
    count = rounds + new + later
    skill = rng.uniform(0, 10, (count, workers, jobs)).round(1)
    distance = rng.gamma(2.0, 4.0, (count, workers, jobs)).round(1)
    # Beyond an hour nothing comes of it, whatever the skill: a product, where a line would add up.
    worth = (10 + 5 * skill) / (1 + np.exp((distance - 8.0) / 1.5)) + rng.standard_normal(skill.shape)
    worth = worth.clip(0.0)
    rows = [
        (f"round {r + 1:03}", a, b, float(skill[r, i, j]), float(distance[r, i, j]), float(worth[r, i, j]))
        for r in range(count) for i, a in enumerate(left) for j, b in enumerate(right)
    ]  # fmt: skip
    cut, end, header = (
        rounds * workers * jobs,
        (rounds + new) * workers * jobs,
        ("round", "worker", "job", "skill", "distance"),
    )
    files = {
        "pairs.csv": csv_text(("worker", "job"), [(a, b) for a in left for b in right]),
        "history.csv": csv_text((*header, "worth"), rows[:cut]),
        NEW: csv_text(header, [row[:-1] for row in rows[cut:end]]),
        LATER: csv_text(header, [row[:-1] for row in rows[end:]]),
        LATER_TRUTH: csv_text((*header[:3], "worth"), [(*row[:3], row[-1]) for row in rows[end:]]),
    }
    data = {"features": "history.csv", "key": "round", "variable": ["worker", "job"], "value": "worth",
            "units": "euros"}  # fmt: skip
    problem = {"file": "pairs.csv", "left": "worker", "right": "job"}
    story = "Workers are sent to jobs, round by round; who has a long way there makes little of the job."
    return Sample("matching", story, files, {"problem": problem, "data": data, "training": TRAINING})
