"""Plans that are kept in files."""

import errno
import json
import logging
import os
from pathlib import Path

import pytest
import torch
from planner_cases import GIB, MIXED, SHARDERS, bags, planner, topology
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.planner.planners import EmbeddingShardingPlanner
from torchrec.distributed.planner.storage_reservations import FixedPercentageStorageReservation
from torchrec.distributed.planner.types import ParameterConstraints, PlannerError, PlannerErrorType

import neuroshard
from neuroshard.torchrec import NeuroShardPlanner, PlanStore

CONSTRAINTS = {
    "b": ParameterConstraints(sharding_types=["row_wise"]),
    "d": ParameterConstraints(sharding_types=["data_parallel"]),
}


def model() -> torch.nn.Module:
    return torch.nn.ModuleDict({"x": bags(MIXED)})


def shards_of(used: NeuroShardPlanner) -> list[list[tuple[object, ...]]]:
    return [
        [(s.size, s.offset, s.rank, s.storage, s.perf) for s in option.shards]
        for option in used.get_selected_options()
    ]


def test_a_plan_is_sought_once(tmp_path: Path) -> None:
    store = PlanStore(tmp_path / "plans")
    assert store.fingerprints() == []
    first = planner(plan_store=store, constraints=CONSTRAINTS)
    plan = first.plan(model(), SHARDERS)
    assert first.fingerprint is not None and store.fingerprints() == [first.fingerprint]
    assert [path.name for path in (tmp_path / "plans").iterdir()] == [f"{first.fingerprint}.json"]
    second = planner(plan_store=PlanStore(tmp_path / "plans"), constraints=CONSTRAINTS)
    assert str(second.plan(model(), SHARDERS)) == str(plan)
    assert second.fingerprint == first.fingerprint and first._searches > 0 and second._searches == 0
    assert first.cost is not None and second.cost is not None and first.cost.cost_ms == second.cost.cost_ms
    assert shards_of(second) == shards_of(first)


def test_all_that_decides_a_plan_is_in_the_fingerprint(tmp_path: Path) -> None:
    from fbgemm_gpu.split_embedding_configs import EmbOptimType

    store = PlanStore(tmp_path)
    hot = [0.0] * 16 + [1.0]
    variants = [
        {},
        {"topology": topology(5)},
        {"topology": topology(4, hbm_cap=16 * GIB - 1)},
        {"topology": topology(4, node=2)},
        {"batch_size": 64},
        {"constraints": {"a": ParameterConstraints(pooling_factors=[2.0])}},
        {"constraints": {"a": ParameterConstraints(sharding_types=["table_wise"])}},
        {"effort": "fast"},
        {"equal_widths": False},
        {"access_histograms": {"a": hot}},
        {"candidates": 4},
    ]
    for variant in variants:
        planner(plan_store=store, **variant).plan(model(), SHARDERS)
    adam = [EmbeddingBagCollectionSharder(fused_params={"optimizer": EmbOptimType.ADAM})]
    planner(plan_store=store).plan(model(), adam)
    planner(plan_store=store).plan(torch.nn.ModuleDict({"y": bags(MIXED)}), SHARDERS)
    assert len(store.fingerprints()) == len(variants) + 2
    planner(plan_store=store, threads=2).plan(model(), SHARDERS)
    assert len(store.fingerprints()) == len(variants) + 2


def test_torchrecs_planner_takes_stored_plans(tmp_path: Path) -> None:
    store = PlanStore(tmp_path)
    ours = planner(plan_store=store, constraints=CONSTRAINTS)
    plan = ours.plan(model(), SHARDERS)
    assert ours.fingerprint is not None

    def theirs(**arguments: object) -> EmbeddingShardingPlanner:
        given: dict[str, object] = {
            "topology": topology(),
            "storage_reservation": FixedPercentageStorageReservation(0.0),
            "stats": [],
            "debug": False,
            "constraints": CONSTRAINTS,
            "plan_loader": store.loader(str(ours.fingerprint)),
            **arguments,
        }
        return EmbeddingShardingPlanner(**given)

    def shardings(of: object) -> dict[str, str]:
        return {name: str(sharding) for name, sharding in of.plan["x"].items()}  # type: ignore[attr-defined]

    assert shardings(theirs().plan(model(), SHARDERS)) == shardings(plan)
    with pytest.raises(PlannerError) as refused:
        theirs(batch_size=64).plan(model(), SHARDERS)
    assert refused.value.error_type == PlannerErrorType.PLANNER_INPUT_CONTEXT_MISMATCH
    absent = theirs(plan_loader=store.loader("0123456789abcdef")).plan(model(), SHARDERS)
    assert set(shardings(absent)) == set(MIXED)


def test_damaged_files_are_errors_that_name_them(tmp_path: Path) -> None:
    store = PlanStore(tmp_path)
    used = planner(plan_store=store)
    used.plan(model(), SHARDERS)
    (path,) = tmp_path.iterdir()
    whole = path.read_text()
    document = json.loads(whole)

    def with_shard(**fields: object) -> str:
        first, *others = document["tables"]
        shards = [{**first["shards"][0], **fields}, *first["shards"][1:]]
        return json.dumps({**document, "tables": [{**first, "shards": shards}, *others]})

    for damaged, text in (
        (whole[: len(whole) // 2], "not JSON"),
        ("[]", "not a stored plan"),
        ("[" * 200_000, "not JSON"),
        (with_shard(rank=1e20), "rank is 1e"),
        (with_shard(rank=4), "has a shard on rank 4 of 4"),
        (with_shard(size=[-1, 4]), "size is -1"),
        (with_shard(size=[1 << 40, 4]), "ends before a shard"),
        (with_shard(storage={"tape": 1}), "tape"),
        (json.dumps({**document, "version": 2}), "this program reads version 1"),
        (json.dumps({**document, "tables": [{}]}), "KeyError: 'path'"),
        (json.dumps({**document, "fingerprint": "0" * 16}), "files are named by theirs"),
        (json.dumps({**document, "tables": document["tables"][1:]}), "its tables are not those of the model"),
        (
            json.dumps({**document, "tables": [{**table, "option": 5} for table in document["tables"]]}),
            "none of the model",
        ),
    ):
        path.write_text(damaged)
        with pytest.raises(PlannerError, match=text) as refused:
            planner(plan_store=store).plan(model(), SHARDERS)
        assert refused.value.error_type == PlannerErrorType.PLAN_LOADING_FAILED
    path.write_text(whole)
    with pytest.raises(neuroshard.Error, match="is none"):
        store.load("../elsewhere")
    with pytest.raises(neuroshard.Error, match="plan_store is 'plans'; give PlanStore"):
        planner(plan_store="plans")


def test_what_cannot_be_written_leaves_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as faults, caplog.at_level(logging.WARNING):
        faults.setattr(os, "fsync", full)
        plan = planner(plan_store=PlanStore(tmp_path / "plans")).plan(model(), SHARDERS)
    assert "could not keep the plan" in caplog.text and "No space left" in caplog.text
    assert len(plan.plan["x"]) == len(MIXED)  # type: ignore[arg-type]
    assert list((tmp_path / "plans").iterdir()) == []

    (tmp_path / "file").write_text("")
    with pytest.raises(PlannerError, match="cannot be read"):
        planner(plan_store=PlanStore(tmp_path / "file" / "plans")).plan(model(), SHARDERS)
