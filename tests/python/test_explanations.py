"""Explanations of plans from Python: the same as the program's."""

import json
import math
import os
import subprocess
from pathlib import Path

import pytest
from example_tasks import document_of, random_task

import neuroshard as ns


def ruled_task(rules: ns.TableRules) -> ns.Task:
    tables = [ns.Table(rows=200_000, dim=32, pooling_factor=4.0 + t, name=f"table {t}") for t in range(4)]
    first = ns.Table(rows=900_000, dim=64, pooling_factor=30.0, name="first", rules=rules)
    return ns.Task([first, *tables], devices=2, memory_bytes=ns.bytes_from_gib(2))


def test_an_explanation_agrees_with_simulate() -> None:
    task = random_task(11)
    planner = ns.Planner(effort="fast", cuts="columns")
    plan = planner.plan(task).plan
    assert plan is not None
    explained = planner.explain(task, plan)
    assert explained.cost is not None and explained.infeasible is None
    cost = planner.simulate(task, plan)
    assert explained.cost.cost_ms == cost.cost_ms and explained.cost.plan == plan
    assert explained.devices_by_cost[0] == int(cost.total_ms.argmax())
    own_ms = cost.total_ms - explained.wait_ms
    assert own_ms[explained.deciding_device] == own_ms.max()
    assert len(explained.start_offset_ms) == len(explained.without_slices) == task.devices
    assert [[s.slice for s in of_device] for of_device in explained.slices] == plan.shards
    for of_device in explained.slices:
        for one in of_device:
            assert one.held == plan.slices[one.slice] and one.without.plan_ms > 0.0
    assert explained.without_base == explained.at_full_speed == [None] * task.devices
    assert explained.rules is None
    document = json.loads(explained.to_json())
    assert document["cost_ms"] == cost.cost_ms and document["deciding_device"] == explained.deciding_device


def test_cuts_of_the_deciding_device_are_explained() -> None:
    task = ruled_task(ns.TableRules())
    halved = ns.Plan.from_column_splits(task, [0, 0], [[0, 6, 1, 2, 3, 4], [5]])
    explained = ns.Planner().explain(task, halved)
    assert explained.deciding_device == 0
    (cut,) = explained.cuts
    assert (cut.table, cut.slices, cut.slices_here, cut.whole_device) == (0, 3, 2, 1)
    assert cut.merged is not None and cut.whole is not None
    assert "ChangedCost(plan_ms=" in repr(cut.whole)


def test_what_rules_cost() -> None:
    task = ruled_task(ns.TableRules(no_split=True, devices=[0]))
    planner = ns.Planner(effort="fast", threads=1)
    explained = planner.explain(task, rules=True)
    assert explained.cost is not None and explained.rules is not None
    assert explained.cost.cost_ms == planner.plan(task).cost.cost_ms  # type: ignore[union-attr]
    assert [(rule.kind, rule.table, rule.group) for rule in explained.rules] == [
        ("no_split", 0, -1),
        ("devices", 0, -1),
    ]
    for rule in explained.rules:
        assert rule.costs_ms == explained.cost.cost_ms - rule.without_ms
        assert rule.costs_ms is not None and rule.costs_ms >= 0.0
    assert "devices 0" in repr(explained.rules[1])


def test_rules_that_leave_a_task_without_a_plan() -> None:
    task = ruled_task(ns.TableRules(kinds=["row"]))
    explained = ns.Planner(cuts="columns").explain(task, rules=True)
    assert explained.cost is None and explained.infeasible is not None and explained.rules is not None
    assert explained.deciding_device == -1 and explained.slices == [] and explained.wait_ms == []
    (rule,) = explained.rules
    assert math.isfinite(rule.without_ms) and rule.costs_ms == math.inf
    assert json.loads(explained.to_json())["error"]["kind"] == "rules"
    assert "no plan" in repr(explained)


def test_bad_input_is_an_error() -> None:
    task = random_task(12)
    with pytest.raises(ns.Error):
        ns.Planner().explain(task, ns.Plan([], [[]]))
    with pytest.raises(ns.Error):
        ns.Planner().explain(task, deadline_ms=-1.0)


@pytest.mark.skipif("NEUROSHARD_PROGRAM" not in os.environ, reason="the program is not built")
def test_the_program_says_the_same(tmp_path: Path) -> None:
    task = random_task(13)
    file = tmp_path / "task.json"
    file.write_text(json.dumps(document_of(task)))
    command = [os.environ["NEUROSHARD_PROGRAM"], "explain", "--task", str(file), "--format", "json"]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    document = json.loads(ns.Planner().explain(ns.load_task(file)).to_json())
    for field in ("cost_ms", "deciding_device", "devices", "cuts"):
        assert told[field] == document[field]
