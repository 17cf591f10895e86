"""Planning from Python: the same plans as the library makes, threads, deadlines and Ctrl-C."""

import html
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from example_tasks import GIB, document_of, random_task

import neuroshard as ns


def columns_placed(task: ns.Task, slices: list[list[ns.TableSlice]]) -> list[int]:
    columns = [0] * len(task)
    for device in slices:
        for piece in device:
            columns[piece.table] += piece.dim
    return columns


def test_a_plan_places_every_column_within_memory() -> None:
    task = random_task(1)
    result = ns.Planner(cuts="columns").plan(task)
    assert result.plan is not None and result.cost is not None and result.infeasible is None
    assert columns_placed(task, result.slices_by_device()) == [table.dim for table in task.tables]
    assert result.slices_by_device() == ns.slices_by_device(task, result.plan)
    cost = result.cost
    assert cost.fits_memory and np.all(cost.memory_bytes <= task.memory_bytes)
    assert int(cost.memory_bytes.sum()) == sum(table.size_bytes for table in task.tables)
    assert int(cost.dim_sum.sum()) == sum(table.dim for table in task.tables)
    np.testing.assert_allclose(cost.total_ms, cost.compute_ms + cost.forward_ms + cost.backward_ms + cost.ids_ms)
    assert cost.cost_ms == cost.total_ms.max()
    assert result.complete and result.stats.candidates > 0 and result.stats.backend in ns.backends()


def test_waiting_is_no_work() -> None:
    # Two of four devices have nothing to do but to wait for device 0.
    tables = [ns.Table(rows=1_000_000, dim=64, pooling_factor=5.0 + i, name=f"t{i}") for i in range(8)]
    task = ns.Task(tables, devices=4, memory_bytes=16 * GIB)
    slices = [(0 if i < 7 else 1, i, 0, 64, 0, 1_000_000) for i in range(8)]
    cost = ns.simulate(task, ns.plan_from_slices(task, slices, []))
    assert np.all(cost.wait_ms <= cost.forward_ms) and cost.wait_ms[0] == 0.0 and cost.wait_ms[2] > 0.0
    work = cost.total_ms - cost.wait_ms
    assert cost.imbalance == pytest.approx(work.max() / work.mean()) and cost.imbalance > 1.3
    assert f"imbalance {cost.imbalance:.3f}" in str(cost) and "waiting" in str(cost)


def test_arrays_cannot_be_written_and_outlive_their_plan() -> None:
    result = ns.plan(random_task(2))
    assert result.cost is not None
    totals = result.cost.total_ms
    expected = totals.copy()
    del result
    assert totals.dtype == np.float64 and np.array_equal(totals, expected)
    with pytest.raises(ValueError):
        totals[0] = 0.0


def test_simulate_says_what_the_search_said() -> None:
    task = random_task(3)
    result = ns.plan(task, alternatives=3)
    assert result.plan is not None and result.cost is not None
    assert ns.simulate(task, result.plan).cost_ms == result.cost.cost_ms
    assert [other.cost_ms for other in result.alternatives] == sorted(o.cost_ms for o in result.alternatives)
    for other in result.alternatives:
        assert other.plan != result.plan
        assert ns.simulate(task, other.plan).cost_ms == other.cost_ms


def test_options_reach_the_search() -> None:
    task = random_task(4, tables=4, devices=8)
    best = ns.Planner(effort="default").plan(task)
    fast = ns.Planner(effort="fast", threads=1, backend="scalar").plan(task)
    random_plan = ns.Planner(algorithm="random", seed=3).plan(task)
    for result in (best, fast, random_plan):
        assert result.cost is not None
    assert best.cost.cost_ms <= fast.cost.cost_ms < random_plan.cost.cost_ms  # type: ignore[union-attr]
    assert fast.stats.backend == "scalar"
    assert ns.Planner(algorithm="random", seed=4).plan(task).plan != random_plan.plan
    even = ns.Planner(equal_widths=True).plan(task)
    widths: dict[int, set[int]] = {}
    for device in even.slices_by_device():
        for piece in device:
            widths.setdefault(piece.table, set()).add(piece.dim)
    assert all(len(of_table) == 1 for of_table in widths.values())


def test_policies_are_files() -> None:
    file = Path(__file__).parents[1] / "data" / "policies" / "dreamshard_trained.pt"
    task = random_task(4)
    plans = [ns.Planner(algorithm="dreamshard", policy=path).plan(task).plan for path in (file, str(file))]
    assert plans[0] is not None and plans[0] == plans[1]


def test_wrong_options_are_errors() -> None:
    for options in ({"algorithm": "best"}, {"effort": "none"}, {"backend": "abacus"}, {"threads": -1}):
        with pytest.raises(ns.Error):
            ns.Planner(**options)
    for request in ({"deadline_ms": -1.0}, {"deadline_ms": float("nan")}, {"alternatives": -1}):
        with pytest.raises(ns.Error):
            ns.plan(random_task(5), **request)
    with pytest.raises(TypeError):
        ns.plan("task")  # type: ignore[arg-type]


def test_a_task_that_cannot_fit_is_a_result() -> None:
    result = ns.plan(random_task(6, memory_bytes=1000))
    assert result.plan is None and result.cost is None and result.slices_by_device() == []
    assert result.infeasible is not None
    assert result.infeasible.kind == "total_memory"
    assert result.infeasible.needed_bytes > result.infeasible.available_bytes
    assert result.infeasible.message in repr(result)
    assert json.loads(result.to_json())["error"]["kind"] == "total_memory"


def test_batches_have_an_outcome_a_task() -> None:
    tasks = [random_task(seed) for seed in range(4)]
    hopeless = random_task(9, memory_bytes=1000)
    outcomes = ns.plan_batch([*tasks, hopeless])
    assert len(outcomes) == 5
    for task, outcome in zip(tasks, outcomes):
        assert isinstance(outcome, ns.PlanResult) and outcome.plan == ns.plan(task).plan
    assert isinstance(outcomes[4], ns.PlanResult) and outcomes[4].plan is None
    with pytest.raises(TypeError):
        ns.plan_batch([None])  # type: ignore[list-item]


def test_plans_go_through_json(tmp_path: Path) -> None:
    task = random_task(7)
    result = ns.plan(task)
    assert result.plan is not None
    text = result.to_json()
    assert json.loads(text)["task"]["name"] == "random 7"
    assert ns.parse_plan(text, task) == result.plan
    path = tmp_path / "plan.json"
    path.write_text(text)
    assert ns.load_plan(path, task) == result.plan
    with pytest.raises(ns.Error):
        ns.parse_plan(text, random_task(8))


def test_plans_are_made_of_slices() -> None:
    for seed in range(5):
        task = random_task(seed, devices=8)
        result = ns.plan(task)
        assert result.plan is not None
        by_device = result.slices_by_device()
        slices = [
            (device, piece.table, piece.first_column, piece.dim, piece.first_row, piece.rows)
            for device, pieces in enumerate(by_device)
            for piece in pieces
        ]
        again = ns.slices_by_device(task, ns.plan_from_slices(task, slices))
        key = lambda piece: (piece.table, piece.first_column, piece.first_row)  # noqa: E731
        assert [sorted(pieces, key=key) for pieces in again] == [sorted(pieces, key=key) for pieces in by_device]


def test_slices_may_be_row_blocks_and_of_any_width() -> None:
    task = ns.Task([ns.Table(100, 24, 4.0), ns.Table(10, 8, 1.0)], devices=2, memory_bytes=GIB)
    plan = ns.plan_from_slices(
        task, [(0, 0, 0, 20, 0, 40), (1, 0, 0, 20, 40, 60), (1, 0, 20, 4), (0, 1, 0, 8)]
    )
    assert plan.slices[1] == ns.TableSlice(table=0, first_column=0, dim=20, first_row=40, rows=60)
    assert plan.shards == [[0, 3], [1, 2]]
    assert plan.column_splits(task) is None
    cost = ns.simulate(task, plan)
    assert list(cost.memory_bytes) == [4 * (20 * 40 + 8 * 10), 4 * (20 * 60 + 4 * 100)]
    assert list(cost.dim_sum) == [28, 24]
    assert ns.parse_plan(cost.to_json(), task) == plan
    halved = ns.Plan.from_column_splits(task, [0], [[0], [1, 2]])
    assert halved.column_splits(task) == [0]
    assert halved.slices[2] == ns.TableSlice(0, 12, 12, 0, 100)


@pytest.mark.parametrize(
    ("slices", "text"),
    [
        ([(0, 0, 0, 8)], "columns 8 to 15 of table 0 are in no slice"),
        ([(0, 0, 0, 10), (1, 0, 10, 6)], "multiple of 4"),
        ([(0, 0, 0, 16), (1, 0, 0, 8)], "overlaps"),
        ([(0, 0, 0, 16), (1, 0, 0, 16)], "overlaps"),
        ([(0, 0, 0, 16, 0, 4), (1, 0, 0, 16, 5, 5)], "rows 4 to 4 of table 0 are in no slice"),
        ([(2, 0, 0, 16)], "device 2"),
        ([(0, 1, 0, 16)], "table 1"),
        ([], "in no slice"),
        ([(0, 0, 0, 16, 5)], r"slice \(0, 0, 0, 16, 5\) has 5 numbers; give device, table"),
        ([(0, 0, 0, 16, 0, 10, 3)], "has 7 numbers; give device, table"),
    ],
)
def test_slices_that_are_no_plan(slices: list[tuple[int, int, int, int]], text: str) -> None:
    task = ns.Task([ns.Table(10, 16, 1.0)], devices=2, memory_bytes=GIB)
    with pytest.raises(ns.Error, match=text):
        ns.plan_from_slices(task, slices)


def test_pages_are_those_of_the_program(tmp_path: Path) -> None:
    task = random_task(10, tables=3)
    result = ns.plan(task)
    assert result.cost is not None
    for page in (repr(result), str(result), repr(result.cost)):
        assert page.startswith("random 10: 3 tables,")
        assert "samples, set by device" in page and "built-in weights" in page
    assert "search" in repr(result) and "candidates" not in repr(result.cost)
    program = os.environ.get("NEUROSHARD_PROGRAM")
    if program is None:
        pytest.skip("NEUROSHARD_PROGRAM does not name the program to compare with")
    (tmp_path / "task.json").write_text(json.dumps(document_of(task)))
    (tmp_path / "plan.json").write_text(result.to_json())
    command = [program, "simulate", "--task", "task.json", "--plan", "plan.json"]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    plain = str.maketrans("█▓░▏▎▍▌▋▊▉", "#=-       ")
    page = repr(result.cost).translate(plain)
    assert page.split()[:12] == printed.split()[:12]
    assert page[page.index("cost ") :] == printed[printed.index("cost ") :]


def test_analytic_costs_are_those_of_the_program(tmp_path: Path) -> None:
    task = random_task(11)
    result = ns.plan(task)
    assert result.plan is not None and result.cost is not None
    priced = ns.analytic_cost(task, result.plan)
    np.testing.assert_array_equal(priced.memory_bytes, result.cost.memory_bytes)
    assert priced.cost_ms == priced.total_ms.max() != result.cost.cost_ms
    assert "analytic costs of a100-sxm-80gb, a100-nvlink3-hdr" in repr(priced)
    faster = ns.analytic_cost(task, result.plan, gpu="h100-sxm-80gb", network="h100-nvlink4-ndr")
    assert np.all(faster.compute_ms < priced.compute_ms) and faster.cost_ms < priced.cost_ms
    for name in ({"gpu": "abacus"}, {"network": "pigeons"}):
        with pytest.raises(ns.Error, match="abacus|pigeons"):
            ns.analytic_cost(task, result.plan, **name)
        with pytest.raises(ns.Error, match="abacus|pigeons"):
            ns.cost_bound(task, **name)
    assert 0.5 * priced.cost_ms < ns.cost_bound(task) <= priced.cost_ms
    assert ns.cost_bound(task, gpu="h100-sxm-80gb", network="h100-nvlink4-ndr") <= faster.cost_ms
    program = os.environ.get("NEUROSHARD_PROGRAM")
    if program is None:
        pytest.skip("NEUROSHARD_PROGRAM does not name the program to compare with")
    (tmp_path / "task.json").write_text(json.dumps(document_of(task)))
    (tmp_path / "plan.json").write_text(result.to_json())
    command = [program, "simulate", "--task", "task.json", "--plan", "plan.json", "--cost-source", "analytic"]
    printed = subprocess.run(
        [*command, "--format", "json"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert json.loads(printed)["cost_ms"] == json.loads(priced.to_json())["cost_ms"]


def test_notebooks_show_the_report() -> None:
    task = ns.Task(
        [ns.Table(1000, 16, 1.0, name='</script><b>"a"'), *random_task(10, tables=3).tables],
        devices=2,
        memory_bytes=GIB,
        name="<i>it</i>",
    )
    result = ns.plan(task)
    assert result.cost is not None
    for shown in (result, result.cost):
        report = shown.to_html()
        assert report.startswith("<!doctype html>") and report.count("</script>") == 2
        assert "<h1>&lt;i&gt;it&lt;/i&gt;</h1>" in report and "<b>" not in report and "<i>" not in report
        start, end = "<iframe ", "</iframe>"
        frame = shown._repr_html_()
        assert frame.startswith(start) and frame.endswith(end) and frame.count("<") == 2
        assert html.unescape(frame.split('srcdoc="')[1].split('"')[0]) == report
    assert "<dt>search</dt>" in result.to_html() and "<dt>search</dt>" not in result.cost.to_html()
    other = ns.simulate(task, ns.plan_from_slices(task, [(0, i, 0, t.dim, 0, t.rows) for i, t in enumerate(task.tables)]))
    beside = result.cost.to_html(other, "<one> device", [("bill", "3 $", "4 $")])
    assert "Beside &lt;one&gt; device" in beside and ">bill<td>3 $<td>4 $" in beside
    none = ns.plan(random_task(6, memory_bytes=1000))
    assert none.infeasible is not None
    assert html.escape(none.infeasible.message) in none.to_html()


def test_improvements_are_told() -> None:
    seen: list[ns.Improvement] = []
    result = ns.Planner().plan(random_task(11), on_improvement=seen.append)
    assert result.cost is not None and seen
    costs = [better.cost_ms for better in seen]
    assert costs == sorted(costs, reverse=True) and seen[0].stage == "uniform"
    assert all(better.elapsed_ms >= 0.0 for better in seen)
    again: list[ns.Improvement] = []
    ns.plan(random_task(11), on_improvement=again.append)
    assert [better.cost_ms for better in again] == costs


def test_what_a_callback_raises_ends_the_search() -> None:
    def refuse(better: ns.Improvement) -> None:
        raise LookupError("enough")

    planner = ns.Planner()
    with pytest.raises(LookupError, match="enough"):
        planner.plan(random_task(12), on_improvement=refuse)
    assert planner.plan(random_task(12)).plan is not None


def test_a_deadline_ends_the_search_with_a_plan() -> None:
    # Long enough for a first plan on a busy machine, and not for all of this effort.
    task = random_task(13, devices=64)
    result = ns.Planner(effort="thorough", threads=1).plan(task, deadline_ms=500.0)
    assert not result.complete and result.plan is not None


def test_other_threads_run_while_one_plans() -> None:
    planner = ns.Planner(effort="thorough", threads=1)
    seen_meanwhile = threading.Event()
    # A busy machine may keep this thread waiting for a while, too.
    planning = threading.Thread(target=lambda: planner.plan(random_task(14), deadline_ms=2000.0))
    planning.start()
    while planning.is_alive():
        seen_meanwhile.set()  # Needs Python's lock, which the search must not hold.
        time.sleep(0.01)
        if seen_meanwhile.is_set():
            break
    assert planning.is_alive()
    planning.join()


def test_threads_share_a_planner() -> None:
    planner = ns.Planner(effort="fast")
    expected = [planner.plan(random_task(seed)).plan for seed in range(4)]
    found: list[ns.Plan | None] = [None] * 4

    def run(seed: int) -> None:
        found[seed] = planner.plan(random_task(seed)).plan

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected


def test_ctrl_c_ends_a_long_search() -> None:
    script = (
        "import neuroshard as ns, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from example_tasks import random_task\n"
        "def told(better):\n"
        "    print('planning', flush=True)\n"
        "try:\n"
        "    ns.Planner(effort='thorough').plan(random_task(15, tables=200, devices=64), on_improvement=told)\n"
        "except KeyboardInterrupt:\n"
        "    sys.exit(42)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], cwd=Path(__file__).parent, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "planning\n"
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 42


def test_weights() -> None:
    weights = ns.Weights.builtin()
    assert weights is ns.Weights.builtin("a100")
    assert "h200-sxm-141gb" in ns.Weights.builtin(hardware="h200").origin
    with pytest.raises(ns.Error, match="no data for hardware 'abacus'; use one of a100, h100, h200"):
        ns.Weights.builtin("abacus")
    assert weights.metadata["hardware"] and weights.origin.startswith("built-in weights")
    assert weights.has_comm_for(8) and weights.origin in repr(weights)
    planner = ns.Planner(weights)
    assert planner.weights.origin == weights.origin and planner.backend in ns.backends()
    with pytest.raises(ns.Error) as raised:
        ns.Weights.load("absent.safetensors")
    assert raised.value.kind == "io" and "absent.safetensors" in str(raised.value)


def test_weights_of_hardware_that_none_were_trained_on() -> None:
    weights = ns.Weights.builtin("b200")
    assert weights is ns.Weights.builtin("b200")
    assert re.search(r"scaled from h200: on costs held back compute is off by [1-2]\.\d %", weights.metadata["source"])
    links = ns.NodeLinks(in_node_gb_s=31.5, between_nodes_gb_s=12.5, host_gb_s=72.0)
    mine = ns.Hardware(700.0, 48.0, 70, 1.5, links, name="mine", devices_per_node=4)
    own = ns.Weights.builtin(mine)
    assert own.origin.startswith("built-in weights of mine (hardware: links of mine, mine; source: analytic")
    assert own.metadata["hardware.host_gb_s"] == "72"
    assert mine == ns.Hardware(700.0, 48.0, 70, 1.5, links, name="mine", devices_per_node=4)
    task = ns.Task([ns.Table(rows=100_000, dim=64, pooling_factor=8.0) for _ in range(16)], 8, 1 << 34)
    on_b200 = ns.Planner(weights, effort="fast", threads=1).plan(task)
    on_mine = ns.Planner(own, effort="fast", threads=1).plan(task)
    assert on_mine.cost is not None and on_b200.cost is not None
    assert on_mine.cost.cost_ms > 2.0 * on_b200.cost.cost_ms
    with pytest.raises(ns.Error, match="hardware: l2_mib is 0; give a number between"):
        ns.Hardware(700.0, 0.0, 70, 1.5, links)
    with pytest.raises(ns.Error, match="hardware: between_nodes_gb_s is 0; give a number between"):
        ns.Hardware(700.0, 4.0, 70, 1.5, ns.NodeLinks(in_node_gb_s=3.0))


def test_functions_of_the_package_are_those_of_a_planner() -> None:
    task = random_task(5)
    planner = ns.Planner()
    plan = planner.plan(task).plan
    assert plan is not None
    shrunk = random_task(5, devices=3)
    ours = ns.replan(shrunk, task, plan, lost_devices=[1])
    assert repr(ours.moves) == repr(planner.replan(shrunk, task, plan, lost_devices=[1]).moves)
    limited = ns.replan(shrunk, task, plan, lost_devices=[1], small_moves_bytes=0, small_moves_share=0.0)
    assert limited.moved_bytes <= ours.moved_bytes
    variants = [(2, 8 * GIB), (4, 8 * GIB)]
    costs = [result.cost for result in ns.plan_variants(task, variants) if isinstance(result, ns.PlanResult)]
    assert [cost and cost.cost_ms for cost in costs] == [
        result.cost and result.cost.cost_ms
        for result in planner.plan_variants(task, variants)
        if isinstance(result, ns.PlanResult)
    ]
    assert ns.explain(task, plan).to_json() == planner.explain(task, plan).to_json()
    assert ns.explain(task).to_json() == planner.explain(task).to_json()


def test_groups_are_tasks_with_plans() -> None:
    task = ns.Task([ns.Table(100_000, 64, 5.0) for _ in range(12)], 16, GIB)
    planner = ns.Planner(effort="fast")
    result = planner.plan_groups(task, iterations=100.0)
    assert result.best is not None and result.best.cost_ms == min(groups.cost_ms for groups in result.plans)
    for groups in result.plans:
        assert groups.size * groups.copies == 16 and groups.layout in ("consecutive", "interleaved")
        assert groups.result.plan is not None
        cost = planner.simulate(groups.task, groups.result.plan)
        averaged = groups.averaging_ms / groups.iterations if groups.copies > 1 else 0.0
        assert groups.cost_ms == cost.cost_ms + averaged
    assert [groups.size for groups in planner.plan_groups(task, sizes=[8], layouts=["consecutive"]).plans] == [8]
    turned = planner.plan_groups(task, sizes=[8, 16, 4], layouts=["interleaved", "consecutive"]).plans
    assert [(groups.size, groups.layout) for groups in turned] == [
        *((8, "interleaved"), (8, "consecutive")),
        (16, "consecutive"),
        *((4, "interleaved"), (4, "consecutive")),
    ]
    with pytest.raises(ns.Error, match="divide"):
        planner.plan_groups(task, sizes=[3])
    full = planner.plan_groups(task, sizes=[8], iterations=1.0).plans[0]
    touched = planner.plan_groups(task, sizes=[8], iterations=1.0, touched_rows=True).plans[0]
    assert touched.averaged_bytes != full.averaged_bytes
