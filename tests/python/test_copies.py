"""Tables, tasks, plans, costs and results are copied, and pickled for other processes."""

import copy
import pickle
import re
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import pytest
from example_tasks import GIB, random_task

import neuroshard as ns


def rich_task() -> ns.Task:
    """Every field of a task has another value than by default."""
    table = ns.Table(
        100_000,
        64,
        12.5,
        name="us\u00e9r",
        access_histogram=[0.5, 0.25, 0.25] + [0.0] * 14,
        weight_type="fp16",
        optimizer="adam",
        rules=ns.TableRules(min_width=8, max_slices=4, not_devices=[3], not_nodes=[1], kinds=["column", "table"], keep_in_hbm=True),
        row_shares=[0.75, 0.25],
        replica_gradients="touched",
        features=2.5,
        pooling="mean",
        weighted=True,
        popularity=[(1_000.0, 0.75), (90_000.0, 1.0)],
    )
    return ns.Task(
        [table, ns.Table(5_000, 32, 1.0, name="b"), ns.Table(7_000, 16, 2.0)],
        [ns.Device(4 * GIB, speed=1.5, base_ms=0.5, base_bytes=1 << 20)] + [ns.Device(2 * GIB)] * 3,
        name="rich",
        notes=["assumed"],
        reserved_bytes=1 << 20,
        reserved_share=0.25,
        batch_size=8192,
        devices_per_node=2,
        links=ns.NodeLinks(in_node_gb_s=100.0, between_nodes_gb_s=12.5, node_gb_s=25.0, levels=[(4, 5.0)]),
        exchange=ns.ExchangeTypes(
            forward="fp16",
            backward="fp8",
            ids="int32",
            forward_share=0.5,
            backward_share=0.25,
            deduplicate_ids=True,
            deduplicate_by_table=True,
            hot_rows=True,
            hot_rows_by_node=True,
        ),
        overlap=ns.Overlap(
            ids=True,
            dense_ms=1.5,
            dense_beside_outputs_ms=0.5,
            dense_beside_gradients_ms=0.25,
            host_ms=2.0,
        ),
        groups=[ns.TableGroup([1, 2], "apart", name="g")],
    )


def values() -> list[Any]:
    task = rich_task()
    result = ns.plan(task, alternatives=3)
    assert result.plan is not None and result.cost is not None and len(result.alternatives) > 0
    # Ids that are deduplicated are not fetched from hosts.
    host = ns.HostMemory(GIB, 25.0, policy="static", prefetch=True, of_node=True, ssd_bytes=GIB, ssd_gb_s=2.0)
    cached = ns.Table(1_000_000, 64, 4.0, rules=ns.TableRules(hbm_share=0.25))
    hosted = ns.plan(ns.Task([cached], 2, 128 << 20, host_memory=host), effort="fast")
    assert hosted.cost is not None and hosted.cost.hbm_shares
    infeasible = ns.plan(random_task(1, memory_bytes=1 << 20))
    assert infeasible.infeasible is not None
    return [
        *(task.tables[0], task.tables[0].rules, task.groups[0], task.device_list[0], task.links, task.exchange, task.overlap, task),
        *(result.plan.slices[0], result.plan, result.cost, result.stats, result),
        *(infeasible.infeasible, infeasible),
        *(host, cached.rules, hosted.task, hosted.cost),
        ns.Plan([], [[]], hot_rows=[(0, 5)], node_rows=[(0, 7), (2, 9)]),
    ]


def seen(value: Any) -> dict[str, Any]:
    """All that a value shows; values within it likewise."""
    shown: dict[str, Any] = {"repr": re.sub("0x[0-9a-f]+", "", repr(value))}
    for name in dir(value):
        field = getattr(value, name)
        if name.startswith("_") or callable(field):
            continue
        if type(field).__module__.startswith("neuroshard"):
            field = seen(field)
        elif isinstance(field, list) and field and type(field[0]).__module__.startswith("neuroshard"):
            field = [seen(one) for one in field]
        shown[name] = field.tolist() if hasattr(field, "tolist") else field
    if hasattr(value, "to_json"):
        shown["json"] = value.to_json()
    return shown


@pytest.mark.parametrize("value", values(), ids=lambda value: type(value).__name__)
def test_copies_and_pickles_are_the_same(value: Any) -> None:
    assert len(seen(value)) > 1
    assert copy.copy(value) is value and copy.deepcopy(value) is value
    assert copy.deepcopy([value, {"a": value}]) == [value, {"a": value}]
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        back = pickle.loads(pickle.dumps(value, protocol))
        assert type(back) is type(value) and back is not value
        assert seen(back) == seen(value)


def test_values_that_are_compared_are_no_keys() -> None:
    for value in values():
        if "__eq__" in vars(type(value)):
            with pytest.raises(TypeError, match="unhashable"):
                hash(value)
    with pytest.raises(TypeError, match="unhashable"):
        ns.TableSlice(0, 0, 4, 0, 1) in {ns.TableSlice(0, 0, 4, 0, 1)}
    assert ns.TableSlice(0, 0, 4, 0, 1) in [ns.TableSlice(0, 0, 4, 0, 1)]
    assert len({ns.Weights.builtin()}) == 1  # Which the functions of the package keep planners by.


def test_what_comes_back_is_planned_as_before() -> None:
    task = rich_task()
    result = ns.plan(task)
    again, plan = pickle.loads(pickle.dumps((task, result.plan)))
    assert ns.plan(again).plan == result.plan == plan
    assert result.cost is not None and ns.simulate(again, plan).cost_ms == result.cost.cost_ms
    assert ns.Planner().fingerprint(again) == ns.Planner().fingerprint(task)


def test_results_of_one_task_share_it() -> None:
    task = random_task(3)
    first, second = pickle.loads(pickle.dumps([ns.plan(task), ns.plan(task)]))
    assert first.task is second.task


def plan_elsewhere(task: ns.Task) -> ns.PlanResult:
    return ns.plan(task, backend="scalar", effort="fast")


def test_other_processes_take_tasks_and_give_results() -> None:
    tasks = [random_task(seed, tables=4) for seed in range(3)]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        for task, result in zip(tasks, pool.map(plan_elsewhere, tasks)):
            assert result.plan == plan_elsewhere(task).plan


def test_pickles_that_are_damaged_or_of_another_version_are_refused() -> None:
    task = rich_task()
    state_of_task: Any = task.__getstate__()
    state_of_table: Any = task.tables[0].__getstate__()
    version, fields = state_of_task
    _, table_fields = state_of_table
    for kept, state, words in (
        (ns.Task, ("0.0.1", fields), "is of neuroshard 0.0.1"),
        (ns.Task, (version, fields[:-1]), "damaged"),
        (ns.Task, (version,), "damaged"),
        (ns.Task, 3, "damaged"),
        (ns.Task, (version, ((), *fields[1:])), "damaged"),
        (ns.Table, (version, ("a", "many", *table_fields[2:])), "damaged"),
        (ns.Table, (version, ("a", -1, *table_fields[2:])), "the pickle's table"),
        (ns.Table, (version, (*table_fields[:-5], 77, *table_fields[-4:])), "damaged"),  # Poolings are fewer.
        (ns.Table, (version, (*table_fields[:-6], -1.0, *table_fields[-5:])), "the pickle's table: features is -1"),
        (ns.Table, (version, (*table_fields[:-1], 0)), "the pickle's table: replica_devices is 0"),
        (ns.PlanResult, (version, (None, "", ())), "damaged"),
    ):
        broken: Any = kept.__new__(kept)
        with pytest.raises(ns.Error, match=words):
            broken.__setstate__(state)
