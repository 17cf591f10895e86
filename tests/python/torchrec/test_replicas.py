"""Tables on every rank: data-parallel."""

import logging

import pytest
import torch
from planner_cases import GIB, MIXED, SHARDERS, bags, planner, topology
from torchrec.distributed.planner.planners import EmbeddingShardingPlanner
from torchrec.distributed.planner.types import ParameterConstraints

import neuroshard
from neuroshard.torchrec import from_sharding_plan, to_sharding_plan


def test_they_go_to_and_fro() -> None:
    model = torch.nn.ModuleDict({"x": bags(MIXED)})
    constraints = {
        name: ParameterConstraints(sharding_types=["data_parallel" if name in "de" else "column_wise"])
        for name in MIXED
    }
    theirs = EmbeddingShardingPlanner(topology=topology(), stats=[], debug=False, constraints=constraints).plan(
        model, SHARDERS
    )
    tables = [neuroshard.Table(rows, dim, 1.0, name=f"x.{name}") for name, (rows, dim) in MIXED.items()]
    task = neuroshard.Task(tables, devices=4, memory_bytes=16 * GIB)
    ours = from_sharding_plan(theirs, task)
    assert ours.replicas == [3, 4] and {piece.table for piece in ours.slices} == {0, 1, 2}
    again = to_sharding_plan(task, ours, model, topology=topology(), sharders=SHARDERS)
    for name in MIXED:
        mine, given = again.plan["x"][name], theirs.plan["x"][name]  # type: ignore[index]
        assert str(mine.sharding_spec) == str(given.sharding_spec) and mine.ranks == given.ranks
        if name in "de":
            assert str(mine) == str(given) and mine.sharding_type == "data_parallel"
    forbidden = {"d": ParameterConstraints(sharding_types=["table_wise"])}
    with pytest.raises(neuroshard.Error, match="table x.d cannot be sharded as planned: .* forbid data-parallel"):
        to_sharding_plan(task, ours, model, topology=topology(), sharders=SHARDERS, constraints=forbidden)


def test_they_are_made_where_that_costs_less_unless_constraints_forbid_them(caplog: pytest.LogCaptureFixture) -> None:
    """Fused optimizers do not update them, so those that nobody named are warned of, once."""
    assert neuroshard.Weights.builtin().prices_replicas
    small = [f"small{i}" for i in range(6)]
    tables = {**dict.fromkeys(small, (100, 128)), **{f"t{i}": (1_000_000, 64) for i in range(4)}}
    costs = []
    for kinds, replicated, warned in (
        (["table_wise", "column_wise"], False, False),
        (["table_wise", "column_wise", "data_parallel"], True, False),
        (None, True, True),
    ):
        used = planner(
            constraints={
                name: ParameterConstraints(sharding_types=kinds, pooling_factors=[1.0 if name in small else 5.0])
                for name in tables
            }
        )
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            plan = used.plan(bags(tables), SHARDERS)
            used.plan(bags(tables), SHARDERS)
        of = {name: sharding.sharding_type for name, sharding in plan.plan[""].items()}  # type: ignore[union-attr]
        assert [name for name, kind in of.items() if kind == "data_parallel"] == (small if replicated else [])
        assert caplog.text.count(f"neuroshard replicates {', '.join(small)}: ") == int(warned)
        assert used.cost is not None
        costs.append(used.cost.cost_ms)
        assert "to TorchRec's planner" not in caplog.text
    assert costs[1] < costs[0] and costs[2] <= costs[1]


def test_their_cost_counts_if_weights_know_it() -> None:
    used = planner(constraints={"e": ParameterConstraints(sharding_types=["data_parallel"])})
    used.plan(bags(MIXED), SHARDERS)
    assert used.cost is not None
    copies = 4 if neuroshard.Weights.builtin().prices_replicas else 0
    once = sum(4 * rows * dim for name, (rows, dim) in MIXED.items() if name != "e")
    assert used.cost.weight_bytes.sum() == once + copies * 4 * 7 * 4
