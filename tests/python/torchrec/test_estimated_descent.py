"""Plans that are to be cheap by TorchRec's estimates."""

import random
from pathlib import Path

import pytest
import torch
from planner_cases import GIB, SHARDERS, bags, pieces_of, planner, topology
from torchrec import EmbeddingCollection, EmbeddingConfig, PoolingType
from torchrec.distributed.planner.perf_models import NoopPerfModel
from torchrec.distributed.planner.planners import EmbeddingShardingPlanner
from torchrec.distributed.planner.storage_reservations import FixedPercentageStorageReservation
from torchrec.distributed.planner.types import ParameterConstraints

import neuroshard
from neuroshard import TableRules
from neuroshard.torchrec import PlanStore


def drawn(seed: int) -> tuple[torch.nn.Module, dict[str, ParameterConstraints]]:
    """Pooled tables, some of which take means, and sequences, with their lookups."""
    draw = random.Random(seed)
    tables = {f"{seed}t{i}": (int(10 ** draw.uniform(2, 6.5)), draw.choice((16, 64, 128, 256))) for i in range(12)}
    means = {name + "m": tables.pop(name) for name in list(tables)[:4]}
    sequences = EmbeddingCollection(
        tables=[
            EmbeddingConfig(
                name=f"{seed}s{i}", num_embeddings=int(10 ** draw.uniform(2, 6)), embedding_dim=64, feature_names=[f"f{i}"]
            )
            for i in range(3)
        ],
        device=torch.device("meta"),
    )
    lookups = {
        name: ParameterConstraints(pooling_factors=[draw.uniform(1.0, 40.0)])
        for name in [*tables, *means, *(config.name for config in sequences.embedding_configs())]
    }
    of_means = bags(means, pooling=PoolingType.MEAN)
    return torch.nn.ModuleDict({"x": bags(tables), "means": of_means, "s": sequences}), lookups


@pytest.mark.parametrize("seed", range(2))
def test_no_plan_is_dearer_than_torchrecs_by_its_estimates(seed: int) -> None:
    ranks, node = [(8, 4), (4, 4)][seed]
    # The second model is short of memory.
    topo = topology(ranks, hbm_cap=(GIB // 2 if seed % 2 else 16 * GIB), node=node)
    model, constraints = drawn(seed)
    arguments = {"topology": topo, "constraints": constraints, "batch_size": 4096}
    made = planner(**arguments, costs="torchrec", min_partition=None)
    plan = made.plan(model, SHARDERS)
    theirs = EmbeddingShardingPlanner(
        **arguments,  # type: ignore[arg-type]
        storage_reservation=FixedPercentageStorageReservation(0.0),
        stats=[],
        debug=False,
    )
    usual = planner(**arguments, min_partition=None)
    usual.plan(model, SHARDERS)
    assert made.comparison is not None and usual.comparison is not None
    estimated_ms = NoopPerfModel(topo).rate(made.get_selected_options())
    assert made.comparison.ours.estimated_ms == estimated_ms <= usual.comparison.ours.estimated_ms
    theirs.plan(model, SHARDERS)
    assert estimated_ms <= NoopPerfModel(topo).rate(theirs.get_selected_options())
    # The estimate is the one that TorchRec makes of the plan anew.
    options = made.get_selected_options()
    known = [shard.perf.total for option in options for shard in option.shards]
    made._enumerator.populate_estimates(options)
    assert [shard.perf.total for option in options for shard in option.shards] == known
    used = [0] * ranks
    for option in options:
        for shard in option.shards:
            used[shard.rank] += shard.storage.hbm
    assert max(used) <= topo.devices[0].storage.hbm
    for name, sharding in plan.plan["means"].items():  # type: ignore[attr-defined]
        assert sharding.sharding_type in ("table_wise", "column_wise", "table_column_wise", "data_parallel"), name
    if seed == 0:
        again = planner(**arguments, costs="torchrec", min_partition=None).plan(model, SHARDERS)
        assert str(again) == str(plan)


def test_rules_are_kept(tmp_path: Path) -> None:
    tables = {name: (100_000, 64) for name in "abcd"}
    rules = {"a": TableRules(devices=[3]), "b": TableRules(devices=[3])}
    for costs in ("torchrec", "weights"):
        made = planner(costs=costs, rules=rules, plan_store=PlanStore(tmp_path))
        plan = made.plan(torch.nn.ModuleDict({"x": bags(tables)}), SHARDERS)
        assert [rank for name in "ab" for _, _, rank in pieces_of(plan, "x", name)] == [3, 3]
    assert len(PlanStore(tmp_path).fingerprints()) == 2


def test_arguments() -> None:
    with pytest.raises(neuroshard.Error, match="costs is 'mine'; give one of weights, torchrec"):
        planner(costs="mine")
