"""PPO on two ranks: text beside pictures, unequally many rollouts, a base in bfloat16; nobody waits for ever."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.training import ranks_of_pictures
from tests.training.ranks_of_pictures import CASES, learn, learner_of, policy_of, rollouts

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")  # PEFT asks transformers by an old name
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def two_ranks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which two ranks left their adapters, started as a team starts them."""
    out = tmp_path_factory.mktemp("ranks")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    quiet = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive", "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [*command, ranks_of_pictures.__file__, str(out)],
        env={**os.environ, **quiet}, capture_output=True, text=True, check=False, timeout=150,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return out


@pytest.mark.slow
@pytest.mark.timeout(200)
@pytest.mark.parametrize("dtype", CASES)
def test_two_ranks_learn_what_one_process_does(two_ranks: Path, dtype: str, tmp_path: Path) -> None:
    torch.set_num_threads(1)
    before = {name: p.detach().clone() for name, p in policy_of(dtype).named_parameters() if "lora_" in name}
    assert {tensor.dtype for tensor in before.values()} == {torch.float32}
    learner = learner_of(dtype, policy_of(dtype))
    learn(learner, rollouts())
    learner.policy.save(tmp_path)
    for part in ("policy", "critic"):
        of_ranks = load_file(two_ranks / dtype / part / "adapter_model.safetensors")
        alone = load_file(tmp_path / part / "adapter_model.safetensors")
        assert of_ranks.keys() == alone.keys()
        worst = max(float((of_ranks[name] - alone[name]).abs().max()) for name in alone)
        print(f"{dtype} {part}: {worst:.1e}")
        if CASES[dtype] == 1:  # with more, the minibatches of two ranks are others
            assert worst < 1e-4
    after = dict(learner.policy.named_parameters())
    assert any(not torch.equal(after[name], tensor) for name, tensor in before.items())
