"""Plans for DMPCollection."""

from pathlib import Path

import pytest
from planner_cases import GIB, SHARDERS, bags, topology
from rank_runs import results_of_ranks
from torchrec.distributed.planner.storage_reservations import FixedPercentageStorageReservation
from torchrec.distributed.planner.types import ParameterConstraints, PlannerError

import neuroshard
from neuroshard.torchrec import GroupedPlan, plan_groups

TABLES = {f"t{i}": (4_000_000, [32, 64, 128][i % 3]) for i in range(24)}
GIB_OF_ALL = sum(4 * rows * dim for rows, dim in TABLES.values()) / GIB


def planned(ranks: int = 32, hbm_gib: float = 16, **arguments: object) -> GroupedPlan:
    given: dict[str, object] = {
        "storage_reservation": FixedPercentageStorageReservation(0.0),
        "stats": [],
        "debug": False,
        "constraints": {name: ParameterConstraints(pooling_factors=[10.0]) for name in TABLES},
        "effort": "fast",
        **arguments,
    }
    of_all = topology(ranks, hbm_cap=int(hbm_gib * GIB), node=8)
    return plan_groups(bags(TABLES), SHARDERS, of_all, 1024, **given)  # type: ignore[arg-type]


def ranks_of(grouped: GroupedPlan) -> set[int]:
    tables = grouped.plan.plan[""].values()  # type: ignore[union-attr]
    return {rank for sharding in tables for rank in sharding.ranks or []}


def test_the_cheapest_groups_are_planned_by_torchrecs_memory() -> None:
    grouped = planned(average_every=10_000)
    assert grouped.cost == grouped.tried[0]
    assert [cost.cost_ms for cost in grouped.tried] == sorted(cost.cost_ms for cost in grouped.tried)
    assert {cost.layout for cost in grouped.tried} == {"consecutive", "interleaved"}
    assert grouped.cost.size < 32 and grouped.cost.average_every == 10_000 and grouped.cost.averaging_ms > 0
    assert ranks_of(grouped) == set(range(grouped.cost.size))
    # Weights alone fill groups of 4: TorchRec counts inputs and outputs, too.
    scarce = planned(hbm_gib=GIB_OF_ALL / 4, average_every=10_000)
    assert scarce.cost.size > 4


def test_groups_may_be_asked_for() -> None:
    for layout, of_node in (("consecutive", 8), ("interleaved", 4)):
        grouped = planned(sizes=[16], layouts=[layout])
        assert grouped.arguments() == {
            "plan": grouped.plan,
            "sharding_group_size": 16,
            "node_group_size": of_node,
            "use_inter_host_allreduce": layout == "consecutive",
        }
        averaging = grouped.cost.averaging_ms / grouped.cost.average_every
        assert 0.0 < averaging <= 0.05 * grouped.cost.cost_ms * 1.001
    alone = planned(sizes=[32])
    assert alone.cost.average_every == 0 and alone.cost.averaging_ms == 0.0


def test_what_cannot_be_planned_is_named() -> None:
    with pytest.raises(neuroshard.Error, match="divide"):
        planned(sizes=[5])
    with pytest.raises(PlannerError, match="no groups of 32 ranks that have room"):
        planned(hbm_gib=0.01)


def test_training_in_groups_is_that_of_the_unsharded_model(tmp_path: Path) -> None:
    """Averaged after each iteration."""
    for rank, results in enumerate(results_of_ranks("groups_rank.py", 4, tmp_path, ["-O"])):
        for layout, result in results.items():
            where = f"{layout}, rank {rank}: {result}"
            assert result["forward"] <= 1e-6 < 1e-2 < result["changed"], where
            assert result["consecutive"] == (layout == "consecutive"), where
            assert result["size"] == 2 and result["average_every"] == 1, where
            assert result["node_group_size"] == (2 if layout == "consecutive" else 1), where
            assert result["kinds"]["user"] == "column_wise", where
