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


def test_only_constraints_that_name_them_make_them(caplog: pytest.LogCaptureFixture) -> None:
    """Fused optimizers do not update them."""
    knows = neuroshard.Weights.builtin().prices_replicas
    columns = ["table_wise", "column_wise"]
    cases: list[tuple[list[str] | None, set[str]]] = [
        (None, set(columns)),
        (columns, set(columns)),
        ([*columns, "data_parallel"], {*columns, "data_parallel"} if knows else set(columns)),
    ]
    costs = []
    for kinds, allowed in cases:
        used = planner(constraints={name: ParameterConstraints(sharding_types=kinds) for name in MIXED})
        with caplog.at_level(logging.WARNING):
            plan = used.plan(bags(MIXED), SHARDERS)
        assert {sharding.sharding_type for sharding in plan.plan[""].values()} <= allowed  # type: ignore[union-attr]
        assert used.cost is not None
        costs.append(used.cost.cost_ms)
    assert costs[2] <= 1.001 * costs[1]
    assert "to TorchRec's planner" not in caplog.text


def test_their_cost_counts_if_weights_know_it() -> None:
    used = planner(constraints={"e": ParameterConstraints(sharding_types=["data_parallel"])})
    used.plan(bags(MIXED), SHARDERS)
    assert used.cost is not None
    copies = 4 if neuroshard.Weights.builtin().prices_replicas else 0
    once = sum(4 * rows * dim for name, (rows, dim) in MIXED.items() if name != "e")
    assert used.cost.weight_bytes.sum() == once + copies * 4 * 7 * 4
