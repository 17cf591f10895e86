"""Memory of ranks: what tables are taken to need, and plans that TorchRec's estimates refuse."""

import logging

import pytest
import torch
from fbgemm_gpu.split_embedding_configs import EmbOptimType
from planner_cases import GIB, SHARDERS, bags, planner, topology
from torchrec import EmbeddingBagCollection, EmbeddingBagConfig, PoolingType
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.planner.enumerators import EmbeddingEnumerator
from torchrec.distributed.planner.shard_estimators import EmbeddingStorageEstimator
from torchrec.distributed.planner.types import ParameterConstraints, PlannerError, Topology
from torchrec.distributed.types import CacheAlgorithm, CacheParams, KeyValueParams, PipelineType
from torchrec.modules.embedding_configs import DataType

import neuroshard
from neuroshard.torchrec import NeuroShardPlanner
from neuroshard.torchrec.memory import MemoryCounter
from neuroshard.torchrec.model_tables import ModelTable, Piece, model_tables
from neuroshard.torchrec.table_search import Iteration, Planners, TableSearch

RANKS = 4
BATCH = 2048
COLUMNS = ["table_wise", "column_wise"]


def used_by_rank(used: NeuroShardPlanner, ranks: int) -> list[int]:
    bytes_of = [0] * ranks
    for option in used.get_selected_options():
        for shard in option.shards:
            bytes_of[shard.rank] += shard.storage.hbm
    return bytes_of


def kinds_of(used: NeuroShardPlanner) -> set[str]:
    return {option.sharding_type for option in used.get_selected_options()}


@pytest.mark.parametrize("pipeline", [PipelineType.NONE, PipelineType.TRAIN_SPARSE_DIST])
@pytest.mark.parametrize("features", [1, 5])
@pytest.mark.parametrize("data_type", [DataType.FP32, DataType.FP16])
@pytest.mark.parametrize("optimizer", ["EXACT_SGD", "EXACT_ROWWISE_ADAGRAD", "EXACT_ADAGRAD", "ADAM"])
def test_tables_take_what_torchrec_estimates(
    optimizer: str, data_type: DataType, features: int, pipeline: PipelineType
) -> None:
    """Whole ones, of all optimizers, types and pipelines; what optimizers keep is predicted to cost something."""
    sizes = {"long": (900_000, 16), "short": (30, 64), "wide": (20_000, 256)}
    model = EmbeddingBagCollection(
        tables=[
            EmbeddingBagConfig(
                name=name,
                num_embeddings=rows,
                embedding_dim=dim,
                feature_names=[f"{name}_{feature}" for feature in range(features)],
                data_type=data_type,
                pooling=PoolingType.MEAN if name == "wide" else PoolingType.SUM,
            )
            for name, (rows, dim) in sizes.items()
        ],
        device=torch.device("meta"),
    )
    constraints = {
        name: ParameterConstraints(pooling_factors=[pooling] * features)
        for name, pooling in [("long", 0.5), ("short", 1.0), ("wide", 20.0)]
    }
    sharders = [EmbeddingBagCollectionSharder(fused_params={"optimizer": EmbOptimType[optimizer]})]
    ranks = topology(RANKS)
    enumerator = EmbeddingEnumerator(
        topology=ranks,
        batch_size=BATCH,
        constraints=constraints,
        estimator=EmbeddingStorageEstimator(topology=ranks, constraints=constraints, pipeline_type=pipeline),
    )
    tables = model_tables(enumerator.enumerate(model, sharders))
    memory = MemoryCounter(ranks, sharders)
    by_columns = neuroshard.Planner(cuts="columns")
    search = TableSearch(
        Planners(by_columns, by_columns),
        None,
        ranks,
        enumerator,
        memory,
        constraints,
        {},
        Iteration(RANKS),
        candidates=1,
    )
    given = [table.table(constraints, {}) for table in tables]

    def costs(of: list[neuroshard.Table]) -> neuroshard.PlanCost:
        task = neuroshard.Task(of, devices=RANKS, memory_bytes=GIB)
        return neuroshard.simulate(task, neuroshard.plan_from_slices(task, whole))

    whole = [(position, position, 0, table.columns) for position, table in enumerate(tables)]
    sized = costs(search._sized(tables, given))
    cost_of_sgd = costs(given).cost_ms
    assert sized.cost_ms == cost_of_sgd if optimizer == "EXACT_SGD" else sized.cost_ms > cost_of_sgd
    options = [table.sharded([Piece(0, table.columns, 0, 0, table.rows)]) for table in tables]
    enumerator.populate_estimates(options)
    for position, option in enumerate(options):
        assert sized.memory_bytes[position] == pytest.approx(memory.option_bytes(option), rel=2e-3, abs=64)


def test_replicas_are_kept_where_the_first_plan_is_refused() -> None:
    """It minds weights alone, and these leave no room for ids and outputs."""
    ranks, room = 8, int(1.6 * GIB)
    sizes = {
        **{f"large{i}": (3_000_000 >> (i % 3), 128) for i in range(12)},
        **{f"small{i}": (2000 + 100 * i, 64) for i in range(40)},
    }

    def planned(sharding_types: list[str], hbm_cap: int) -> NeuroShardPlanner:
        constraints = {
            name: ParameterConstraints(
                sharding_types=sharding_types, pooling_factors=[2.0 if name.startswith("large") else 5.0]
            )
            for name in sizes
        }
        used = planner(topology=topology(ranks, hbm_cap=hbm_cap), constraints=constraints, batch_size=8192)
        used.plan(bags(sizes), SHARDERS)
        assert max(used_by_rank(used, ranks)) <= hbm_cap
        return used

    replicated = planned([*COLUMNS, "data_parallel"], room)
    assert replicated._searches > 1  # The first was refused.
    assert "data_parallel" in kinds_of(replicated)
    by_columns = planned(COLUMNS, room)
    assert replicated.cost is not None and by_columns.cost is not None
    assert replicated.cost.cost_ms < 0.96 * by_columns.cost.cost_ms
    # Nearly as good as where there is room.
    roomy = planned([*COLUMNS, "data_parallel"], 16 * GIB)
    assert roomy._searches == 1 and roomy.cost is not None
    assert replicated.cost.cost_ms < 1.03 * roomy.cost.cost_ms


@pytest.mark.parametrize("optimizer", ["EXACT_SGD", "EXACT_ROWWISE_ADAGRAD", "ADAM"])
def test_rows_wait_in_host_memory_where_hbm_has_no_room(optimizer: str, caplog: pytest.LogCaptureFixture) -> None:
    sizes = {f"t{i}": (500_000, 64) for i in range(8)}
    sharders = [EmbeddingBagCollectionSharder(fused_params={"optimizer": EmbOptimType[optimizer]})]

    def made(kernels: list[str] | None = None, **arguments: object) -> NeuroShardPlanner:
        constraints = {
            name: ParameterConstraints(pooling_factors=[5.0 + i], compute_kernels=kernels) for i, name in enumerate(sizes)
        }
        return planner(
            **{
                "topology": topology(2, hbm_cap=GIB // 4),
                "constraints": constraints,
                "batch_size": 1024,
                "rules": {"t7": neuroshard.TableRules(keep_in_hbm=True)} if optimizer == "EXACT_SGD" else None,
                **arguments,
            }
        )

    used = made()
    with caplog.at_level(logging.WARNING):
        plan = used.plan(bags(sizes), sharders)
    of_tables = plan.plan[""]
    cached = {name for name, of in of_tables.items() if of.compute_kernel == "fused_uvm_caching"}  # type: ignore[union-attr]
    assert cached and f"neuroshard keeps {', '.join(sorted(cached))} in host memory" in caplog.text
    assert ("t7" in cached) == (optimizer != "EXACT_SGD")
    for name in cached:
        params = of_tables[name].cache_params  # type: ignore[index]
        assert params is not None and params.load_factor is not None and 0.0 < params.load_factor < 1.0
    memory = MemoryCounter(topology(2), sharders)
    assert max(memory.used(used.get_selected_options())) <= GIB // 4
    assert used.cost is not None and used.cost.host_bytes.sum() > 0
    assert used.task is not None and used.task.host_memory is not None and not used.task.host_memory.prefetch
    # Slow links make plans dearer, a pipeline that fetches ahead makes them cheaper, and there is none without room.
    slow = Topology(
        world_size=2, compute_device="cuda", hbm_cap=GIB // 4, local_world_size=2, hbm_to_ddr_mem_bw=4 * GIB / 1000
    )
    on_slow_links = made(topology=slow)
    on_slow_links.plan(bags(sizes), sharders)
    assert on_slow_links.cost is not None and on_slow_links.cost.cost_ms > used.cost.cost_ms
    ahead = made()
    ahead.plan(bags(sizes), [EmbeddingBagCollectionSharder(fused_params={**sharders[0].fused_params, "prefetch_pipeline": True})])
    assert ahead.cost is not None and ahead.cost.cost_ms < used.cost.cost_ms
    for without in (
        made(kernels=["fused", "dense"]),
        made(topology=Topology(world_size=2, compute_device="cuda", hbm_cap=GIB // 4, ddr_cap=GIB // 4)),
    ):
        with pytest.raises(PlannerError, match="found no plan for 8 tables"):
            without.plan(bags(sizes), sharders)


@pytest.mark.parametrize(
    ("other_width", "fused_params", "warns"), [(16, {}, True), (64, {}, False), (16, {"prefetch_pipeline": True}, False)]
)
def test_a_warning_says_what_the_widest_rows_of_caches_take(
    other_width: int, fused_params: dict[str, object], warns: bool, caplog: pytest.LogCaptureFixture
) -> None:
    sizes = {f"t{i}": (500_000, other_width if i % 2 else 64) for i in range(12)}
    used = planner(
        topology=topology(2, hbm_cap=GIB // 8),
        constraints={
            name: ParameterConstraints(pooling_factors=[8.0], compute_kernels=["fused_uvm_caching"]) for name in sizes
        },
        batch_size=1024,
    )
    with caplog.at_level(logging.WARNING):
        used.plan(bags(sizes), [EmbeddingBagCollectionSharder(fused_params=fused_params)])
    assert ("FBGEMM gives all rows of a cache the room of its widest table" in caplog.text) == warns


def test_what_hosts_have_no_room_for_is_in_a_store_on_ssds(caplog: pytest.LogCaptureFixture) -> None:
    sizes = {f"t{i}": (500_000, 64) for i in range(8)}
    sharders = [EmbeddingBagCollectionSharder()]
    store = KeyValueParams(ssd_storage_directory="/data")

    def made(kernels: list[str], store: KeyValueParams | None = store, **of_topology: float) -> NeuroShardPlanner:
        given = {
            name: ParameterConstraints(pooling_factors=[8.0], compute_kernels=kernels, key_value_params=store) for name in sizes
        }
        given["t7"] = ParameterConstraints(pooling_factors=[8.0], compute_kernels=["fused"])
        caps = {"hbm_cap": GIB // 4, "ddr_cap": GIB // 8, **of_topology}
        of = Topology(world_size=2, compute_device="cuda", local_world_size=2, **caps)  # type: ignore[arg-type]
        return planner(topology=of, constraints=given, batch_size=1024)

    kernels = ["fused", "fused_uvm_caching", "key_value"]
    used = made(kernels)
    with caplog.at_level(logging.WARNING):
        of_tables = used.plan(bags(sizes), sharders).plan[""]
    stored = {name for name, of in of_tables.items() if of.compute_kernel == "key_value"}  # type: ignore[union-attr]
    assert stored and f"neuroshard keeps {', '.join(sorted(stored))} on SSDs" in caplog.text
    assert "TorchRec's planner" not in caplog.text
    for name, of_table in of_tables.items():  # type: ignore[union-attr]
        params = of_table.cache_params
        assert of_table.compute_kernel == ("key_value" if name in stored else "fused")
        if name in stored:
            assert params is not None and params.load_factor is not None and 0.0 < params.load_factor < 1.0
            assert of_table.key_value_params.ssd_storage_directory == "/data"
    assert "t7" not in stored
    options = used.get_selected_options()
    assert max(MemoryCounter(topology(2), sharders).used(options)) <= GIB // 4
    assert all(shard.storage.ssd > 0 for option in options if option.name in stored for shard in option.shards)
    assert used.cost is not None and used.cost.ssd_bytes.sum() > 0
    # SSDs are not used where hosts have room. Faster ones make plans cheaper.
    roomy = made(kernels, None, ddr_cap=16 * GIB)
    kept = roomy.plan(bags(sizes), sharders).plan[""]
    assert {of.compute_kernel for of in kept.values()} <= {"fused", "fused_uvm_caching"}  # type: ignore[union-attr]
    fast = made(["fused", "key_value"], ssd_mem_bw=4e6)
    fast.plan(bags(sizes), sharders)
    assert fast.cost is not None and fast.cost.cost_ms < used.cost.cost_ms
    for without in (made(kernels, None, ssd_cap=0), made(["fused", "fused_uvm_caching"], None)):
        with pytest.raises(PlannerError, match="found no plan for 8 tables"):
            without.plan(bags(sizes), sharders)
    # Rows of caches whose size is given wait in hosts alone.
    given = [EmbeddingBagCollectionSharder(fused_params={"cache_load_factor": 0.3})]
    with pytest.raises(PlannerError, match="found no plan for 8 tables"):
        made(kernels).plan(bags(sizes), given)


@pytest.mark.parametrize("load_factor", [None, 0.1])
@pytest.mark.parametrize("kernels", [["fused_uvm_caching"], ["fused", "fused_uvm_caching"]])
def test_cached_tables_are_in_the_search(
    load_factor: float | None, kernels: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Five large tables, beside small ones in HBM, which has room for two of them."""
    large = {f"big{i}": (400_000 + 100_000 * i, 64) for i in range(5)}
    sizes = {**{f"t{i}": (20_000, 64) for i in range(8)}, **large}
    cache = CacheParams(algorithm=CacheAlgorithm.LFU, load_factor=load_factor, precision=DataType.FP16)
    constraints = {name: ParameterConstraints(pooling_factors=[20.0], compute_kernels=["fused"]) for name in sizes}
    constraints.update(
        {name: ParameterConstraints(pooling_factors=[8.0], compute_kernels=kernels, cache_params=cache) for name in large}
    )
    room = topology(2, hbm_cap=GIB // 5)
    made = planner(topology=room, constraints=constraints, batch_size=2048, compare=True)
    with caplog.at_level(logging.WARNING):
        plan = made.plan(bags(sizes), [EmbeddingBagCollectionSharder()])
    of_tables = plan.plan[""]
    assert "TorchRec's planner" not in caplog.text and "CacheParams.algorithm LFU" in caplog.text
    cached = {name for name, of in of_tables.items() if of.compute_kernel == "fused_uvm_caching"}  # type: ignore[union-attr]
    assert cached and cached <= large.keys()
    if kernels == ["fused_uvm_caching"]:
        assert cached == large.keys()
    elif load_factor is not None:
        assert cached < large.keys()  # HBM has room for some of them.
    assert ("in host memory" in caplog.text) == ("fused" in kernels)
    for name in cached:
        params = of_tables[name].cache_params  # type: ignore[index]
        assert params is not None and params.load_factor is not None and 0.0 < params.load_factor < 1.0
        assert load_factor in (None, params.load_factor)
        assert params == CacheParams(CacheAlgorithm.LFU, params.load_factor, precision=DataType.FP16)
    assert max(MemoryCounter(room, []).used(made.get_selected_options())) <= GIB // 5
    assert made.task is not None and made.cost is not None
    assert len(made.task) == len(sizes) and not any(device.base_ms for device in made.task.device_list)
    shares = [
        share for piece, share in zip(made.cost.plan.slices, made.cost.hbm_shares)
        if made.task.tables[piece.table].name in cached
    ]
    assert load_factor is None or shares == pytest.approx([load_factor] * len(shares), abs=1e-4)
    # Plans of TorchRec have caches, too, which are priced alike.
    assert made.comparison is not None and made.comparison.theirs is not None
    ours, theirs = made.comparison
    assert ours.cost_ms is not None and theirs.cost_ms is not None and ours.cost_ms <= theirs.cost_ms


def test_caches_need_host_memory_and_all_that_is_looked_up(caplog: pytest.LogCaptureFixture) -> None:
    sizes = {"a": (10_000, 64), "b": (10_000, 64)}
    given = {"a": ParameterConstraints(compute_kernels=["fused_uvm_caching"])}
    exchange = neuroshard.ExchangeTypes(deduplicate_ids=True)
    with caplog.at_level(logging.WARNING):
        planner(topology=topology(2), constraints=given, exchange=exchange).plan(bags(sizes), SHARDERS)
    assert "leaves table a to TorchRec's planner: it may be nothing but cached, and what a cache fetches" in caplog.text


def test_sharders_may_give_load_factors() -> None:
    given = {"a": ParameterConstraints(compute_kernels=["fused_uvm_caching"])}
    sharders = [EmbeddingBagCollectionSharder(fused_params={"cache_load_factor": 0.3})]
    plan = planner(topology=topology(2), constraints=given).plan(bags({"a": (10_000, 64), "b": (10_000, 64)}), sharders)
    params = plan.plan[""]["a"].cache_params  # type: ignore[index]
    assert params is not None and params.load_factor == 0.3


def test_tighter_and_tighter_memory() -> None:
    """Every plan fits, and replicas are given up before there is none."""
    ranks = 4
    sizes = {f"t{i}": ((400_000 >> (i % 5)) + 1000, 64) for i in range(20)}
    sharders = [EmbeddingBagCollectionSharder(fused_params={"optimizer": EmbOptimType.EXACT_ROWWISE_ADAGRAD})]
    constraints = {
        name: ParameterConstraints(
            sharding_types=[*COLUMNS, "row_wise", "data_parallel"], compute_kernels=["fused", "dense"], pooling_factors=[8.0]
        )
        for name in sizes
    }
    model = bags(sizes)
    fitted = []
    rooms = [int(share * GIB) for share in (1.0, 0.5, 0.4, 0.35, 0.3, 0.275, 0.25, 0.225, 0.2, 0.1)]
    for room in rooms:
        used = planner(topology=topology(ranks, hbm_cap=room), constraints=constraints, batch_size=2048)
        try:
            used.plan(model, sharders)
        except PlannerError:
            fitted.append(False)
            continue
        fitted.append(True)
        memory = MemoryCounter(topology(ranks), sharders)
        assert max(memory.used(used.get_selected_options())) <= room
    assert fitted[0] and not fitted[-1] and fitted == sorted(fitted, reverse=True)
