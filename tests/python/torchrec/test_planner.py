"""NeuroShardPlanner in one process: what it reads of a model, and what it does with what it cannot plan."""

import copy
import json
import logging
from pathlib import Path

import pytest
import torch
from planner_cases import GIB, MIXED, SHARDERS, bags, pieces_of, planner, topology
from torchrec import EmbeddingBagCollection, EmbeddingBagConfig
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.fbgemm_qcomm_codec import CommType, QCommsConfig, get_qcomm_codecs_registry
from torchrec.distributed.fp_embeddingbag import FeatureProcessedEmbeddingBagCollectionSharder
from torchrec.distributed.planner.enumerators import EmbeddingEnumerator
from torchrec.distributed.planner.perf_models import NoopPerfModel
from torchrec.distributed.planner.planners import EmbeddingShardingPlanner
from torchrec.distributed.planner.types import ParameterConstraints, PlannerError, PlannerErrorType
from torchrec.distributed.types import ParameterSharding
from torchrec.modules.embedding_configs import DataType
from torchrec.modules.feature_processor_ import PositionWeightedModule
from torchrec.modules.fp_embedding_modules import FeatureProcessedEmbeddingBagCollection

import neuroshard
from neuroshard.torchrec import NeuroShardPlanner, from_sharding_plan, to_sharding_plan
from neuroshard.torchrec.exchange import exchange_of
from neuroshard.torchrec.model_tables import model_tables


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
    offered = used.get_search_space()
    assert offered is not None and len(offered) > len(MIXED)
    assert all(shard.storage.hbm >= 0 and shard.perf.total >= 0 for option in offered for shard in option.shards)


def codecs(forward: CommType, backward: CommType) -> EmbeddingBagCollectionSharder:
    config = QCommsConfig(forward_precision=forward, backward_precision=backward)
    return EmbeddingBagCollectionSharder(qcomm_codecs_registry=get_qcomm_codecs_registry(config))


def test_values_are_sent_as_sharders_say(caplog: pytest.LogCaptureFixture) -> None:
    model = torch.nn.ModuleDict({"x": bags(MIXED)})
    usual, narrow, given = planner(), planner(), planner(exchange=neuroshard.ExchangeTypes(forward_share=0.01))
    usual.plan(model, SHARDERS)
    assert usual.cost is not None
    tables = [neuroshard.Table(rows, dim, 1.0, name=f"x.{name}") for name, (rows, dim) in MIXED.items()]
    for sharder, exchange in (
        (codecs(CommType.FP32, CommType.FP32), neuroshard.ExchangeTypes()),
        (codecs(CommType.FP16, CommType.BF16), neuroshard.ExchangeTypes(forward="fp16", backward="bf16")),
        (codecs(CommType.FP8, CommType.INT8), neuroshard.ExchangeTypes(forward="fp8", backward="fp8")),
    ):
        plan = narrow.plan(model, [sharder])
        task = neuroshard.Task(tables, devices=4, memory_bytes=16 * GIB, exchange=exchange)
        assert narrow.cost is not None
        priced = neuroshard.simulate(task, from_sharding_plan(plan, task)).cost_ms
        assert priced == pytest.approx(narrow.cost.cost_ms, rel=1e-6)
    assert narrow.cost is not None and narrow.cost.cost_ms < usual.cost.cost_ms
    given.plan(model, [codecs(CommType.FP8, CommType.FP8)])
    assert given.cost is not None and given.cost.backward_ms[0] > 1.8 * narrow.cost.backward_ms[0]
    assert "neuroshard" not in caplog.text
    narrow._like_torchrec = True
    narrow.plan(model, [codecs(CommType.FP16, CommType.BF16)])
    assert "costs of ExchangeTypes(forward fp16, backward bf16) as those of fp32 values" in caplog.text
    assert narrow.cost is not None and narrow.cost.cost_ms == usual.cost.cost_ms


def test_modules_whose_values_are_sent_otherwise_count_as_the_widest(caplog: pytest.LogCaptureFixture) -> None:
    weighted = EmbeddingBagCollection(
        tables=[EmbeddingBagConfig(name="f", num_embeddings=1000, embedding_dim=64, feature_names=["of_f"])],
        is_weighted=True,
        device=torch.device("meta"),
    )
    processed = FeatureProcessedEmbeddingBagCollection(weighted, {"of_f": PositionWeightedModule(max_feature_length=10)})
    model = torch.nn.ModuleDict({"x": bags(MIXED), "y": processed})
    sharders = [
        codecs(CommType.FP8, CommType.BF16),
        FeatureProcessedEmbeddingBagCollectionSharder(
            qcomm_codecs_registry=codecs(CommType.FP16, CommType.FP16).qcomm_codecs_registry
        ),
    ]
    used = planner()
    tables = model_tables(used._enumerator.enumerate(model, sharders))
    assert exchange_of(tables, sharders, {}) == neuroshard.ExchangeTypes(forward="fp16", backward="fp16")
    assert "the widest types on the wire" in caplog.text


def test_pipelines_hide_ids() -> None:
    model = torch.nn.ModuleDict({"x": bags(MIXED)})
    usual, pipelined = planner(), planner(overlap=neuroshard.Overlap(ids=True))
    usual.plan(model, SHARDERS)
    pipelined.plan(model, SHARDERS)
    assert usual.cost is not None and pipelined.cost is not None
    assert (usual.cost.hidden_ms == 0).all() and (pipelined.cost.hidden_ms > 0).all()
    assert pipelined.cost.cost_ms < usual.cost.cost_ms


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


def test_rows_that_wait_in_host_memory_are_cached() -> None:
    model = torch.nn.ModuleDict({"x": bags(MIXED)})
    tables = [neuroshard.Table(rows, dim, 1.0, name=f"x.{name}") for name, (rows, dim) in MIXED.items()]
    host = neuroshard.HostMemory(16 * GIB, 25.0)
    task = neuroshard.Task(tables, 4, GIB // 4, host_memory=host)
    result = neuroshard.plan(task, cuts="columns")
    assert result.plan is not None and result.cost is not None
    sharding = to_sharding_plan(task, result.plan, model, topology=topology(), sharders=SHARDERS).plan["x"]
    kernels = {name: of_table.compute_kernel for name, of_table in sharding.items()}
    assert kernels["a"] == "fused_uvm_caching" and kernels["e"] in ("fused", "dense")
    params = sharding["a"].cache_params
    assert params is not None and params.load_factor is not None and 0 < params.load_factor < 1
    shares = [s for piece, s in zip(result.plan.slices, result.cost.hbm_shares) if piece.table == 0]
    assert min(shares) <= params.load_factor <= max(shares)
    static = neuroshard.Task(tables, 4, GIB // 4, host_memory=neuroshard.HostMemory(16 * GIB, 25.0, policy="static"))
    with pytest.raises(neuroshard.Error, match='use "lru"'):
        to_sharding_plan(static, result.plan, model, topology=topology(), sharders=SHARDERS)
    plain = neuroshard.Task(tables, 4, 16 * GIB)
    uncached = to_sharding_plan(plain, result.plan, model, topology=topology(), sharders=SHARDERS).plan["x"]
    assert all(of_table.cache_params is None for of_table in uncached.values())


def test_rows_that_wait_on_ssds_are_in_a_store_there() -> None:
    sizes = {"large": (40_000_000, 64), "small": (1_000, 64)}
    model = torch.nn.ModuleDict({"x": bags(sizes)})
    tables = [neuroshard.Table(rows, dim, 4.0, name=f"x.{name}") for name, (rows, dim) in sizes.items()]
    host = neuroshard.HostMemory(2 * GIB, 25.0, ssd_bytes=16 * GIB, ssd_gb_s=2.0)
    task = neuroshard.Task(tables, 2, GIB, host_memory=host)
    result = neuroshard.plan(task, cuts="columns", effort="fast")
    assert result.plan is not None and result.cost is not None and (result.cost.ssd_bytes > 0).all()

    def sharded(kernels: list[str]) -> dict[str, ParameterSharding]:
        constraints = {"large": ParameterConstraints(compute_kernels=kernels)}
        made = to_sharding_plan(
            task, result.plan, model, topology=topology(2), sharders=SHARDERS, constraints=constraints
        )
        return dict(made.plan["x"])

    sharding = sharded(["fused", "key_value"])
    assert sharding["large"].compute_kernel == "key_value" and sharding["small"].compute_kernel == "fused"
    store, cache = sharding["large"].key_value_params, sharding["large"].cache_params
    assert store is not None and store.l2_cache_size == 2
    assert cache is not None and cache.load_factor is not None and 0 < cache.load_factor < 0.5
    assert sharding["small"].key_value_params is None
    assert {shard.placement.rank() for shard in sharding["large"].sharding_spec.shards} == {0, 1}
    with pytest.raises(neuroshard.Error, match='wait on an SSD.*"key_value" beside "fused"'):
        sharded(["fused", "fused_uvm_caching"])


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

    on_devices = {name: ParameterConstraints(compute_kernels=["fused"]) for name in sizes}
    simple = planner(topology=roomy)
    simple.plan(model, [sharder("EXACT_SGD")])
    assert max(used(simple)) <= 1.8e9
    with pytest.raises(PlannerError) as raised:
        planner(topology=roomy, constraints=on_devices).plan(model, [sharder("ADAM")])
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


def test_constrained_tables_are_left_to_torchrec(caplog: pytest.LogCaptureFixture) -> None:
    model = torch.nn.ModuleDict({"pooled": bags(MIXED)})
    constraints = {
        "b": ParameterConstraints(sharding_types=["row_wise"]),
        "c": ParameterConstraints(compute_kernels=["fused_uvm"]),
        "d": ParameterConstraints(sharding_types=["data_parallel"]),
    }
    used = planner(constraints=constraints)
    with caplog.at_level(logging.WARNING):
        plan = used.plan(model, SHARDERS)
    warnings = "\n".join(record.getMessage() for record in caplog.records if record.name.startswith("neuroshard"))
    for name, reason in [
        ("pooled.c", "fused_uvm"),
        ("pooled.d", "data_parallel"),
    ]:
        assert f"{name} to TorchRec's planner" in warnings and reason in warnings
    assert "pooled.a" not in warnings and "pooled.b" not in warnings
    of = {name: sharding.sharding_type for module in plan.plan.values() for name, sharding in module.items()}  # type: ignore[attr-defined]
    assert of["b"] == "row_wise" and of["d"] == "data_parallel" and set(of) == set(MIXED)
    assert plan.plan["pooled"]["c"].compute_kernel == "fused_uvm"  # type: ignore[index]
    assert len(used.get_selected_options()) == 5
    # Cost models know three of them, and perhaps what the copies of "d" cost.
    copies = {"a": 1, "b": 1, "d": 4 if neuroshard.Weights.builtin().prices_replicas else 0, "e": 1}
    assert used.cost is not None
    assert used.cost.weight_bytes.sum() == sum(
        4 * rows * dim * copies.get(name, 0) for name, (rows, dim) in MIXED.items()
    )


def test_replicas_take_memory_on_each_rank() -> None:
    # 1 GB on each of three, and a table of 0.6 GB: with a copy of another on each rank it has to be cut.
    sizes = {"copied": (4_000_000, 32), "other": (4_700_000, 32)}
    for kinds, shards in (["table_wise"], 1), (["data_parallel"], 2):
        used = planner(
            topology=topology(2, hbm_cap=1_000_000_000),
            constraints={
                "copied": ParameterConstraints(sharding_types=kinds, compute_kernels=["fused", "dense"]),
                "other": ParameterConstraints(pooling_factors=[0.001]),
            },
        )
        plan = used.plan(bags(sizes), SHARDERS)
        assert plan.plan[""]["copied"].sharding_type == kinds[0]  # type: ignore[index]
        assert len(pieces_of(plan, "", "other")) >= shards
        for rank in range(2):
            of_rank = [s for option in used.get_selected_options() for s in option.shards if s.rank == rank]
            assert 500_000_000 < sum(shard.storage.hbm for shard in of_rank) <= 1_000_000_000


def test_ranks_may_differ_in_memory() -> None:
    # Neither fits beside the other, and "large" only on rank 0.
    tables = {"small": (3_500_000, 32), "large": (7_000_000, 32)}
    whole = {name: ParameterConstraints(sharding_types=["table_wise"], compute_kernels=["fused"]) for name in tables}
    uneven = topology(2, hbm_cap=1_000_000_000)
    uneven.devices[1].storage.hbm = 500_000_000
    plan = planner(topology=uneven, constraints=whole).plan(bags(tables), SHARDERS)
    assert {name: pieces_of(plan, "", name)[0][2] for name in tables} == {"small": 1, "large": 0}
    uneven.devices[1].storage.hbm = 400_000_000
    with pytest.raises(PlannerError):
        planner(topology=uneven, constraints=whole).plan(bags(tables), SHARDERS)


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
    assert "to TorchRec's planner" not in caplog.text


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


@pytest.mark.parametrize(
    ("constraints", "lookups", "outputs"),
    [
        ({}, 3.0, 3.0),
        ({"pooling_factors": [10.0]}, 30.0, 3.0),
        ({"pooling_factors": [10.0, 20.0, 30.0]}, 60.0, 3.0),
        ({"pooling_factors": [10.0, 20.0, 30.0], "num_poolings": [2.0, 1.0, 1.0]}, 70.0, 4.0),
    ],
)
def test_each_feature_of_a_table_has_an_output(
    constraints: dict[str, list[float]], lookups: float, outputs: float
) -> None:
    given = {"a": ParameterConstraints(**constraints)}  # type: ignore[arg-type]
    enumerator = EmbeddingEnumerator(topology=topology(), batch_size=512, constraints=given)
    options = enumerator.enumerate(bags({"a": (1000, 64), "b": (500, 32)}, features={"a": 3}), SHARDERS)
    tables = [table.table(given, {}) for table in model_tables(options)]
    assert [(table.pooling_factor, table.features) for table in tables] == [(lookups, outputs), (1.0, 1.0)]


def test_a_table_that_many_features_read_is_shared_out() -> None:
    """Its columns are most of what is exchanged."""
    tables = {"shared": (200_000, 128), **{f"other{i}": (200_000, 128) for i in range(12)}}
    by_columns = {name: ParameterConstraints(sharding_types=["table_wise", "column_wise"]) for name in tables}
    used = planner(topology=topology(8), constraints=by_columns)
    plan = used.plan(bags(tables, features={"shared": 20}), SHARDERS)
    pieces = {name: len(pieces_of(plan, "", name)) for name in tables}
    assert pieces["shared"] > max(pieces[name] for name in tables if name != "shared")


def test_of_candidates_the_one_is_taken_that_torchrec_estimates_least() -> None:
    sizes = {f"t{index}": (200_000 << (index % 4), 32 << (index % 3)) for index in range(24)}
    factors = {name: ParameterConstraints(pooling_factors=[1.0 + 7 * (i % 5)]) for i, name in enumerate(sizes)}
    estimated = {1: 0.0, 32: 0.0}
    predicted = {1: 0.0, 32: 0.0}
    for world_size in (2, 3, 4, 6, 8):
        for candidates in estimated:
            used = planner(topology=topology(world_size), constraints=factors, candidates=candidates)
            used.plan(bags(sizes), SHARDERS)
            assert used.cost is not None
            predicted[candidates] += used.cost.cost_ms
            estimated[candidates] += NoopPerfModel(topology(world_size)).rate(used.get_selected_options())
            # Estimates that other candidates have left are those of a planner that makes them anew.
            for option in used.get_selected_options():
                kept = [(shard.storage, shard.perf) for shard in option.shards]
                used._enumerator.populate_estimates([option])
                assert [(shard.storage, shard.perf) for shard in option.shards] == kept
    assert estimated[32] < estimated[1] and predicted[32] > predicted[1]


def test_weights_say_whether_torchrec_compares_candidates(tmp_path: Path) -> None:
    builtin = (Path(__file__).parents[3] / "weights" / "pretrained" / "a100.safetensors").read_bytes()
    length = int.from_bytes(builtin[:8], "little")
    header = json.loads(builtin[8 : 8 + length])
    header["__metadata__"]["source"] = "torchrec: estimates of TorchRec"
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path = tmp_path / "like_torchrec.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + builtin[8 + length :])
    like_torchrec = neuroshard.Weights.load(path)
    assert planner(weights=like_torchrec)._candidates > 1
    assert planner(weights=like_torchrec, candidates=1)._candidates == 1
    assert planner()._candidates == 1


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


def test_what_torchrec_plans_alone_needs_no_cost_models(caplog: pytest.LogCaptureFixture) -> None:
    many = topology(16385, node=5)  # There are none for so many devices.
    model = bags({"e": MIXED["e"]})
    by_rows = {"e": ParameterConstraints(sharding_types=["row_wise"], compute_kernels=["fused"])}
    used = planner(topology=many, constraints=by_rows)
    with caplog.at_level(logging.WARNING):
        assert pieces_of(used.plan(model, SHARDERS), "", "e")
    assert used.cost is None and "cannot predict what the plan costs" in caplog.text
    with pytest.raises(PlannerError, match="16385"):
        planner(topology=many).plan(model, SHARDERS)


def test_arguments() -> None:
    model = bags(MIXED)
    with pytest.raises(neuroshard.Error, match="effort"):
        planner(effort="none")
    with pytest.raises(neuroshard.Error, match="cuts"):
        planner(cuts="rows")
    for candidates in (0, 1002):
        with pytest.raises(neuroshard.Error, match="candidates"):
            planner(candidates=candidates)
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
