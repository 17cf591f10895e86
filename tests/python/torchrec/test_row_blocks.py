"""Tables that are cut by rows: row-wise, table-row-wise and grids."""

import logging

import pytest
import torch
from planner_cases import GIB, MIXED, SHARDERS, bags, planner, topology
from torchrec import PoolingType
from torchrec.distributed.planner.planners import EmbeddingShardingPlanner
from torchrec.distributed.planner.types import ParameterConstraints, PlannerError, PlannerErrorType
from torchrec.distributed.types import ShardingPlan
from torchrec.modules.embedding_configs import DataType

import neuroshard
from neuroshard.torchrec import NeuroShardPlanner, from_sharding_plan, to_sharding_plan

# Four columns of it take 45 GiB.
HUGE = {"huge": (3_000_000_000, 16), **MIXED}
FUSED = ["fused"]


def kinds(plan: ShardingPlan) -> dict[str, str]:
    return {name: sharding.sharding_type for module in plan.plan.values() for name, sharding in module.items()}  # type: ignore[attr-defined]


def fullest(used: NeuroShardPlanner, ranks: int) -> int:
    bytes_of = [0] * ranks
    for option in used.get_selected_options():
        for shard in option.shards:
            bytes_of[shard.rank] += shard.storage.hbm
    return max(bytes_of)


@pytest.mark.parametrize("sharding_type", ["row_wise", "table_row_wise", "grid_shard"])
def test_they_go_to_and_fro(sharding_type: str) -> None:
    model = torch.nn.ModuleDict({"x": bags(MIXED)})
    two_nodes = topology(4, node=2)
    constraints = {name: ParameterConstraints(sharding_types=[sharding_type], min_partition=4) for name in MIXED}
    theirs = EmbeddingShardingPlanner(topology=two_nodes, stats=[], debug=False, constraints=constraints).plan(
        model, SHARDERS
    )
    tables = [neuroshard.Table(rows, dim, 1.0, name=f"x.{name}") for name, (rows, dim) in MIXED.items()]
    task = neuroshard.Task(tables, devices=4, memory_bytes=16 * GIB)
    ours = from_sharding_plan(theirs, task)
    cost = neuroshard.simulate(task, ours)
    assert sum(cost.memory_bytes) == sum(4 * rows * dim for rows, dim in MIXED.values())
    assert any(piece.rows < task.tables[piece.table].rows for piece in ours.slices)
    if sharding_type == "grid_shard":
        with pytest.raises(neuroshard.Error, match="forbid grid_shard"):
            to_sharding_plan(task, ours, model, topology=two_nodes, sharders=SHARDERS)
        constraints = {name: ParameterConstraints(sharding_types=["table_wise", "grid_shard"]) for name in MIXED}
    else:
        constraints = {}
    again = to_sharding_plan(task, ours, model, topology=two_nodes, sharders=SHARDERS, constraints=constraints)
    for name in MIXED:
        mine, given = again.plan["x"][name], theirs.plan["x"][name]  # type: ignore[index]
        assert mine.sharding_type == given.sharding_type
        assert str(mine.sharding_spec) == str(given.sharding_spec)
        assert mine.ranks == given.ranks
    uneven = neuroshard.plan_from_slices(
        task,
        [(0, 0, 0, 128, 0, 1000), (1, 0, 0, 128, 1000, 3_999_000)]
        + [(0, t, 0, tables[t].dim) for t in range(1, 5)],
    )
    with pytest.raises(neuroshard.Error, match="cuts rows in equal blocks"):
        to_sharding_plan(task, uneven, model, topology=two_nodes, sharders=SHARDERS)


def test_tables_that_columns_do_not_fit_are_row_wise(caplog: pytest.LogCaptureFixture) -> None:
    for ranks, node, gib, huge_table in (
        (4, 4, 64, (12_000_000_000, 4)),
        (12, 4, 24, HUGE["huge"]),
        (16, 4, 24, HUGE["huge"]),
    ):
        sizes = {**HUGE, "huge": huge_table}
        used = planner(topology=topology(ranks, hbm_cap=gib * GIB, node=node))
        with caplog.at_level(logging.WARNING):
            plan = used.plan(bags(sizes), SHARDERS)
        assert kinds(plan)["huge"] == "row_wise" and "table_row_wise" not in kinds(plan).values()
        huge = plan.plan[""]["huge"]  # type: ignore[index]
        block = -(-huge_table[0] // ranks)
        assert [tuple(s.shard_sizes) for s in huge.sharding_spec.shards] == [(block, huge_table[1])] * ranks
        assert huge.ranks == list(range(ranks))
        assert fullest(used, ranks) <= gib * GIB
        assert used.cost is not None
        assert used.cost.weight_bytes.sum() == sum(4 * rows * dim for rows, dim in sizes.values())
    assert "to TorchRec's planner" not in caplog.text


def test_nodes_of_eight_hold_rows_if_constraints_allow_it() -> None:
    """Table-row-wise where a node has room, grids of as many nodes as it takes."""
    for gib, allowed in ((40, "table_row_wise"), (24, "grid_shard")):
        used = planner(
            topology=topology(16, hbm_cap=gib * GIB, node=8),
            constraints={
                "huge": ParameterConstraints(
                    sharding_types=["column_wise", "table_row_wise", "grid_shard"], compute_kernels=FUSED
                )
            },
        )
        plan = used.plan(bags(HUGE), SHARDERS)
        huge = plan.plan[""]["huge"]  # type: ignore[index]
        assert huge.sharding_type in ("table_row_wise", "grid_shard")
        columns = {tuple(s.shard_offsets)[1]: tuple(s.shard_sizes)[1] for s in huge.sharding_spec.shards}
        assert sum(columns.values()) == 16
        for first in columns:
            ranks = [s.placement.rank() for s in huge.sharding_spec.shards if tuple(s.shard_offsets)[1] == first]
            assert ranks == list(range(ranks[0], ranks[0] + 8)) and ranks[0] % 8 == 0
        assert fullest(used, 16) <= gib * GIB
        assert used.cost is not None and used.cost.weight_bytes.sum() > 4 * 16 * 3_000_000_000


def test_rows_are_cut_where_that_costs_less_unless_constraints_forbid_it() -> None:
    """"a" has many lookups, whose ids each of its slices of columns would be sent."""
    columns = ["table_wise", "column_wise"]
    costs = []
    for sharding_types, kind in ((columns, "column_wise"), ([*columns, "row_wise"], "row_wise"), (None, "row_wise")):
        used = planner(
            topology=topology(8, hbm_cap=40 * GIB),
            constraints={"a": ParameterConstraints(sharding_types=sharding_types, pooling_factors=[100.0])},
        )
        assert kinds(used.plan(bags(MIXED), SHARDERS))["a"] == kind
        assert used.cost is not None
        costs.append(used.cost.cost_ms)
    assert costs[1] < 0.9 * costs[0] and costs[2] == costs[1]


def test_rows_are_cut_within_nodes_where_that_costs_less() -> None:
    """By the built-in weights, too, which have no price of such blocks. Narrow tables with many lookups."""
    assert not neuroshard.Weights.builtin().prices_node_blocks
    columns = ["table_wise", "column_wise"]
    tables = {f"t{i}": (1_000_000, [4, 8, 16][i % 3]) for i in range(25)}
    costs = []
    for sharding_types, kind in ((columns, None), ([*columns, "table_row_wise"], "table_row_wise")):
        constraints = {
            name: ParameterConstraints(sharding_types=sharding_types, pooling_factors=[10.0 + 8.0 * i])
            for i, name in enumerate(tables)
        }
        used = planner(topology=topology(32, node=8), constraints=constraints)
        of = kinds(used.plan(bags(tables), SHARDERS))
        assert kind is None or kind in of.values()
        assert set(of.values()) <= set(sharding_types)
        assert used.cost is not None
        costs.append(used.cost.cost_ms)
    assert costs[1] < 0.9 * costs[0]


def test_what_constraints_forbid_is_not_done(caplog: pytest.LogCaptureFixture) -> None:
    def planned(sharding_types: list[str], *, hbm_gib: int = 24, cuts: str | None = None) -> dict[str, str]:
        constraints = {"huge": ParameterConstraints(sharding_types=sharding_types, compute_kernels=FUSED)}
        used = planner(topology=topology(16, hbm_cap=hbm_gib * GIB, node=8), constraints=constraints, cuts=cuts)
        plan = used.plan(bags(HUGE), SHARDERS)
        assert fullest(used, 16) <= hbm_gib * GIB
        return kinds(plan)

    with pytest.raises(PlannerError, match="huge") as refused:
        planned(["table_wise", "column_wise"])
    assert refused.value.error_type == PlannerErrorType.INSUFFICIENT_STORAGE
    with pytest.raises(PlannerError, match="dim 4"):
        planned(["row_wise", "column_wise"], cuts="columns")
    assert planned(["column_wise", "row_wise"])["huge"] == "row_wise"
    with caplog.at_level(logging.WARNING):
        assert planned(["column_wise", "table_row_wise"], hbm_gib=40)["huge"] == "table_row_wise"
    assert "leaves table huge" not in caplog.text


def test_kinds_that_constraints_force_are_planned(caplog: pytest.LogCaptureFixture) -> None:
    """Beside tables that are planned freely, in nodes of four ranks."""
    forced = {"a": "row_wise", "b": "table_row_wise", "d": "grid_shard", "e": "row_wise"}
    constraints = {name: ParameterConstraints(sharding_types=[kind], min_partition=4) for name, kind in forced.items()}
    used = planner(topology=topology(8, node=4), constraints=constraints)
    with caplog.at_level(logging.WARNING):
        plan = used.plan(bags(MIXED), SHARDERS)
    assert "to TorchRec's planner" not in caplog.text
    of = kinds(plan)
    assert {name: of[name] for name in forced} == forced and of["c"] in ("table_wise", "column_wise")
    assert used.cost is not None
    assert used.cost.weight_bytes.sum() == sum(4 * rows * dim for rows, dim in MIXED.values())
    assert fullest(used, 8) <= 16 * GIB
    # Where the library may not cut rows, TorchRec's planner does.
    by_columns = planner(topology=topology(8, node=4), constraints=constraints, cuts="columns")
    with caplog.at_level(logging.WARNING):
        assert kinds(by_columns.plan(bags(MIXED), SHARDERS))["a"] == "row_wise"
    assert "a to TorchRec's planner" in caplog.text
    alone = planner(topology=topology(1), constraints={"a": constraints["a"]})
    assert kinds(alone.plan(bags(MIXED), SHARDERS))["a"] == "row_wise"


def test_storage_decides_whether_rows_are_cut() -> None:
    """Columns of fp16 fit where those of fp32 would not, and states of an optimizer make rows be cut."""
    from fbgemm_gpu.split_embedding_configs import EmbOptimType
    from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder

    tables = {"long": (600_000_000, 4), "short": (1000, 16)}
    for data_type, optimizer, kind in (
        (DataType.FP16, EmbOptimType.EXACT_SGD, "table_wise"),
        (DataType.FP32, EmbOptimType.EXACT_SGD, "row_wise"),
        (DataType.FP16, EmbOptimType.EXACT_ADAGRAD, "row_wise"),
    ):
        used = planner(topology=topology(4, hbm_cap=6 * GIB))
        sharders = [EmbeddingBagCollectionSharder(fused_params={"optimizer": optimizer})]
        plan = used.plan(bags(tables, data_type), sharders)
        assert kinds(plan)["long"] == kind, (data_type, optimizer)


def test_means_are_not_taken_of_row_blocks() -> None:
    """TorchRec divides all outputs of the module, and those of grids too early."""
    means = bags(HUGE, pooling=PoolingType.MEAN)
    on_devices = {name: ParameterConstraints(compute_kernels=FUSED) for name in HUGE}
    with pytest.raises(PlannerError, match="huge"):
        planner(topology=topology(16, hbm_cap=24 * GIB), constraints=on_devices).plan(means, SHARDERS)
    constraints = {"a": ParameterConstraints(sharding_types=["row_wise"])}
    with pytest.raises(PlannerError, match="would compute wrong outputs of .b, .c, .d, .e"):
        planner(constraints=constraints).plan(bags(MIXED, pooling=PoolingType.MEAN), SHARDERS)
    plan = planner(constraints=constraints).plan(bags(MIXED), SHARDERS)
    assert kinds(plan)["a"] == "row_wise"
    tables = [neuroshard.Table(rows, dim, 1.0, name=name) for name, (rows, dim) in MIXED.items()]
    task = neuroshard.Task(tables, devices=4, memory_bytes=16 * GIB)
    with pytest.raises(neuroshard.Error, match="table a cannot be sharded as planned: it pools by mean"):
        to_sharding_plan(
            task,
            from_sharding_plan(plan, task),
            bags(MIXED, pooling=PoolingType.MEAN),
            topology=topology(4),
            sharders=SHARDERS,
        )
