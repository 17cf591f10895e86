"""Modules whose tables are not pooled, and lookups with weights."""

import logging
from pathlib import Path

import neuroshard
import pytest
import torch
from planner_cases import MIXED, SHARDERS, bags, pieces_of, planner, topology
from rank_runs import results_of_ranks
from torchrec import EmbeddingBagCollection, EmbeddingBagConfig, EmbeddingCollection, EmbeddingConfig, PoolingType
from torchrec.distributed.embedding import EmbeddingCollectionSharder
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.fbgemm_qcomm_codec import CommType, QCommsConfig, get_qcomm_codecs_registry
from torchrec.distributed.planner.enumerators import EmbeddingEnumerator
from torchrec.distributed.planner.types import ParameterConstraints

from neuroshard.torchrec.exchange import exchange_of
from neuroshard.torchrec.model_tables import Constraints, ModelTable, model_tables

# Rows, features and lookups of each.
SEQUENCES = {"item": (2_000_000, 2, 400.0), "shop": (50_000, 1, 400.0), "word": (5000, 1, 50.0)}
LENGTHS = {name: ParameterConstraints(pooling_factors=[n] * features) for name, (_, features, n) in SEQUENCES.items()}


def one_of(constraints: ParameterConstraints, kinds: list[str]) -> ParameterConstraints:
    """Constraints on the same lookups, in these kinds of sharding."""
    return ParameterConstraints(pooling_factors=constraints.pooling_factors, sharding_types=kinds)


def sequences() -> EmbeddingCollection:
    return EmbeddingCollection(
        tables=[
            EmbeddingConfig(
                name=name,
                num_embeddings=rows,
                embedding_dim=64,
                feature_names=[f"of_{name}_{feature}" for feature in range(features)],
            )
            for name, (rows, features, _) in SEQUENCES.items()
        ],
        device=torch.device("meta"),
    )


def tables_of(module: torch.nn.Module, given: Constraints) -> list[ModelTable]:
    enumerator = EmbeddingEnumerator(topology(), batch_size=512, constraints=dict(given))
    return model_tables(enumerator.enumerate(module, SHARDERS))


def test_tables_have_the_pooling_of_their_module() -> None:
    tables = {table.name: table.table(LENGTHS, {}) for table in tables_of(sequences(), LENGTHS)}
    assert {name: table.pooling for name, table in tables.items()} == dict.fromkeys(SEQUENCES, "none")
    assert (tables["item"].pooling_factor, tables["item"].features) == (800.0, 2.0)
    assert not any(table.weighted for table in tables.values())
    for pooling, name in ((PoolingType.SUM, "sum"), (PoolingType.MEAN, "mean")):
        assert {table.table({}, {}).pooling for table in tables_of(bags(MIXED, pooling=pooling), {})} == {name}
    weighted = EmbeddingBagCollection(
        tables=[EmbeddingBagConfig(name="f", num_embeddings=1000, embedding_dim=64, feature_names=["of_f"])],
        is_weighted=True,
        device=torch.device("meta"),
    )
    assert [table.table({}, {}).weighted for table in tables_of(weighted, {})] == [True]


def test_sequences_are_planned_whole_or_by_rows(caplog: pytest.LogCaptureFixture) -> None:
    model = torch.nn.ModuleDict({"pooled": bags(MIXED), "sequences": sequences()})
    used = planner(constraints=LENGTHS, batch_size=512)
    with caplog.at_level(logging.WARNING):
        plan = used.plan(model, SHARDERS)
    assert "to TorchRec's planner" not in caplog.text
    assert used.cost is not None
    kinds = {name: sharding.sharding_type for name, sharding in plan.plan["sequences"].items()}  # type: ignore[union-attr]
    assert kinds["item"] == "row_wise" and set(kinds.values()) <= {"table_wise", "row_wise"}
    whole = {name: one_of(one, ["table_wise"]) for name, one in LENGTHS.items()}
    for_whole = planner(constraints=whole, batch_size=512)
    plan = for_whole.plan(model, SHARDERS)
    for name in SEQUENCES:
        assert plan.plan["sequences"][name].sharding_type == "table_wise"  # type: ignore[index]
    assert for_whole.cost is not None and used.cost.cost_ms < 0.8 * for_whole.cost.cost_ms
    # Outputs of all lookups, and of each pooled table, unless that is replicated.
    columns = sum(64 * features * lookups for _, features, lookups in SEQUENCES.values())
    assert for_whole.cost.dim_sum.sum() <= columns + sum(dim for _, dim in MIXED.values())


@pytest.mark.parametrize(("hbm_cap", "kind"), [(800_000_000, "table_wise"), (600_000_000, "row_wise")])
def test_sequences_find_room_for_all_that_is_looked_up(hbm_cap: int, kind: str) -> None:
    """ "item" takes 512 MB, and its ids and outputs 0.2 GB on one of two ranks."""
    given = {name: one_of(one, ["table_wise"]) for name, one in LENGTHS.items()} if kind == "table_wise" else LENGTHS
    used = planner(topology=topology(2, hbm_cap=hbm_cap), constraints=given, batch_size=512)
    plan = used.plan(sequences(), SHARDERS)
    assert plan.plan[""]["item"].sharding_type == kind  # type: ignore[index]
    for rank in range(2):
        of_rank = [s for option in used.get_selected_options() for s in option.shards if s.rank == rank]
        assert 0 < sum(shard.storage.hbm for shard in of_rank) <= hbm_cap


def test_columns_of_sequences_are_cut_by_constraints_alone(caplog: pytest.LogCaptureFixture) -> None:
    given = {**LENGTHS, "shop": ParameterConstraints(sharding_types=["column_wise"], pooling_factors=[400.0])}
    plan = planner(constraints=given, batch_size=512).plan(sequences(), SHARDERS)
    assert [columns for _, columns, _ in pieces_of(plan, "", "shop")] == [64]


def test_use_index_dedup_and_codecs_of_sequences_are_read(caplog: pytest.LogCaptureFixture) -> None:
    model = torch.nn.ModuleDict({"pooled": bags(MIXED), "sequences": sequences()})
    deduplicating = EmbeddingCollectionSharder(use_index_dedup=True)
    bag_sharder = EmbeddingBagCollectionSharder()
    tables = tables_of(model, LENGTHS)
    assert exchange_of(tables, SHARDERS, {}) == neuroshard.ExchangeTypes()
    assert exchange_of(tables, [bag_sharder, deduplicating], {}) == neuroshard.ExchangeTypes(deduplicate_ids=True)
    # TorchRec deduplicates nothing that is pooled.
    assert exchange_of(tables_of(bags(MIXED), {}), [bag_sharder, deduplicating], {}) == neuroshard.ExchangeTypes()
    narrow = get_qcomm_codecs_registry(
        QCommsConfig(forward_precision=CommType.FP16, backward_precision=CommType.FP8), device=torch.device("cpu")
    )
    of_sequences = EmbeddingCollectionSharder(qcomm_codecs_registry=narrow, use_index_dedup=True)
    assert exchange_of(tables_of(sequences(), LENGTHS), [of_sequences], {}) == neuroshard.ExchangeTypes(
        forward="fp16", backward="fp8", deduplicate_ids=True
    )
    usual, once = planner(constraints=LENGTHS, batch_size=512), planner(constraints=LENGTHS, batch_size=512)
    usual.plan(model, SHARDERS)
    once.plan(model, [bag_sharder, deduplicating])
    assert usual.cost is not None and once.cost is not None
    assert once.cost.cost_ms < 0.9 * usual.cost.cost_ms
    assert once.cost.dim_sum.sum() < usual.cost.dim_sum.sum()


@pytest.mark.parametrize("world_size", [2, 4])
def test_sequences_are_looked_up_and_updated_as_in_the_unsharded_model(world_size: int, tmp_path: Path) -> None:
    for rank, results in enumerate(results_of_ranks("sequence_rank.py", world_size, tmp_path)):
        for result, rows in zip(results, ("table_wise", "row_wise"), strict=True):
            assert result["forward"] <= 1e-6 < 1e-3 < result["changed"], f"rank {rank}: {result}"
            assert result["kinds"] == {"item": rows, "shop": rows, "word": "table_wise"}
