from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

import foresolve
from foresolve.learning import fit
from foresolve.learning.distributed import TrainingGroup, unwrap
from foresolve.losses import SPOPlus
from foresolve.models import MLP
from learning.instances import top_k_data

pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="torch without distributed")

SCRIPT = """
import sys, torch
from pathlib import Path
import torch.distributed as dist
from foresolve.learning.fitting import fit
from foresolve.models.mlp import MLP
from foresolve.losses.spo import SPOPlus
from learning.instances import NoisySquares, Squares, top_k_data

out, rank = Path(sys.argv[1]), int(sys.argv[2])
dist.init_process_group("gloo", init_method=f"file://{out}/store", rank=rank, world_size=2)
settings = dict(train=top_k_data(32), valid=top_k_data(11, seed=1), batch_size=4, lr=0.05)
def model(seed): return MLP(3, 5, seed=seed)

net = model(rank)  # the first process's weights count
history = fit(net, SPOPlus(), epochs=3, **settings)
torch.save((net.state_dict(), history.train_loss, history.valid_regret), out / f"spo{rank}.pt")

unbroken, paused, resumed = model(0), model(0), model(7)
constant = settings | {"scheduler": None}  # the default one depends on `epochs`
fit(unbroken, NoisySquares(rank), epochs=4, **constant)
fit(paused, NoisySquares(rank), epochs=2, checkpoint=out / "run", **constant)
fit(resumed, NoisySquares(rank), epochs=4, checkpoint=out / "run", resume=True, **constant)
same = all(torch.equal(a, b) for a, b in zip(unbroken.parameters(), resumed.parameters()))

wrapped = torch.nn.parallel.DistributedDataParallel(model(rank))
fit(wrapped, SPOPlus(), epochs=3, **settings)
ddp = all(torch.equal(a, b) for a, b in zip(wrapped.module.state_dict().values(), net.state_dict().values()))

skips = fit(model(0), Squares(fails=tuple(range(16))), epochs=2, on_failure="skip", **settings).skipped
(out / f"checks{rank}.txt").write_text(f"{same} {ddp} {skips}")
dist.barrier()  # gloo may abort a process whose peer has left
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_two_processes_are_one_with_twice_the_batch(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    paths = str(Path(__file__).parents[1]), str(Path(foresolve.__file__).parents[1])  # the same package as here
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths)}
    # As `torchrun` starts them, without the seconds that it takes to start itself.
    processes = [
        subprocess.Popen(
            [sys.executable, str(script), str(tmp_path), str(rank)], env=environment, stderr=subprocess.PIPE, text=True
        )
        for rank in range(2)
    ]
    try:
        for process in processes:
            _, errors = process.communicate(timeout=120)
            assert process.returncode == 0, errors[-3000:]
    finally:
        for process in processes:
            process.kill()
            process.communicate()  # what is left running would be blamed on another test
    results = [torch.load(tmp_path / f"spo{rank}.pt", weights_only=True) for rank in range(2)]
    assert results[0][1:] == results[1][1:]
    alone = MLP(3, 5, seed=0)
    history = fit(alone, SPOPlus(), top_k_data(32), top_k_data(11, seed=1), epochs=3, batch_size=8, lr=0.05)
    for state, losses, regrets in results:
        for name, tensor in alone.state_dict().items():
            torch.testing.assert_close(state[name], tensor, rtol=1e-4, atol=1e-5)
        assert losses == pytest.approx(history.train_loss, rel=1e-4)
        assert regrets == pytest.approx(history.valid_regret, rel=1e-4, abs=1e-6)
    assert [(tmp_path / f"checks{rank}.txt").read_text() for rank in range(2)] == ["True True [16, 16]"] * 2


def test_shares_are_equal_and_cover_the_data() -> None:
    for count, world in ((10, 1), (10, 3), (1, 4), (7, 2)):
        shares = [TrainingGroup(rank, world).order(count, seed=0, epoch=1) for rank in range(world)]
        assert {len(share) for share in shares} == {-(-count // world)}
        assert set(torch.cat(shares).tolist()) == set(range(count))
    assert not torch.equal(TrainingGroup().order(50, 0, 0), TrainingGroup().order(50, 0, 1))
    assert not torch.equal(TrainingGroup().order(50, 0, 1), TrainingGroup().order(50, 1, 0))


def test_a_process_alone_keeps_what_it_has() -> None:
    group, net = TrainingGroup.here(), nn.Linear(2, 3)
    assert group == TrainingGroup(rank=0, world=1)
    assert group.wrap(net, torch.device("cpu")) is net
    assert group.total([1.0, 2.0], torch.device("cpu")) == [1.0, 2.0]
    assert group.gather("state") == ["state"]
    group.wait()
    assert unwrap(net) is net
    assert unwrap(nn.DataParallel(net)) is net
