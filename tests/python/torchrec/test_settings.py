"""Nothing that a user gives is dropped in silence: each public field of TorchRec's planner, models and sharders changes
the task or the plan, is handed on to the runtime, or is named in a warning, once."""

import dataclasses
import inspect
import logging
from typing import Any

import pytest
import torch
from fbgemm_gpu.split_embedding_configs import EmbOptimType, SparseType
from fbgemm_gpu.split_table_batched_embeddings_ops_training import SplitTableBatchedEmbeddingBagsCodegen
from planner_cases import GIB, SHARDERS, bags, pieces_of, planner, topology
from torchrec import EmbeddingBagCollection, EmbeddingBagConfig, EmbeddingCollection, EmbeddingConfig, PoolingType
from torchrec.distributed.embedding import EmbeddingCollectionSharder
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.fbgemm_qcomm_codec import CommType, QCommsConfig, get_qcomm_codecs_registry
from torchrec.distributed.fp_embeddingbag import FeatureProcessedEmbeddingBagCollectionSharder
from torchrec.distributed.itep_embeddingbag import ITEPEmbeddingBagCollectionSharder
from torchrec.distributed.mc_embeddingbag import ManagedCollisionEmbeddingBagCollectionSharder
from torchrec.distributed.planner.enumerators import EmbeddingEnumerator
from torchrec.distributed.planner.partitioners import GreedyPerfPartitioner
from torchrec.distributed.planner.perf_models import NoopPerfModel
from torchrec.distributed.planner.planners import EmbeddingShardingPlanner
from torchrec.distributed.planner.proposers import GreedyProposer
from torchrec.distributed.planner.types import (
    BasicCommsBandwidths,
    CustomTopologyData,
    ParameterConstraints,
    PlannerError,
    Topology,
)
from torchrec.distributed.types import BoundsCheckMode, CacheParams, KeyValueParams, ModuleSharder
from torchrec.modules.embedding_configs import DataType
from torchrec.modules.feature_processor_ import PositionWeightedModule
from torchrec.modules.fp_embedding_modules import FeatureProcessedEmbeddingBagCollection
from torchrec.modules.itep_embedding_modules import ITEPEmbeddingBagCollection
from torchrec.modules.mc_embedding_modules import ManagedCollisionEmbeddingBagCollection
from torchrec.modules.mc_modules import (
    DistanceLFU_EvictionPolicy,
    ManagedCollisionCollection,
    MCHManagedCollisionModule,
)

import neuroshard
from neuroshard.torchrec import NeuroShardPlanner
from neuroshard.torchrec.settings import RUN_TIME_CONFIG, RUN_TIME_CONSTRAINTS, RUN_TIME_FUSED_PARAMS

TABLES = {"a": (100_000, 128), "b": (50_000, 128), "c": (1000, 64)}


def outcome(
    log: pytest.LogCaptureFixture,
    model: torch.nn.Module | None = None,
    sharders: list[ModuleSharder[Any]] = SHARDERS,
    **arguments: object,
) -> tuple[str, str]:
    """Returns what is planned, and what is warned of, by two plans of one planner."""
    log.clear()
    log.set_level(logging.WARNING)
    arguments = {"batch_size": 4096, "topology": topology(4), **arguments}
    made = planner(**arguments)
    try:
        plans = [str(made.plan(model or bags(TABLES), sharders)) for _ in range(2)]
    except PlannerError as error:
        return f"PlannerError: {error}", ours(log)
    assert plans[0] == plans[1]
    used = [shard.storage for option in made.get_selected_options() for shard in option.shards]
    task = made.task and (str(made.task), made.task.devices_per_node)
    return f"{plans[0]} {made.cost and made.cost.cost_ms} {used} {task}", ours(log)


def ours(log: pytest.LogCaptureFixture) -> str:
    """Our warnings, one a line."""
    return "\n".join(record.getMessage() for record in log.records if record.name.startswith("neuroshard"))


def is_heeded(usual: tuple[str, str], with_field: tuple[str, str], name: str) -> bool:
    """Whether a field called `name` changes the plan, its cost or memory, or is named in one warning."""
    named = sum(name in line for line in with_field[1].splitlines())
    assert named <= 1
    return with_field[0] != usual[0] or named == 1


CONSTRAINTS: dict[str, object] = {
    "sharding_types": ["row_wise"],
    "compute_kernels": ["fused_uvm_caching"],
    "min_partition": 64,
    "pooling_factors": [20.0],
    "num_poolings": [3.0],
    "batch_sizes": [65_536],
    "is_weighted": True,
    "cache_params": CacheParams(load_factor=0.3),
    "enforce_hbm": True,
    "stochastic_rounding": False,
    "bounds_check_mode": BoundsCheckMode.FATAL,
    "feature_names": ["of_a_0"],
    "output_dtype": DataType.FP16,
    "device_group": "cpu",
    "key_value_params": KeyValueParams(),
    "use_virtual_table": True,
}


def test_each_constraint(caplog: pytest.LogCaptureFixture) -> None:
    assert set(CONSTRAINTS) == {field.name for field in dataclasses.fields(ParameterConstraints)}
    usual = outcome(caplog)
    for name, value in CONSTRAINTS.items():
        # The widest counts among outputs of several types. Modules that say themselves whether they are weighted are
        # not asked.
        of = TABLES if name == "output_dtype" else ["a"]
        given = {table: ParameterConstraints(**{name: value}) for table in of}  # type: ignore[arg-type]
        if name in RUN_TIME_CONSTRAINTS:
            sharding = planner(constraints=given).plan(bags(TABLES), SHARDERS).plan[""]["a"]  # type: ignore[index]
            assert getattr(sharding, name, value) == value, name
        elif name == "is_weighted":
            assert "weighted" not in usual[1]
        else:
            assert is_heeded(usual, outcome(caplog, constraints=given), name), name


def test_kernels_that_no_plan_has_are_named(caplog: pytest.LogCaptureFixture) -> None:
    given = {"a": ParameterConstraints(compute_kernels=["fused", "fused_uvm", "fused_uvm_caching"])}
    warned = outcome(caplog, constraints=given)[1]
    assert warned.count("fused_uvm") == 1 and "fused_uvm_caching" not in warned


def test_constraints_of_no_table(caplog: pytest.LogCaptureFixture) -> None:
    assert outcome(caplog, constraints={"usr": ParameterConstraints(pooling_factors=[3.0])})[1].count("usr") == 1
    for wrong in ({"pooling_factors": [1.0, 2.0]}, {"num_poolings": [1.0, 2.0]}, {"batch_sizes": [1, 2]}):
        planned, _ = outcome(caplog, constraints={"a": ParameterConstraints(**wrong)})  # type: ignore[arg-type]
        assert f"constraints: {next(iter(wrong))} of table a has 2 numbers" in planned


def test_constraints_of_an_enumerator_are_read(caplog: pytest.LogCaptureFixture) -> None:
    given = {"a": ParameterConstraints(pooling_factors=[20.0], sharding_types=["table_wise"])}
    of = topology(4)
    enumerator = EmbeddingEnumerator(topology=of, batch_size=4096, constraints=given)
    assert outcome(caplog, topology=of, enumerator=enumerator)[0] == outcome(caplog, constraints=given)[0]
    with pytest.raises(neuroshard.Error, match="constraints: the enumerator has others"):
        planner(enumerator=enumerator, constraints={"a": ParameterConstraints()})


TOPOLOGY: dict[str, object] = {
    "world_size": 3,
    "compute_device": "cpu",
    "hbm_cap": 1000,
    "local_world_size": 2,
    "pod_size": 2,
    "hbm_mem_bw": 1e8,
    "ddr_mem_bw": 1e7,
    "ssd_mem_bw": 1e7,
    "hbm_to_ddr_mem_bw": 1e7,
    "intra_host_bw": 1e7,
    "inter_host_bw": 1e6,
    "bwd_compute_multiplier": 3.0,
    "custom_topology_data": CustomTopologyData({"hbm_cap": [1000] * 4}, 4),
    "weighted_feature_bwd_compute_multiplier": 2.0,
    "uneven_sharding_perf_multiplier": 2.0,
    "generalized_comms_bandwidths": BasicCommsBandwidths(intra_host_bw=1e7, inter_host_bw=1e6),
}

# Memory that only tables take which TorchRec plans, and who made the topology.
OTHER_TOPOLOGY = {"ddr_cap", "ssd_cap", "created_by_factory"}


def test_each_setting_of_the_topology(caplog: pytest.LogCaptureFixture) -> None:
    arguments = set(inspect.signature(Topology.__init__).parameters) - {"self"}
    assert arguments == set(TOPOLOGY) | OTHER_TOPOLOGY
    common = {"world_size": 4, "compute_device": "cuda", "hbm_cap": 16 * GIB}
    for name, value in TOPOLOGY.items():
        # Nodes of one rank or of two, so that there are several.
        of = {**common, "local_world_size": 1 if name == "pod_size" else 2}
        usual = outcome(caplog, topology=Topology(**of))  # type: ignore[arg-type]
        if name == "local_world_size":
            of["local_world_size"] = 4
        else:
            of[name] = value  # type: ignore[assignment]
        assert is_heeded(usual, outcome(caplog, topology=Topology(**of)), name), name  # type: ignore[arg-type]


def test_bandwidths_are_links_and_speed() -> None:
    def task(**given: Any) -> neuroshard.Task:
        made = planner(topology=Topology(4, "cuda", hbm_cap=16 * GIB, local_world_size=2, **given))
        made.plan(bags(TABLES), SHARDERS)
        assert made.task is not None
        return made.task

    assert task().links is None and task().device_list == []
    assert task(intra_host_bw=2e8, inter_host_bw=1e7).links == neuroshard.NodeLinks(
        in_node_gb_s=200.0, between_nodes_gb_s=10.0
    )
    assert task(inter_host_bw=1e7).links == neuroshard.NodeLinks(between_nodes_gb_s=10.0)
    weights = neuroshard.Weights.builtin()
    assert weights.memory_gb_s is not None
    halved = task(hbm_mem_bw=weights.memory_gb_s * 1e6 / 2)
    assert [device.speed for device in halved.device_list] == [0.5] * 4
    for wrong in ({"inter_host_bw": 0.025}, {"hbm_mem_bw": 0.9}):
        with pytest.raises(PlannerError, match=f"topology: {next(iter(wrong))} is .* bytes/ms.* give bytes per milli"):
            task(**wrong)


def test_the_batch_is_that_of_all_ranks(caplog: pytest.LogCaptureFixture) -> None:
    made = planner(batch_size=4096)
    made.plan(bags(TABLES), SHARDERS)
    assert made.task is not None and made.task.batch_size == 4 * 4096
    usual = planner()
    usual.plan(bags(TABLES), SHARDERS)
    assert usual.task is not None and usual.task.batch_size == 65_536
    # Four times the samples of the batch are four times the lookups.
    more = {"a": ParameterConstraints(batch_sizes=[4 * 4096], pooling_factors=[5.0])}
    larger = planner(batch_size=4096, constraints=more)
    larger.plan(bags(TABLES), SHARDERS)
    assert larger.task is not None
    table = next(table for table in larger.task.tables if table.name == "a")
    assert (table.pooling_factor, table.features) == (20.0, 4.0)
    assert "costs for 4,194,304" in outcome(caplog, batch_size=1 << 21)[1]


def test_each_argument_of_the_planner(caplog: pytest.LogCaptureFixture) -> None:
    theirs = list(inspect.signature(EmbeddingShardingPlanner.__init__).parameters)
    assert list(inspect.signature(NeuroShardPlanner.__init__).parameters)[: len(theirs)] == theirs
    unused = {
        "proposer": GreedyProposer(),
        "partitioner": GreedyPerfPartitioner(),
        "performance_model": NoopPerfModel(topology()),
        "plan_loader": object(),
    }
    usual = outcome(caplog)
    for name, value in unused.items():
        planned, text = outcome(caplog, **{name: value})
        assert planned == usual[0] and text.count(name) == 1
    given = {"a": ParameterConstraints(pooling_factors=[20.0])}
    in_order = NeuroShardPlanner(topology(4), 4096, None, None, None, None, None, [], given, False)
    in_order.plan(bags(TABLES), SHARDERS)
    assert in_order.task is not None and in_order.task.tables[0].pooling_factor == 20.0


def sharder(**arguments: Any) -> list[ModuleSharder[Any]]:
    return [EmbeddingBagCollectionSharder(**arguments), EmbeddingCollectionSharder(**arguments)]


def test_each_of_the_fused_params(caplog: pytest.LogCaptureFixture) -> None:
    usual = outcome(caplog)
    given = {"optimizer": EmbOptimType.ADAM, "output_dtype": SparseType.FP16}
    names = set(inspect.signature(SplitTableBatchedEmbeddingBagsCodegen.__init__).parameters)
    for name in sorted(names - {"self", "embedding_specs"} - RUN_TIME_FUSED_PARAMS):
        if name in ("cache_load_factor", "multipass_prefetch_config"):  # These are for tables that TorchRec plans.
            continue
        made = sharder(fused_params={name: given.get(name, object())})
        # Memory of states is counted beside TorchRec's estimates: too little of it shows.
        little = {"topology": topology(4, hbm_cap=40_000_000)} if name == "optimizer" else {}
        expected = outcome(caplog, **little) if little else usual  # type: ignore[arg-type]
        assert is_heeded(expected, outcome(caplog, None, made, **little), name), name  # type: ignore[arg-type]


def test_each_codec(caplog: pytest.LogCaptureFixture) -> None:
    registry = get_qcomm_codecs_registry(QCommsConfig(CommType.FP16, CommType.BF16))
    assert registry is not None
    sequences = EmbeddingCollection(
        [EmbeddingConfig(name="s", num_embeddings=1000, embedding_dim=64, feature_names=["of_s"])], torch.device("meta")
    )
    for operation, codecs in registry.items():
        model = sequences if operation.startswith("SEQUENCE") else None
        if operation == "POOLED_EMBEDDINGS_REDUCE_SCATTER":  # Row blocks count as the all-to-alls do.
            continue
        usual = outcome(caplog, model)
        assert is_heeded(usual, outcome(caplog, model, sharder(qcomm_codecs_registry={operation: codecs})), operation)
    odd = outcome(caplog, None, sharder(qcomm_codecs_registry={"ALL_GATHER": registry[operation]}))
    assert odd[1].count("ALL_GATHER") == 1


CONFIG: dict[str, object] = {
    "num_embeddings": 7000,
    "embedding_dim": 32,
    "name": "other",
    "data_type": DataType.FP16,
    "feature_names": ["x", "y"],
    "num_embeddings_post_pruning": 10,
    "input_dim": 3,
    "use_virtual_table": True,
    "pooling": PoolingType.MEAN,
}

# Fields that count in row blocks of remapped tables, and in estimates of the memory at its peak, which are TorchRec's.
OF_ESTIMATES = {"total_num_buckets", "stash_weights"}


@pytest.mark.parametrize("kind", [EmbeddingBagConfig, EmbeddingConfig])
def test_each_field_of_a_config(kind: type, caplog: pytest.LogCaptureFixture) -> None:
    names = {field.name for field in dataclasses.fields(kind)}
    assert names - RUN_TIME_CONFIG - OF_ESTIMATES <= set(CONFIG)
    collection = EmbeddingBagCollection if kind is EmbeddingBagConfig else EmbeddingCollection

    def model(**given: object) -> torch.nn.Module:
        fields = {"name": "a", "num_embeddings": 100_000, "embedding_dim": 64, "feature_names": ["x"], **given}
        return collection(tables=[kind(**fields)], device=torch.device("meta"))  # type: ignore[no-any-return]

    usual = outcome(caplog, model())
    for name in sorted(names & set(CONFIG)):
        assert is_heeded(usual, outcome(caplog, model(**{name: CONFIG[name]})), name), name
    odd = model()
    configs = odd.embedding_bag_configs() if kind is EmbeddingBagConfig else odd.embedding_configs()  # type: ignore[operator]
    configs[0].data_type = DataType.NFP8
    assert "data_type NFP8" in outcome(caplog, odd)[1]


def wrapped(inner: EmbeddingBagCollection) -> dict[str, tuple[torch.nn.Module, ModuleSharder[Any]]]:
    """Modules that wrap `inner`, with their sharders, which wrap one that trains by Adam and sends fp16."""
    configs = inner.embedding_bag_configs()
    features = [feature for config in configs for feature in config.feature_names]
    given = EmbeddingBagCollectionSharder(
        fused_params={"optimizer": EmbOptimType.ADAM},
        qcomm_codecs_registry=get_qcomm_codecs_registry(QCommsConfig(CommType.FP16, CommType.FP16)),
    )
    collisions = {
        config.name: MCHManagedCollisionModule(
            zch_size=config.num_embeddings,
            device=torch.device("meta"),
            eviction_interval=2,
            buckets=4,
            eviction_policy=DistanceLFU_EvictionPolicy(),
        )
        for config in configs
    }
    processors = {feature: PositionWeightedModule(max_feature_length=10) for feature in features}
    made: dict[str, tuple[torch.nn.Module, ModuleSharder[Any]]] = {
        "itep": (
            ITEPEmbeddingBagCollection(inner, torch.nn.Module()),  # type: ignore[arg-type]
            ITEPEmbeddingBagCollectionSharder(given),
        ),
        "collisions": (
            ManagedCollisionEmbeddingBagCollection(inner, ManagedCollisionCollection(collisions, configs)),
            ManagedCollisionEmbeddingBagCollectionSharder(given),
        ),
    }
    if inner.is_weighted():
        made["processed"] = (
            FeatureProcessedEmbeddingBagCollection(inner, processors),
            FeatureProcessedEmbeddingBagCollectionSharder(given),
        )
    return made


@pytest.mark.parametrize("pooling", list(PoolingType)[:2])
@pytest.mark.parametrize("weighted", [False, True])
def test_wrapped_modules_are_read_as_what_they_wrap(pooling: PoolingType, weighted: bool) -> None:
    if weighted and pooling == PoolingType.MEAN:
        return  # TorchRec has none.
    inner = EmbeddingBagCollection(
        tables=[
            EmbeddingBagConfig(
                name=name,
                num_embeddings=rows,
                embedding_dim=64,
                feature_names=[f"{name}{index}" for index in range(features)],
                data_type=DataType.FP16,
                pooling=pooling,
            )
            for name, rows, features in (("many", 10_000, 10), ("one", 500, 1))
        ],
        is_weighted=weighted,
        device=torch.device("meta"),
    )
    for kind, (module, of_module) in wrapped(inner).items():
        made = planner(constraints={"many": ParameterConstraints(pooling_factors=[3.0])})
        made.plan(module, [of_module])
        assert made.task is not None, kind
        many = next(table for table in made.task.tables if table.name.endswith("many"))
        assert (many.features, many.pooling_factor, many.weight_type) == (10.0, 30.0, "fp16"), kind
        assert (many.pooling, many.weighted) == (pooling.name.lower(), weighted), kind
        assert made.task.exchange == neuroshard.ExchangeTypes(forward="fp16", backward="fp16"), kind


def test_means_in_wrapped_modules_keep_their_rows() -> None:
    tables = {"mean": (20_000_000, 128), "other": (1_000_000, 64)}
    named = {
        name: ParameterConstraints(sharding_types=["table_wise", "column_wise", "row_wise"], pooling_factors=[50.0])
        for name in tables
    }
    inner = bags(tables, pooling=PoolingType.MEAN)
    for kind, (module, of_module) in wrapped(inner).items():
        plan = planner(topology=topology(4, 32 * GIB), constraints=named).plan(module, [of_module])
        kinds = {sharding.sharding_type for of_path in plan.plan.values() for sharding in of_path.values()}  # type: ignore[attr-defined]
        # Rows of remapped tables may be nothing but cut. Rows of all tables of a module may be.
        assert kinds == {"row_wise"} if kind == "collisions" else "row_wise" not in kinds, kind


def test_a_table_of_one_row_is_not_cut_unless_asked() -> None:
    model = bags({"one": (1, 64), "two": (2, 4)})
    plan = planner(topology=topology(8), min_partition=None).plan(model, SHARDERS)
    assert {sharding.sharding_type for sharding in plan.plan[""].values()} <= {"table_wise", "data_parallel"}  # type: ignore[union-attr]
    wide = {"wide": (4_000_000, 512), "narrow": (4_000_000, 128)}
    columns = ["table_wise", "column_wise"]
    lookups = {name: ParameterConstraints(pooling_factors=[30.0], sharding_types=columns) for name in wide}
    plan = planner(topology=topology(8), min_partition=None, constraints=lookups).plan(bags(wide), SHARDERS)
    assert {columns for _, columns, _ in pieces_of(plan, "", "wide")} == {128}
    assert len(pieces_of(plan, "", "narrow")) == 1
    given = {
        name: ParameterConstraints(pooling_factors=[30.0], min_partition=32, sharding_types=columns) for name in wide
    }
    plan = planner(topology=topology(8), min_partition=None, constraints=given).plan(bags(wide), SHARDERS)
    assert len(pieces_of(plan, "", "narrow")) > 1


def test_columns_are_narrower_where_nothing_else_has_room() -> None:
    model = bags({"mean": (20_000_000, 128)}, pooling=PoolingType.MEAN)
    plan = planner(topology=topology(4, 8 * GIB), min_partition=None).plan(model, SHARDERS)
    assert len(pieces_of(plan, "", "mean")) > 1


def test_on_one_node_table_column_wise_is_chosen() -> None:
    tables = {"a": (4_000_000, 256), "b": (1000, 64)}
    given = {"a": ParameterConstraints(sharding_types=["table_column_wise"], pooling_factors=[30.0])}
    plan = planner(topology=topology(4), constraints=given).plan(bags(tables), SHARDERS)
    assert plan.plan[""]["a"].sharding_type == "table_column_wise"  # type: ignore[index]
    assert len(pieces_of(plan, "", "a")) > 1


def test_times_of_tables_that_torchrec_plans_are_loads() -> None:
    """Loads of tables in host memory, on two of four ranks: other tables are looked up on the others."""
    in_host = {f"big{index}": (2_000_000, 128) for index in range(2)}
    tables = {**{f"t{index}": (100_000, 128) for index in range(16)}, **in_host}
    given = {
        name: ParameterConstraints(
            sharding_types=["table_wise"], compute_kernels=["fused_uvm"], pooling_factors=[20.0]
        )
        for name in in_host
    }
    given.update({name: ParameterConstraints(pooling_factors=[60.0]) for name in tables.keys() - in_host.keys()})
    made = planner(constraints=given, topology=topology(4))
    plan = made.plan(bags(tables), SHARDERS)
    assert made.task is not None
    loads = [device.base_ms for device in made.task.device_list]
    busy = {pieces_of(plan, "", name)[0][2] for name in in_host}
    assert {rank for rank, load in enumerate(loads) if load > 0.0} == busy
    columns = [0] * 4
    for name in tables.keys() - in_host.keys():
        for _, width, rank in pieces_of(plan, "", name):
            columns[rank] += width
    assert max(columns[rank] for rank in busy) < min(columns[rank] for rank in range(4) if rank not in busy)


def test_planners_are_a_way_into_the_library() -> None:
    made = planner(topology=topology(4))
    with pytest.raises(neuroshard.Error, match="there is no plan"):
        made.explain()
    made.plan(bags(TABLES), SHARDERS)
    assert made.task is not None and made.cost is not None and made.result is not None
    assert made.result.plan is not None
    assert [table.name for table in made.task.tables] == ["a", "b", "c"]
    assert neuroshard.simulate(made.task, made.cost.plan).cost_ms == made.cost.cost_ms
    explained = made.explain(rules=True)
    assert explained.cost is not None and explained.cost.cost_ms == made.cost.cost_ms
    assert made.to_html().startswith("<!doctype html>")
    fewer, same = made.what_if([(2, 16 * GIB), (4, 16 * GIB)])
    assert isinstance(fewer, neuroshard.PlanResult) and isinstance(same, neuroshard.PlanResult)
    assert fewer.cost is not None and same.cost is not None
    assert same.cost.cost_ms == pytest.approx(made.cost.cost_ms, rel=0.02)
    # Tables wait in the hosts of the topology where ranks have no room, as in plans, unless constraints forbid it.
    room = 4 * sum(rows * columns for rows, columns in TABLES.values()) // 8
    small, stated, none = made.what_if([(4, room), (4, room, 64 * GIB), (4, room, 0)])
    for found in (small, stated):
        assert isinstance(found, neuroshard.PlanResult) and found.cost is not None
        assert found.cost.host_bytes.sum() > 0 and found.cost.cost_ms > same.cost.cost_ms
    assert isinstance(none, neuroshard.PlanResult) and none.infeasible is not None
    in_hbm = planner(
        topology=topology(4), constraints={name: ParameterConstraints(compute_kernels=["fused"]) for name in TABLES}
    )
    in_hbm.plan(bags(TABLES), SHARDERS)
    (forbidden,) = in_hbm.what_if([(4, room)])
    assert isinstance(forbidden, neuroshard.PlanResult) and forbidden.infeasible is not None


def test_plans_are_compared_by_both_prices() -> None:
    alone = planner(topology=topology(4))
    alone.plan(bags(TABLES), SHARDERS)
    assert alone.comparison is not None and alone.comparison.theirs is None
    made = planner(topology=topology(4), compare=True)
    plan = made.plan(bags(TABLES), SHARDERS)
    assert made.comparison is not None and made.cost is not None
    ours, theirs = made.comparison
    assert str(ours.plan) == str(plan) and ours == alone.comparison.ours._replace(plan=ours.plan, cost=ours.cost)
    assert ours.cost_ms == made.cost.cost_ms
    assert ours.estimated_ms == NoopPerfModel(topology(4)).rate(made.get_selected_options())
    usual = EmbeddingShardingPlanner(topology=topology(4), stats=[], debug=False)
    usual_plan = usual.plan(bags(TABLES), SHARDERS)
    assert theirs is not None and theirs.cost_ms is not None and ours.cost_ms <= theirs.cost_ms
    assert theirs.estimated_ms == NoopPerfModel(topology(4)).rate(usual.get_selected_options())
    assert str(theirs.plan) == str(usual_plan)
    assert str(made.comparison).count("by TorchRec's estimates") == 2
    page = made.to_html()
    assert all(f"{one.estimated_ms:.3f} ms" in page for one in (ours, theirs)) and "Beside TorchRec" in page
    assert "Beside" not in alone.to_html()
    beside_theirs = alone.compare_with(theirs.plan)
    assert beside_theirs.theirs is not None
    assert (beside_theirs.theirs.cost_ms, beside_theirs.theirs.estimated_ms) == (theirs.cost_ms, theirs.estimated_ms)
    assert "Beside the running plan" in beside_theirs.to_html("the running plan")
    with pytest.raises(neuroshard.Error, match="running_plan: it has 1 tables, and the model 3"):
        alone.compare_with(planner(topology=topology(4)).plan(bags({"a": TABLES["a"]}), SHARDERS))
    with pytest.raises(neuroshard.Error, match="there are no two plans"):
        alone.comparison.to_html()
