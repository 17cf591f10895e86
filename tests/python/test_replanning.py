"""Re-planning, what-ifs, checks and fingerprints from Python."""

import json

import pytest
from example_tasks import GIB, random_task

import neuroshard as ns


def on_devices(task: ns.Task, devices: int, memory_bytes: int | None = None) -> ns.Task:
    return ns.Task(task.tables, devices=devices, memory_bytes=memory_bytes or task.memory_bytes)


def test_a_lost_device_moves_what_it_held() -> None:
    task = on_devices(random_task(1), 4)
    planner = ns.Planner(threads=1, cuts="columns")  # Row blocks would be cut anew.
    running = planner.plan(task)
    assert running.plan is not None and running.cost is not None
    smaller = on_devices(task, 3)
    found = planner.replan(smaller, task, running.plan, lost_devices=[1])
    assert found.result.plan is not None and found.result.cost is not None
    assert ns.simulate(smaller, found.result.plan).cost_ms == found.result.cost.cost_ms
    assert found.running_cost.cost_ms == running.cost.cost_ms
    held = sum(task.tables[s.table].rows * s.dim * 4 for s in running.slices_by_device()[1])
    assert found.must_move_bytes == held > 0
    assert held <= found.moved_bytes == sum(move.bytes for move in found.moves) <= 1.2 * held
    assert {move.from_device for move in found.moves} >= {-1}
    assert all(0 <= move.to_device < 3 for move in found.moves)
    assert all(0 <= move.first_row < move.first_row + move.rows for move in found.moves)
    assert json.loads(found.to_json())["replan"]["moved_bytes"] == found.moved_bytes
    assert "moved" in repr(found) and repr(found.result) in repr(found)
    assert '"moves":{' in found.to_html() and found._repr_html_().startswith("<iframe ")


def test_groups_change_their_size() -> None:
    task = on_devices(random_task(3), 4)
    planner = ns.Planner(threads=1)
    running = planner.plan(task)
    assert running.plan is not None
    found = planner.replan(on_devices(task, 8), task, running.plan, regrouped="interleaved")
    assert found.result.plan is not None
    share_of_added = sum(table.size_bytes for table in task.tables) // 2
    most_bytes = 1.2 * max(found.must_move_bytes, share_of_added) + 8 * (16 << 20)
    assert found.moved_bytes == sum(move.bytes for move in found.moves) <= most_bytes
    assert ns.replan(on_devices(task, 8), task, running.plan, regrouped="interleaved").moved_bytes == found.moved_bytes
    with pytest.raises(ns.Error, match="groups of 4 devices cannot become groups of 6"):
        planner.replan(on_devices(task, 6), task, running.plan, regrouped="consecutive")


def test_a_budget_is_kept_or_refused() -> None:
    task = on_devices(random_task(2), 4)
    planner = ns.Planner(threads=1)
    running = planner.plan(task)
    assert running.plan is not None
    assert planner.replan(task, task, running.plan, move_budget_bytes=0).moves == []
    saved = planner.replan(task, task, running.plan, move_budget_bytes=0, unspent_bytes=10**6)
    assert saved.moved_bytes + saved.unspent_bytes == 10**6
    assert json.loads(saved.to_json())["replan"]["unspent_bytes"] == saved.unspent_bytes
    with pytest.raises(ns.Error, match="move budget of 0 B; give at least"):
        planner.replan(on_devices(task, 3), task, running.plan, lost_devices=[0], move_budget_bytes=0)
    with pytest.raises(ns.Error, match="deadline_ms"):
        planner.replan(task, task, running.plan, deadline_ms=-1.0)
    with pytest.raises(ns.Error, match="between 0 and 1"):
        planner.replan(task, task, running.plan, small_moves_share=2.0)


def test_variants_are_plans_for_other_devices() -> None:
    task = random_task(3)
    planner = ns.Planner(threads=1)
    variants = [(2, 64 * GIB), (4, 64 * GIB), (4, 1), (0, GIB)]
    two, four, none, error = planner.plan_variants(task, variants)
    assert isinstance(two, ns.PlanResult) and two.task.devices == 2
    assert isinstance(four, ns.PlanResult) and four.cost is not None
    assert four.cost.cost_ms == planner.plan(on_devices(task, 4, 64 * GIB)).cost.cost_ms  # type: ignore[union-attr]
    assert isinstance(none, ns.PlanResult) and none.plan is None and none.infeasible is not None
    assert isinstance(error, ns.Error)


def test_variants_may_have_other_host_memory() -> None:
    tables = random_task(3).tables
    memory_bytes = sum(table.rows * table.dim * 4 for table in tables) // 4
    task = ns.Task(tables, devices=2, memory_bytes=memory_bytes, host_memory=ns.HostMemory(1, 25.0))
    variants: list[tuple[int, int] | tuple[int, int, int]] = [
        (2, memory_bytes, 0),
        (2, memory_bytes),
        (2, memory_bytes, 64 * GIB),
    ]
    none, small, large = ns.Planner(threads=1).plan_variants(task, variants)
    assert isinstance(none, ns.PlanResult) and none.plan is None
    assert isinstance(small, ns.PlanResult) and small.plan is None
    assert isinstance(large, ns.PlanResult) and large.plan is not None
    assert large.task.host_memory is not None and large.task.host_memory.bytes == 64 * GIB


def test_check_lists_everything_that_is_wrong() -> None:
    task = random_task(4)
    plan = ns.plan(task).plan
    assert plan is not None and ns.check(task, plan) == []
    shards = plan.shards
    shards[0] = shards[0] + [9999]
    problems = ns.check(on_devices(task, task.devices, 1), ns.Plan(plan.slices, shards))
    assert [problem.kind for problem in problems].count("slice") == 1
    assert problems[0].slice == 9999 and problems[0].remedy in repr(problems[0])
    assert {p.kind for p in ns.check(on_devices(task, task.devices, 1), plan)} == {"memory"}


def test_fingerprints_are_of_task_and_options() -> None:
    task = random_task(5)
    planner = ns.Planner(threads=1)
    assert planner.fingerprint(task) == ns.Planner(threads=2).fingerprint(task)
    assert planner.fingerprint(task) != planner.fingerprint(random_task(6))
    assert planner.fingerprint(task) != ns.Planner(effort="fast").fingerprint(task)
