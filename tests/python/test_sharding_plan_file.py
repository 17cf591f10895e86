"""Files of plans for TorchRec: what is wrong with one is an Error that names it."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import neuroshard as ns
from neuroshard.sharding_plan_file import StoredPlan, StoredShard, StoredTable, load_stored_plan, save_stored_plan

PLAN = StoredPlan(
    fingerprint="0123456789abcdef",
    planner_context="17",
    tables=[
        StoredTable(
            path="x",
            name="a",
            sharding_type="row_wise",
            compute_kernel="fused",
            option=-(2**255),  # TorchRec makes it of a SHA-256.
            shards=[
                StoredShard([100, 16], [0, 0], 0, {"hbm": 6400, "ddr": 0}, {"fwd_compute": 0.25}),
                StoredShard([0, 16], [100, 0], 1, {"hbm": 0, "ddr": 0}, {"fwd_compute": 0.0}),
            ],
        )
    ],
)


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "plans" / "a.json"
    assert load_stored_plan(path) is None
    save_stored_plan(path, PLAN)
    assert load_stored_plan(path) == PLAN
    assert [file.name for file in path.parent.iterdir()] == ["a.json"]


def shard(document: dict[str, Any]) -> dict[str, Any]:
    first: dict[str, Any] = document["tables"][0]["shards"][0]
    return first


def changed(change: Callable[[dict[str, Any]], object]) -> str:
    document = {"format": "neuroshard.sharding_plan", "version": 1, **asdict(PLAN)}
    change(document)
    return json.dumps(document)


def with_time(digits: str) -> str:
    return changed(lambda d: shard(d).update(perf={"fwd_compute": "digits"})).replace('"digits"', digits)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 200_000 + "]" * 200_000, "not JSON: "),
        ('{"a":' * 200_000 + "1" + "}" * 200_000, "not JSON: "),
        ("", "not JSON: "),
        ("{}", "not a stored plan"),
        ('{"format": "neuroshard.sharding_plan", "version": NaN}', "NaN is no number"),
        (changed(lambda d: d.update(version=1e20)), "this program reads version 1"),
        (changed(lambda d: d.update(tables=3)), "TypeError"),
        (changed(lambda d: d.update(tables=["a"])), "TypeError"),
        (changed(lambda d: d.update(fingerprint=3)), "fingerprint is 3, which is no text"),
        (changed(lambda d: shard(d).update(rank=1e20)), r"rank is 1e\+20, which is no whole number from 0 to 21474"),
        (changed(lambda d: shard(d).update(rank=10**20)), "rank is 1000"),
        (changed(lambda d: shard(d).update(rank=-1)), "rank is -1"),
        (changed(lambda d: shard(d).update(rank=True)), "rank is True"),
        (changed(lambda d: shard(d).update(rank="0")), "rank is '0'"),
        (changed(lambda d: shard(d).update(rank=0.5)), "rank is 0.5"),
        (changed(lambda d: shard(d).update(size=[-1, 16])), "size is -1"),
        (changed(lambda d: shard(d).update(size=[1e300, 16])), r"size is 1e\+300"),
        (changed(lambda d: shard(d).update(size=[100])), "other than rows and columns"),
        (changed(lambda d: shard(d).update(offset=[0, -4])), "offset is -4"),
        (changed(lambda d: shard(d).update(storage={"hbm": -1})), "storage hbm is -1"),
        (changed(lambda d: shard(d).update(storage=[1])), "AttributeError"),
        (changed(lambda d: shard(d).update(perf={"fwd_compute": -0.5})), "perf fwd_compute is -0.5"),
        (changed(lambda d: shard(d).update(perf={"fwd_compute": "x"})), "perf fwd_compute is 'x'"),
        (with_time("1e999"), "fwd_compute is inf"),
        (with_time("1" + "0" * 400), "fwd_compute is 1000"),
        (with_time("1" + "0" * 9999), "not JSON: "),
        (changed(lambda d: shard(d).update(perf={"fwd_compute": float("nan")})), "NaN is no number"),
        (changed(lambda d: shard(d).update(rank=float("inf"))), "Infinity is no number"),
    ],
)
def test_a_damaged_file_is_an_error_that_names_it(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(ns.Error, match=words) as refused:
        load_stored_plan(path)
    assert str(path) in str(refused.value)
