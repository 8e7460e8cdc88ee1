"""The pool with environments and policy in Ray actors: the same rollouts, new adapters, and a process that dies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import ray

from agent_core.errors import ScreenError
from agent_core.step import Reply
from tests.training.ray_parts import dying, forms
from tests.training.test_actors import adapter, base  # noqa: F401  (fixtures)
from training.jobs import JobSource
from training.lockstep import lockstep
from training.pool import Pool, Together
from training.pool_ray import RemoteActor, RemoteEnvironment
from training.serving import Actor, TransformersActor
from training.tasks.task import seed_of

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # Ray's own, at its start and end

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    quiet = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": quiet})
    yield
    ray.shutdown()


@pytest.mark.timeout(170)
def test_rollouts_over_ray_are_the_same_and_survive_a_process(
    cluster: None,
    base: Path,  # noqa: F811
    adapter: Path,  # noqa: F811
) -> None:
    jobs = JobSource(("press", "fill"), lambda n: seed_of(n + 1, "train"))
    here: Actor = TransformersActor.of_folder(base, 8)

    def policy() -> Actor:
        return Together(TransformersActor.of_folder(base, 8))

    actor = RemoteActor(policy, num_cpus=0)
    remote = [RemoteEnvironment(forms, num_cpus=0)]
    for folder, version in ((None, 0), (adapter, 1)):
        here.load(folder, version)
        actor.load(folder, version)
        some = [jobs.job(n) for n in range(2)]
        ours, _ = lockstep(here, [forms()], some, 0)
        theirs, _ = lockstep(actor, remote, some, 0)
        assert [one.turns for one in theirs] == [one.turns for one in ours]

    pool = Pool(actor, remote, jobs, batch=2, max_stale=1)
    assert [one.version for one in pool.take()] == [1] * 2
    pool.close()  # and with it the environments' processes

    broken = RemoteEnvironment(dying, num_cpus=0)
    broken.reset("press", 0)
    with pytest.raises(ScreenError, match="played again in a new one"):
        broken.step(Reply("", (1,), (-1.0,)))
    assert broken.reset("press", 1) is not None  # in a new process
    broken.close()
    actor.close()
