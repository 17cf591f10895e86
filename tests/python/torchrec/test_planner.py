"""NeuroShardPlanner in one process: what it reads of a model, and what it does with what it cannot plan."""

import copy
import logging

import pytest
import torch
from torchrec import EmbeddingBagCollection, EmbeddingBagConfig, EmbeddingCollection, EmbeddingConfig
from torchrec.distributed.embedding import EmbeddingCollectionSharder
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.planner.planners import EmbeddingShardingPlanner
from torchrec.distributed.planner.storage_reservations import FixedPercentageStorageReservation
from torchrec.distributed.planner.types import ParameterConstraints, PlannerError, PlannerErrorType, Topology
from torchrec.distributed.types import ShardingPlan
from torchrec.modules.embedding_configs import DataType

import neuroshard
from neuroshard.torchrec import NeuroShardPlanner, from_sharding_plan, to_sharding_plan

GIB = 1 << 30
SHARDERS = [EmbeddingBagCollectionSharder(), EmbeddingCollectionSharder()]


def bags(tables: dict[str, tuple[int, int]], data_type: DataType = DataType.FP32) -> EmbeddingBagCollection:
    return EmbeddingBagCollection(
        tables=[
            EmbeddingBagConfig(
                name=name, num_embeddings=rows, embedding_dim=dim, feature_names=[f"of_{name}"], data_type=data_type
            )
            for name, (rows, dim) in tables.items()
        ],
        device=torch.device("meta"),
    )


def topology(world_size: int = 4, hbm_cap: int = 16 * GIB) -> Topology:
    return Topology(world_size=world_size, compute_device="cuda", hbm_cap=hbm_cap, local_world_size=world_size)


def planner(**arguments: object) -> NeuroShardPlanner:
    given: dict[str, object] = {
        "topology": topology(),
        "storage_reservation": FixedPercentageStorageReservation(0.0),
        "stats": [],
        "debug": False,
        **arguments,
    }
    return NeuroShardPlanner(**given)  # type: ignore[arg-type]


MIXED = {"a": (4_000_000, 128), "b": (1_000_000, 64), "c": (50_000, 32), "d": (1000, 16), "e": (7, 4)}


def pieces_of(plan: ShardingPlan, path: str, name: str) -> list[tuple[int, int, int]]:
    shards = plan.plan[path][name].sharding_spec.shards  # type: ignore[index]
    return [(s.shard_offsets[1], s.shard_sizes[1], s.placement.rank()) for s in shards]


def test_places_every_column_once_and_says_the_same_twice() -> None:
    model = torch.nn.ModuleDict({"x": bags(MIXED)})
    used = planner()
    plan = used.plan(model, SHARDERS)
    assert set(plan.plan) == {"x"} and set(plan.plan["x"]) == set(MIXED)  # type: ignore[call-overload]
    for name, (rows, dim) in MIXED.items():
        sharding = plan.plan["x"][name]  # type: ignore[index]
        pieces = pieces_of(plan, "x", name)
        assert sum(columns for _, columns, _ in pieces) == dim
        assert [first for first, _, _ in pieces] == sorted(first for first, _, _ in pieces)
        assert len({columns for _, columns, _ in pieces}) == 1
        assert sharding.ranks == [rank for _, _, rank in pieces]
        assert sharding.compute_kernel == "fused"
        assert sharding.sharding_type == ("table_wise" if len(pieces) == 1 else "column_wise")
        for shard in sharding.sharding_spec.shards:
            assert shard.shard_sizes[0] == rows
            assert str(shard.placement) == f"rank:{shard.placement.rank()}/cuda:{shard.placement.rank()}"
    assert len(pieces_of(plan, "x", "a")) > 1
    assert str(planner().plan(model, SHARDERS)) == str(plan)
    options = used.get_selected_options()
    assert sorted(option.name for option in options) == sorted(MIXED)
    assert all(shard.storage.hbm > 0 and shard.perf.total > 0 for option in options for shard in option.shards)
    assert used.cost is not None and used.cost.cost_ms > 0.0
    assert used.get_search_space()


def test_plans_go_to_and_fro() -> None:
    model = torch.nn.ModuleDict({"x": bags(MIXED)})
    used = planner()
    plan = used.plan(model, SHARDERS)
    tables = [neuroshard.Table(rows, dim, 1.0, name=f"x.{name}") for name, (rows, dim) in MIXED.items()]
    task = neuroshard.Task(tables, devices=4, memory_bytes=16 * GIB)
    ours = from_sharding_plan(plan, task)
    assert used.cost is not None
    assert neuroshard.simulate(task, ours).cost_ms == pytest.approx(used.cost.cost_ms, rel=1e-6)
    assert str(to_sharding_plan(task, ours, model, topology=topology(), sharders=SHARDERS)) == str(plan)
    theirs = EmbeddingShardingPlanner(topology=topology(), stats=[], debug=False, constraints={
        name: ParameterConstraints(sharding_types=["table_wise", "column_wise"]) for name in MIXED
    }).plan(model, SHARDERS)
    assert neuroshard.simulate(task, from_sharding_plan(theirs, task)).cost_ms >= used.cost.cost_ms

    with pytest.raises(neuroshard.Error, match="x.e"):
        from_sharding_plan(plan, neuroshard.Task(tables[:-1], devices=4, memory_bytes=GIB))
    more = neuroshard.Task([*tables, neuroshard.Table(9, 4, 1.0, name="x.more")], devices=4, memory_bytes=16 * GIB)
    with pytest.raises(neuroshard.Error, match="no table x.more"):
        from_sharding_plan(plan, more)
    result = neuroshard.plan(more)
    assert result.plan is not None
    with pytest.raises(neuroshard.Error, match="the module has no table x.more"):
        to_sharding_plan(more, result.plan, model, topology=topology(), sharders=SHARDERS)


@pytest.mark.parametrize("sharding_type", ["row_wise", "table_row_wise", "grid_shard"])
def test_row_blocks_go_to_and_fro(sharding_type: str) -> None:
    model = torch.nn.ModuleDict({"x": bags(MIXED)})
    two_nodes = Topology(world_size=4, compute_device="cuda", hbm_cap=16 * GIB, local_world_size=2)
    theirs = EmbeddingShardingPlanner(topology=two_nodes, stats=[], debug=False, constraints={
        name: ParameterConstraints(sharding_types=[sharding_type], min_partition=4) for name in MIXED
    }).plan(model, SHARDERS)
    tables = [neuroshard.Table(rows, dim, 1.0, name=f"x.{name}") for name, (rows, dim) in MIXED.items()]
    task = neuroshard.Task(tables, devices=4, memory_bytes=16 * GIB)
    ours = from_sharding_plan(theirs, task)
    cost = neuroshard.simulate(task, ours)
    assert sum(cost.memory_bytes) == sum(4 * rows * dim for rows, dim in MIXED.values())
    assert any(piece.rows < task.tables[piece.table].rows for piece in ours.slices)
    if sharding_type == "grid_shard":
        with pytest.raises(neuroshard.Error, match="by rows and columns"):
            to_sharding_plan(task, ours, model, topology=two_nodes, sharders=SHARDERS)
        return
    again = to_sharding_plan(task, ours, model, topology=two_nodes, sharders=SHARDERS)
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


def test_optimizers_data_types_and_memory_are_minded() -> None:
    # 2 GB of fp32 weights; with Adam's state 6 GB, more than three devices of 1.8 GB have.
    sizes = {f"t{index}": (1_000_000, 64) for index in range(8)}
    model = bags(sizes)
    roomy = topology(3, hbm_cap=int(1.8e9))

    def sharder(optimizer: str) -> EmbeddingBagCollectionSharder:
        from fbgemm_gpu.split_embedding_configs import EmbOptimType

        return EmbeddingBagCollectionSharder(fused_params={"optimizer": EmbOptimType[optimizer]})

    def used(made: NeuroShardPlanner) -> list[int]:
        bytes_of = [0, 0, 0]
        for option in made.get_selected_options():
            for shard in option.shards:
                bytes_of[shard.rank] += shard.storage.hbm
        return bytes_of

    simple = planner(topology=roomy)
    simple.plan(model, [sharder("EXACT_SGD")])
    assert max(used(simple)) <= 1.8e9
    with pytest.raises(PlannerError) as raised:
        planner(topology=roomy).plan(model, [sharder("ADAM")])
    assert raised.value.error_type == PlannerErrorType.INSUFFICIENT_STORAGE
    assert "8 tables" in str(raised.value)
    half = planner(topology=topology(3, hbm_cap=int(0.6e9)))
    half.plan(bags(sizes, DataType.FP16), [sharder("EXACT_SGD")])  # fp32 would need 0.68e9 on each.
    assert max(used(half)) <= 0.6e9


def test_states_that_fill_memory_decide_what_goes_where() -> None:
    # Weights alone fit anywhere; with Adam's state the two large tables have to part.
    from fbgemm_gpu.split_embedding_configs import EmbOptimType

    model = bags({"large": (2_000_000, 32), "wide": (2_000_000, 32), "small": (1000, 32)})
    sharders = [EmbeddingBagCollectionSharder(fused_params={"optimizer": EmbOptimType.ADAM})]
    made = planner(topology=topology(2, hbm_cap=int(0.9e9)))
    made.plan(model, sharders)
    for rank in range(2):
        used = sum(s.storage.hbm for option in made.get_selected_options() for s in option.shards if s.rank == rank)
        assert used <= 0.9e9


def test_unpooled_and_constrained_tables_are_left_to_torchrec(caplog: pytest.LogCaptureFixture) -> None:
    model = torch.nn.ModuleDict(
        {
            "pooled": bags(MIXED),
            "unpooled": EmbeddingCollection(
                tables=[EmbeddingConfig(name="word", num_embeddings=5000, embedding_dim=32, feature_names=["w"])],
                device=torch.device("meta"),
            ),
        }
    )
    constraints = {
        "b": ParameterConstraints(sharding_types=["row_wise"]),
        "c": ParameterConstraints(compute_kernels=["fused_uvm_caching"]),
        "d": ParameterConstraints(sharding_types=["data_parallel"]),
    }
    used = planner(constraints=constraints)
    with caplog.at_level(logging.WARNING):
        plan = used.plan(model, SHARDERS)
    warnings = "\n".join(record.getMessage() for record in caplog.records if record.name.startswith("neuroshard"))
    for name, reason in [
        ("unpooled.word", "not pooled"),
        ("pooled.b", "row_wise"),
        ("pooled.c", "fused_uvm_caching"),
        ("pooled.d", "data_parallel"),
    ]:
        assert f"{name} to TorchRec's planner" in warnings and reason in warnings
    assert "pooled.a" not in warnings
    of = {name: sharding.sharding_type for module in plan.plan.values() for name, sharding in module.items()}  # type: ignore[attr-defined]
    assert of["b"] == "row_wise" and of["d"] == "data_parallel" and set(of) == {*MIXED, "word"}
    assert plan.plan["pooled"]["c"].compute_kernel == "fused_uvm_caching"  # type: ignore[index]
    assert len(used.get_selected_options()) == 6


def test_tables_that_must_not_be_cut_so_are_not(caplog: pytest.LogCaptureFixture) -> None:
    model = bags(MIXED)
    assert len(pieces_of(planner().plan(model, SHARDERS), "", "a")) > 1
    constraints = {
        "a": ParameterConstraints(sharding_types=["table_wise"]),
        "b": ParameterConstraints(sharding_types=["table_wise", "column_wise"], min_partition=64),
    }
    with caplog.at_level(logging.WARNING):
        plan = planner(constraints=constraints).plan(model, SHARDERS)
    assert len(pieces_of(plan, "", "a")) == 1
    assert all(columns >= 64 for _, columns, _ in pieces_of(plan, "", "b"))
    assert "leaves table a to TorchRec's planner" in caplog.text


def test_access_histograms_reach_the_search() -> None:
    model = torch.nn.ModuleDict({"x": bags(MIXED)})
    # All lookups go to few rows, which stay in the cache.
    hot = [0.0] * 16 + [1.0]
    used = planner(access_histograms={"a": hot, "x.b": hot})
    plan = used.plan(model, SHARDERS)
    tables = [
        neuroshard.Table(
            rows, dim, 1.0, access_histogram=hot if name in ("a", "b") else None, name=f"x.{name}"
        )
        for name, (rows, dim) in MIXED.items()
    ]
    task = neuroshard.Task(tables, devices=4, memory_bytes=16 * GIB)
    assert used.cost is not None
    assert neuroshard.simulate(task, from_sharding_plan(plan, task)).cost_ms == used.cost.cost_ms
    even = planner()
    even.plan(model, SHARDERS)
    assert even.cost is not None and used.cost.cost_ms < even.cost.cost_ms
    for wrong, text in (({"x.z": hot}, "no table x.z"), ({"a": [-1.0] * 17}, "x.a")):
        with pytest.raises(PlannerError, match=text) as refused:
            planner(access_histograms=wrong).plan(model, SHARDERS)
        assert refused.value.error_type == PlannerErrorType.INPUT_VALIDATION


def test_unequal_widths_on_request(caplog: pytest.LogCaptureFixture) -> None:
    sizes = {f"t{index}": (3_000_000 >> index, 128) for index in range(5)}
    factors = {name: ParameterConstraints(pooling_factors=[40.0 / (1 + i)]) for i, name in enumerate(sizes)}
    for world_size in (3, 5, 6, 7):
        of = {}
        for equal in (True, False):
            used = planner(topology=topology(world_size), constraints=factors, equal_widths=equal)
            with caplog.at_level(logging.WARNING):
                plan = used.plan(bags(sizes), SHARDERS)
            of[equal] = [{columns for _, columns, _ in pieces_of(plan, "", name)} for name in sizes]
            assert used.cost is not None
        assert all(len(widths) == 1 for widths in of[True])
        if any(len(widths) > 1 for widths in of[False]):
            assert "unequal widths" in caplog.text
            return
    raise AssertionError("no plan had unequal widths")


def test_arguments() -> None:
    model = bags(MIXED)
    with pytest.raises(neuroshard.Error, match="effort"):
        planner(effort="none")
    with pytest.raises(TypeError):
        planner(proposer=None)
    assert planner(timeout_seconds=1)._deadline_ms == 1000.0
    with pytest.raises(PlannerError, match="a"):
        planner(topology=topology(hbm_cap=1000)).plan(model, SHARDERS)
    assert planner().plan(torch.nn.Linear(2, 2), SHARDERS).plan == {}
    called: list[int] = []

    def callback(options: list) -> list:  # type: ignore[type-arg]
        called.append(len(options))
        return options

    logged = planner(callbacks=[callback], stats=None, debug=True)
    logged.plan(copy.deepcopy(model), SHARDERS)
    assert called == [5]
