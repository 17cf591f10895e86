"""Plans that are run by TorchRec and timed: neuroshard.measure."""

import json
import socket
import time
from pathlib import Path

import pytest
import torch
from measured_plans import run_ranks, table, task_text, write_plan

import neuroshard as ns
from neuroshard.measure import Spread, accuracy_of
from neuroshard.measure.task_model import TaskModel
from neuroshard.placed_slices import PlacedSlice, plan_from_slices
from neuroshard.device_times import Stopwatch

MEASURE = ("-m", "neuroshard.measure")
QUICK = ("--rounds", "2", "--iterations", "3", "--warm-up", "1", "--device", "cpu")


def test_weights_are_those_of_unsharded_tables(tmp_path: Path) -> None:
    result = tmp_path / "results.json"
    ended = run_ranks(2, "measure_rank.py", str(result))
    assert ended.returncode == 0, ended.stderr[-3000:]
    cases = json.loads(result.read_text())
    assert len(cases) == 6
    for name, of_ranks in cases.items():
        for rank in of_ranks:
            assert rank["apart"] <= 1e-5 < 1e-3 < rank["moved"], f"{name}: {rank}"
            assert rank["within"], f"{name}: {rank}"
            expected = {"ids", "gradients", "update", "lookup", "outputs"}
            assert set(rank["phases"]) == (expected | {"all_reduce"} if "replicas" in name else expected), name


def test_plans_are_measured_in_turn_beside_the_prediction(tmp_path: Path) -> None:
    file = tmp_path / "task.json"
    file.write_text(task_text([table(), table(dim=32), table()], 2))
    task = ns.load_task(file)
    whole = write_plan(tmp_path / "whole.json", task, [(0, 0, 0, 16), (1, 1, 0, 32), (0, 2, 0, 16)])
    unequal = write_plan(
        tmp_path / "unequal.json", task, [(0, 0, 0, 16, 0, 500), (1, 0, 0, 16, 500, 1500), (1, 1, 0, 32), (0, 2, 0, 16)]
    )
    one = write_plan(tmp_path / "one.json", task, [(0, 0, 0, 16), (0, 1, 0, 32), (0, 2, 0, 16)])
    result = tmp_path / "measured.json"
    plans = ("--plans", whole, unequal, "--plan", one)
    ended = run_ranks(2, *MEASURE, "--task", str(file), *plans, *QUICK, "--json", str(result))
    assert ended.returncode == 1, ended.stderr[-3000:]
    document = json.loads(result.read_text())
    assert (document["format"], document["ranks"], document["device"]) == ("neuroshard.measurement", 2, "cpu")
    assert [plan["plan"] for plan in document["plans"]] == [whole, unequal, one]
    refused = document["plans"].pop(1)
    assert "TorchRec cuts rows in equal blocks" in refused["error"] and "table 0 cannot" in refused["error"]
    assert "measured_ms" not in refused
    for plan in document["plans"]:
        assert len(plan["round_ms"]) == 2
        cost = plan["measured_ms"]
        assert 0 < cost["low"] <= cost["median"] <= cost["high"]
        assert len(plan["devices"]) == 2
        for device in plan["devices"]:
            terms = {"compute_ms", "forward_ms", "backward_ms", "ids_ms", "all_reduce_ms"}
            assert set(device["predicted"]) == {"total_ms"} | terms
            assert set(device["measured"]) == {"total_ms", "update_ms", "lookup_ms"} | terms
            assert device["predicted"]["total_ms"] == pytest.approx(sum(device["predicted"][term] for term in terms))
            # Each iteration of a device is at most that of the slowest.
            assert device["measured"]["total_ms"]["low"] <= cost["high"]
        assert plan["predicted_ms"] == max(device["predicted"]["total_ms"] for device in plan["devices"])
    costs = [(plan["measured_ms"]["median"], plan["predicted_ms"]) for plan in document["plans"]]
    accuracy = accuracy_of(costs)
    assert accuracy is not None
    assert (document["kendall_tau"], document["mape"]) == (accuracy.kendall_tau, accuracy.mape)
    assert f"Kendall tau {accuracy.kendall_tau:.3f}" in ended.stdout


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("sleep", "rank 1 on {host} is still at: round 1 of 2, {plan}, iteration 3: lookup"),
        ("stop", "rank 1 does not answer"),
    ],
)
def test_a_rank_that_hangs_ends_the_run_and_is_named(how: str, expected: str, tmp_path: Path) -> None:
    file = tmp_path / "task.json"
    file.write_text(task_text([table(), table()], 2))
    plan = write_plan(tmp_path / "plan.json", ns.load_task(file), [(0, 0, 0, 16), (1, 1, 0, 16)])
    arguments = ("--task", str(file), "--plan", plan, *QUICK, "--rank-timeout-s", "6")
    ended = run_ranks(2, "broken_rank.py", how, *arguments)
    assert ended.returncode != 0
    named = expected.format(host=socket.gethostname(), plan=plan)
    assert f"no progress for 6 s: {named}. It hangs, or needs more time: --rank-timeout-s 12" in ended.stderr


def test_a_rank_that_fails_ends_the_run_and_alone_says_why(tmp_path: Path) -> None:
    file = tmp_path / "task.json"
    file.write_text(task_text([table(), table()], 2))
    plan = write_plan(tmp_path / "plan.json", ns.load_task(file), [(0, 0, 0, 16), (1, 1, 0, 16)])
    ended = run_ranks(2, "broken_rank.py", "fail", "--task", str(file), "--plan", plan, *QUICK)
    assert ended.returncode != 0
    errors = [line for line in ended.stderr.splitlines() if line.startswith("neuroshard: error")]
    assert errors == ["neuroshard: error: rank 1: RuntimeError: no such row"]


def test_one_rank_needs_no_torchrun(tmp_path: Path) -> None:
    file = tmp_path / "task.json"
    file.write_text(task_text([table(), table(dim=32)], 1))
    plan = write_plan(tmp_path / "plan.json", ns.load_task(file), [(0, 0, 0, 16), (0, 1, 0, 32)])
    ended = run_ranks(1, *MEASURE, "--task", str(file), "--plan", plan, *QUICK)
    assert ended.returncode == 0, ended.stderr[-3000:]
    lines = ended.stdout.splitlines()
    assert lines[0].split() == "device total ms compute forward backward ids all_reduce update lookup".split()
    assert [line.split()[0] for line in lines[1:4]] == ["0", "quartiles", "predicted"]
    assert "1 rank of" in ended.stdout


def test_a_plan_for_which_memory_lacks_is_not_run(tmp_path: Path) -> None:
    file = tmp_path / "task.json"
    # 1,430 GiB.
    file.write_text(task_text([table(row=3_000_000_000, dim=128)], 1, memory_gb=4000))
    plan = write_plan(tmp_path / "plan.json", ns.load_task(file), [(0, 0, 0, 128)])
    result = tmp_path / "measured.json"
    ended = run_ranks(1, *MEASURE, "--task", str(file), "--plan", plan, *QUICK, "--json", str(result))
    assert ended.returncode == 1, ended.stderr[-3000:]
    error = json.loads(result.read_text())["plans"][0]["error"]
    assert error.startswith("memory: device 0 and the others of its machine: the plan takes 1430.51 GiB of ")


TWO_OPTIMIZERS = task_text([table(optimizer="sgd"), table(optimizer="adagrad")], 1)
ONE_TABLE = task_text([table()], 1)


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        (ONE_TABLE, ["--rounds", "0"], "--rounds is 0; give at least 1"),
        (ONE_TABLE, ["--plan", "missing.json"], "missing.json: cannot be read"),
        (ONE_TABLE, ["--json", "no_folder/a.json"], "no_folder/a.json: cannot be written"),
        (ONE_TABLE, ["--hardware", "abacus"], "abacus"),
        (
            task_text([table()], 2),
            [],
            "task.json: devices is 2, and there are 1 ranks; give torchrun --nproc-per-node 2",
        ),
        (TWO_OPTIMIZERS, [], "task.json: optimizer of tables is adagrad and sgd; give all tables one"),
        (task_text([table(optimizer="adam")], 1), [], "optimizer adam is not there on CPUs; give sgd"),
        (task_text([table(features=1.5)], 1), [], "table 0: features is 1.5; TorchRec needs a whole number"),
        (
            task_text([table()], 1, exchange={"forward": "fp16", "forward_share": 0.5}),
            [],
            "task.json: exchange has shares, deduplicated ids or hot_rows, which cannot be measured",
        ),
    ],
)
def test_bad_input_says_what_to_do(text: str, arguments: list[str], message: str, tmp_path: Path) -> None:
    file = tmp_path / "task.json"
    file.write_text(text)
    task = ns.load_task(file)
    slices = [(index % task.devices, index, 0, 16) for index in range(len(task))]
    plan = write_plan(tmp_path / "plan.json", task, slices)
    ended = run_ranks(1, *MEASURE, "--task", str(file), "--plan", plan, *QUICK, *arguments)
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr
    assert message in ended.stderr


def test_a_rank_cannot_hold_slices_of_several_widths_of_a_table() -> None:
    task = ns.parse_task(task_text([table(dim=32, name="wide"), table()], 2))
    slices: list[PlacedSlice] = [(0, 0, 0, 16), (1, 0, 16, 12), (1, 0, 28, 4), (0, 1, 0, 16)]
    model = TaskModel(task, torch.device("cpu"))
    with pytest.raises(ns.Error, match="table wide has shards of 4 and 12 columns on rank 1, which TorchRec cannot"):
        model.sharding_plan(plan_from_slices(task, slices), 2)
    slices[2] = (0, 0, 28, 4)
    with pytest.raises(ns.Error, match="table wide has shards of 4 and 16 columns on rank 0"):
        model.sharding_plan(plan_from_slices(task, slices), 2)
    # Ranks may hold other widths than others.
    three = ns.parse_task(task_text([table(dim=32, name="wide"), table()], 3))
    slices[2] = (2, 0, 28, 4)
    plan = TaskModel(three, torch.device("cpu")).sharding_plan(plan_from_slices(three, slices), 3)
    assert plan.plan["pooled"]["table_0"].ranks == [0, 1, 2]  # type: ignore[index]


def test_laps_of_one_name_are_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([10.0, 10.5, 10.75, 12.0, 20.0, 20.25])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    watch = Stopwatch(torch.device("cpu"))
    watch.start()
    for name in ("ids", "lookup", "ids"):
        watch.lap(name)
    assert watch.laps_ms() == {"ids": 1750.0, "lookup": 250.0}
    watch.start()
    watch.lap("lookup")
    assert watch.laps_ms() == {"lookup": 250.0}


def test_accuracy_counts_pairs_in_order() -> None:
    assert accuracy_of([(1.0, 1.0)]) is None
    accuracy = accuracy_of([(1.0, 2.0), (2.0, 1.0), (4.0, 4.0)])
    assert accuracy is not None
    assert (accuracy.kendall_tau, accuracy.costs) == (pytest.approx(1 / 3), 3)
    assert accuracy.mape == pytest.approx((1.0 + 0.5 + 0.0) / 3)
    # Costs that are equal say nothing of the order.
    tied = accuracy_of([(1.0, 3.0), (2.0, 3.0), (4.0, 4.0)])
    assert tied is not None and tied.kendall_tau == pytest.approx(2 / 6**0.5)


def test_spreads_are_medians_and_quartiles() -> None:
    assert Spread.of([3.0]) == (3.0, 3.0, 3.0)
    assert Spread.of([5.0, 1.0, 2.0, 4.0, 3.0]) == (3.0, 2.0, 4.0)
