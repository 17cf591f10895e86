"""Tables and tasks: what goes in comes out, and what is wrong is said."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from example_tasks import GIB, random_task

import neuroshard as ns


def test_a_table_has_what_it_was_given() -> None:
    histogram = [0.5, 0.25, 0.25] + [0.0] * 14
    table = ns.Table(1000, 64, 2.5, access_histogram=histogram, name="user")
    assert (table.rows, table.dim, table.pooling_factor, table.name) == (1000, 64, 2.5, "user")
    assert list(table.access_histogram) == histogram
    assert table.size_bytes == 1000 * 64 * 4
    assert "user" in repr(table) and "1,000 x 64" in repr(table)
    as_array = ns.Table(1000, 64, 2.5, access_histogram=np.array(histogram, dtype=np.float32).tolist())
    assert as_array.access_histogram == table.access_histogram


def test_a_histogram_that_is_not_given_is_computed() -> None:
    table = ns.Table(10_000, 16, 4.0, zipf_exponent=1.4)
    assert list(table.access_histogram) == list(ns.zipf_histogram(10_000, 4.0, exponent=1.4))
    assert math.isclose(sum(table.access_histogram), 1.0, abs_tol=1e-9)
    assert table.access_histogram != ns.Table(10_000, 16, 4.0).access_histogram


def test_devices_that_differ_and_rules_come_from_files(tmp_path: Path) -> None:
    file = tmp_path / "task.json"
    file.write_text(
        json.dumps(
            {
                "format": "neuroshard.task",
                "version": 1,
                "reserved_share": 0.5,
                "devices": [{"memory_gb": 2, "base_ms": 1.5, "base_gb": 0.25}, {"count": 2, "class": "fast"}],
                "classes": {"fast": {"memory_gb": 4, "speed": 1.5}},
                "tables": [
                    {"row": 1000, "dim": 64, "pooling_factor": 2, "rules": {"devices": [1]}},
                    {"row": 1000, "dim": 64, "pooling_factor": 2, "rules": {"no_split": True, "not_devices": [0, 1]}},
                ],
            }
        )
    )
    task = ns.load_task(file)
    assert (task.devices, task.memory_bytes) == (3, 4 * GIB)
    assert task.reserved_bytes == [GIB, 2 * GIB, 2 * GIB]
    assert task.room_bytes == [3 * GIB // 4, 2 * GIB, 2 * GIB]
    assert "3 devices of 2.00 GiB to 4.00 GiB and of speeds 1.00 to 1.50" in repr(task)
    assert task.device_list == [
        ns.Device(2 * GIB, base_ms=1.5, base_bytes=GIB // 4),
        ns.Device(4 * GIB, speed=1.5),
        ns.Device(4 * GIB, speed=1.5),
    ]
    cost = ns.plan(task).cost
    assert cost is not None
    assert cost.dim_sum.tolist() == [0, 64, 64]
    assert cost.base_ms.tolist() == [1.5, 0.0, 0.0]
    assert cost.speed.tolist() == [1.0, 1.5, 1.5]
    assert cost.base_bytes.tolist() == [GIB // 4, 0, 0]
    assert (cost.memory_bytes + cost.reserved_bytes + cost.base_bytes + cost.free_bytes).tolist() == [
        2 * GIB,
        4 * GIB,
        4 * GIB,
    ]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"rows": 0}, "table item.*: row is 0; a table has between 1 and 2.40 rows"),
        ({"popularity": math.nan}, "popularity: zipf_exponent is nan"),
        ({"dim": 30}, "multiple of 4"),
        ({"pooling_factor": math.nan}, "pooling_factor is nan"),
        ({"access_histogram": [-1.0] + [0.0] * 16}, "bin_0 is -1"),
        ({"access_histogram": [0.5] * 17}, "bin_16 add up to 8.5"),
        ({"row_shares": [0.5, 0.25]}, "row_shares add up to 0.75"),
        ({"replica_gradients": "sparse"}, "use one of dense, touched"),
        ({"features": 0.0}, "features is 0; give a number above 0"),
        ({"pooling": "max"}, "use one of sum, mean, none"),
        ({"pooling": "none", "weighted": True}, "weighted is true, but nothing is pooled"),
    ],
)
def test_a_wrong_table_is_an_error(arguments: dict[str, object], text: str) -> None:
    given: dict[str, object] = {"rows": 10, "dim": 16, "pooling_factor": 1.0, "name": "item\n", **arguments}
    with pytest.raises(ns.Error, match=text) as raised:
        ns.Table(**given)  # type: ignore[arg-type]
    assert raised.value.kind == "invalid_input"
    assert "\n" not in str(raised.value)


def test_row_shares_decide_what_a_block_is_looked_up() -> None:
    table = ns.Table(1000, 16, 4.0, row_shares=[0.75, 0.25])
    assert table.row_shares == [0.75, 0.25]
    assert ns.Table(1000, 16, 4.0).row_shares == []
    task = ns.Task([table], 2, GIB, batch_size=1024)
    slices = [ns.TableSlice(0, 0, 16, 0, 500), ns.TableSlice(0, 0, 16, 500, 500)]
    cost = ns.Planner().simulate(task, ns.Plan(slices, [[0], [1]]))
    ids_and_outputs = cost.buffer_bytes.tolist()
    assert ids_and_outputs == [1024 * (3 * 8 + 16 * 4), 1024 * (8 + 16 * 4)]


def test_each_feature_of_a_table_has_an_output() -> None:
    one, shared = ns.Table(1000, 64, 6.0), ns.Table(1000, 64, 6.0, features=3)
    assert (one.features, shared.features) == (1.0, 3.0)
    costs = []
    for table in (one, shared):
        task = ns.Task([table], devices=2, memory_bytes=GIB, batch_size=65536)
        costs.append(ns.simulate(task, ns.plan_from_slices(task, [(0, 0, 0, 64)])))
    assert [cost.dim_sum.tolist() for cost in costs] == [[64, 0], [3 * 64, 0]]
    assert costs[1].buffer_bytes[0] - costs[0].buffer_bytes[0] == 2 * 65536 * 64 * 4
    assert costs[1].cost_ms > costs[0].cost_ms


def test_what_is_not_pooled_has_an_output_of_each_lookup() -> None:
    tables = [ns.Table(1000, 64, 6.0, pooling=pooling) for pooling in ("sum", "mean", "none")]
    assert [table.pooling for table in tables] == ["sum", "mean", "none"]
    weighted = ns.Table(1000, 64, 6.0, weighted=True)
    assert (weighted.pooling, weighted.weighted, tables[0].weighted) == ("sum", True, False)
    costs = []
    for table in [*tables, weighted]:
        task = ns.Task([table], devices=2, memory_bytes=16 * GIB, batch_size=65536)
        costs.append(ns.simulate(task, ns.plan_from_slices(task, [(0, 0, 0, 64)])))
    sums, means, sequences, by_weights = costs
    assert [int(cost.dim_sum[0]) for cost in costs] == [64, 64, 6 * 64, 64]
    assert sequences.buffer_bytes[0] - sums.buffer_bytes[0] == 5 * 65536 * 64 * 4
    assert by_weights.buffer_bytes[0] - sums.buffer_bytes[0] == 6 * 65536 * 4
    assert sums.cost_ms < means.cost_ms < sequences.cost_ms
    assert sums.cost_ms < by_weights.cost_ms and sums.ids_ms[0] < by_weights.ids_ms[0]


def test_deduplicated_ids_count() -> None:
    once = ns.ExchangeTypes(deduplicate_ids=True)
    assert once.deduplicate_ids and once != ns.ExchangeTypes()
    assert repr(once) == "ExchangeTypes(deduplicate_ids)"
    for pooling, cheaper in (("none", True), ("sum", False)):
        tables = [ns.Table(1_000_000, 64, 100.0, name=str(i), pooling=pooling) for i in range(8)]
        usual, deduplicated = (ns.Task(tables, 8, 40 * GIB, batch_size=4096, exchange=e) for e in (None, once))
        plan = ns.plan(usual).plan
        assert plan is not None
        costs = [ns.simulate(task, plan) for task in (usual, deduplicated)]
        assert (costs[1].cost_ms < 0.9 * costs[0].cost_ms) == cheaper
        assert ("makes no difference" in (costs[1].warning or "")) == (not cheaper)
        planned = ns.plan(deduplicated).cost
        assert planned is not None and planned.cost_ms <= 1.01 * costs[1].cost_ms
        priced = [ns.analytic_cost(task, plan).cost_ms for task in (usual, deduplicated)]
        assert (priced[1] < 0.9 * priced[0]) == cheaper


def test_plans_deduplicate_single_tables() -> None:
    exchange = ns.ExchangeTypes(deduplicate_by_table=True)
    assert exchange.deduplicate_by_table and not exchange.deduplicate_ids
    tables = [ns.Table(1_000_000, 64, 100.0, name=str(i), pooling="none") for i in range(8)]
    usual, chosen = (ns.Task(tables, 8, 40 * GIB, batch_size=65536, exchange=e) for e in (None, exchange))
    found = ns.plan(chosen)
    assert found.plan is not None and found.cost is not None
    assert found.plan.deduplicated == list(range(8))
    plan = ns.Plan(found.plan.slices, found.plan.shards, deduplicated=found.plan.deduplicated)
    assert plan == found.plan and ns.simulate(chosen, plan).cost_ms == found.cost.cost_ms
    with pytest.raises(ns.Error, match="does not say deduplicate_by_table"):
        ns.simulate(usual, plan)


def test_plans_keep_hot_rows_on_every_device() -> None:
    exchange = ns.ExchangeTypes(hot_rows=True)
    assert exchange.hot_rows and not exchange.deduplicate_ids
    tables = [ns.Table(20_000_000, 64, 100.0, name=str(i), pooling="none") for i in range(4)]
    usual, chosen = (ns.Task(tables, 16, 40 * GIB, batch_size=65536, exchange=e) for e in (None, exchange))
    found = ns.plan(chosen)
    before = ns.plan(usual)
    assert found.plan is not None and found.cost is not None and before.cost is not None
    assert [table for table, _ in found.plan.hot_rows] == [0, 1, 2, 3]
    assert found.cost.cost_ms < 0.8 * before.cost.cost_ms
    plan = ns.Plan(found.plan.slices, found.plan.shards, hot_rows=found.plan.hot_rows)
    assert plan == found.plan and ns.simulate(chosen, plan).cost_ms == found.cost.cost_ms
    with pytest.raises(ns.Error, match="does not say hot_rows"):
        ns.simulate(usual, plan)
    tiers = ns.plan(chosen, algorithm="flexshard")
    assert tiers.plan is not None and len(tiers.plan.hot_rows) == 4
    stays = ns.replan(chosen, chosen, found.plan, move_budget_bytes=0)
    assert stays.result.plan is not None and len(stays.result.plan.hot_rows) == 4
    assert stays.moves == []
    assert before.plan is not None
    near = ns.replan(chosen, usual, before.plan, move_budget_bytes=4 * GIB)
    assert near.result.plan is not None and len(near.result.plan.hot_rows) == 4
    assert sum(move.bytes for move in near.moves) == near.moved_bytes > 0


def test_plans_keep_rows_once_on_each_node() -> None:
    with pytest.raises(ns.Error, match="hot_rows_by_node is said without hot_rows"):
        ns.ExchangeTypes(hot_rows_by_node=True)
    exchange = ns.ExchangeTypes(deduplicate_ids=True, hot_rows=True, hot_rows_by_node=True)
    assert exchange.hot_rows_by_node
    tables = [ns.Table(20_000_000, 256, 100.0, name=str(i), pooling="none") for i in range(3)]
    task = ns.Task(tables, 16, 80 * GIB, batch_size=65536, exchange=exchange)
    found = ns.plan(task)
    assert found.plan is not None and found.cost is not None and found.plan.node_rows
    plan = ns.Plan(
        found.plan.slices, found.plan.shards, hot_rows=found.plan.hot_rows, node_rows=found.plan.node_rows
    )
    assert plan == found.plan and ns.simulate(task, plan).cost_ms == found.cost.cost_ms
    mixed = ns.Plan([], [[]], hot_rows=[(1, 5)], node_rows=[(0, 7), (1, 9)])
    assert mixed.hot_rows == [(1, 5)] and mixed.node_rows == [(0, 7), (1, 9)]
    assert [table for table, _ in found.plan.hot_rows] == sorted(table for table, _ in found.plan.hot_rows)


def test_replicas_may_gather_touched_rows() -> None:
    def cost_of(replica_gradients: str) -> float:
        table = ns.Table(1_000_000, 16, 0.01, replica_gradients=replica_gradients)
        assert table.replica_gradients == replica_gradients
        task = ns.Task([table], 4, GIB, batch_size=1024)
        return float(ns.Planner().simulate(task, ns.Plan([], [[], [], [], []], [0])).all_reduce_ms[0])

    assert ns.Table(10, 16, 1.0).replica_gradients == "dense"
    assert cost_of("touched") < cost_of("dense")


def test_a_histogram_of_another_length_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        ns.Table(10, 16, 1.0, access_histogram=[1.0])


def test_memory_is_what_weights_optimizer_and_buffers_take() -> None:
    table = ns.Table(1000, 64, 2.0, weight_type="int8", optimizer="rowwise_adagrad")
    assert (table.weight_type, table.optimizer) == ("int8", "rowwise_adagrad")
    assert table.size_bytes == 1000 * (64 + 8 + 4)
    task = ns.Task([table] * 2, 2, GIB, reserved_bytes=1000, reserved_share=0.25, batch_size=2000)
    assert task.reserved_bytes == [GIB // 4 + 1000] * 2
    assert task.room_bytes == [GIB - GIB // 4 - 1000] * 2
    cost = ns.Planner(cuts="columns").plan(task).cost
    assert cost is not None
    assert cost.weight_bytes.sum() == 2 * 1000 * (64 + 8)
    assert cost.optimizer_bytes.sum() == 2 * 1000 * 4
    assert cost.buffer_bytes.sum() == 2 * 2000 * (2 * 8 + 64 * 4)
    assert (cost.memory_bytes + cost.reserved_bytes + cost.free_bytes == GIB).all()
    assert cost.warning == ""
    wide = ns.Task([ns.Table(1000, 64, 2.0)] * 2, 2, GIB, batch_size=2000)
    assert cost.cost_ms < ns.Planner(cuts="columns").plan(wide).cost.cost_ms  # type: ignore[union-attr]
    assert task.tables[0].size_bytes == table.size_bytes + 2000 * (2 * 8 + 64 * 4)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"weight_type": "fp8"}, "use one of fp32, fp16, bf16, int8"),
        ({"optimizer": "adagard"}, "did you mean 'adagrad'"),
    ],
)
def test_types_and_optimizers_have_names(arguments: dict[str, str], text: str) -> None:
    with pytest.raises(ns.Error, match=text):
        ns.Table(10, 16, 1.0, **arguments)  # type: ignore[arg-type]


def test_devices_have_memory_of_their_own() -> None:
    tables = [ns.Table(1_000_000, 64, 1.0) for _ in range(3)]
    task = ns.Task(tables, 2, [GIB, GIB // 3])
    assert task.room_bytes == [GIB, GIB // 3]
    result = ns.plan(task)
    assert result.cost is not None and (result.cost.free_bytes >= 0).all()
    for wrong, text in (([], "empty list"), ([GIB], "1 device is listed"), ([GIB, 0], "device 1")):
        with pytest.raises(ns.Error, match=text):
            ns.Task(tables, 2, wrong)


def test_devices_may_be_listed() -> None:
    tables = [ns.Table(1_000_000, 64, 100.0) for _ in range(8)]
    devices = [ns.Device(GIB), ns.Device(GIB, speed=4.0), ns.Device(GIB, base_ms=4.0, base_bytes=GIB // 2)]
    task = ns.Task(tables, devices)
    assert (task.devices, task.memory_bytes, task.device_list) == (3, GIB, devices)
    assert task.room_bytes == [GIB, GIB, GIB // 2]
    assert ns.Task(tables, 3, GIB).device_list == []
    assert repr(devices[1]) == "Device(1.00 GiB, speed 4.00)"
    assert devices[0] != devices[1] and devices[0] == ns.Device(GIB)
    result = ns.plan(task)
    assert result.cost is not None and result.plan is not None
    assert result.cost.dim_sum[1] > result.cost.dim_sum[0] > result.cost.dim_sum[2]
    equal = ns.simulate(ns.Task(tables, 3, GIB), result.plan)
    assert np.allclose(equal.compute_ms / [1.0, 4.0, 1.0] + [0.0, 0.0, 4.0], result.cost.compute_ms, rtol=1e-6)


@pytest.mark.parametrize(
    ("devices", "memory_bytes", "text"),
    [
        ([], None, "devices is an empty list"),
        ([ns.Device(GIB)], GIB, "leave memory_bytes out"),
        (2, None, "give memory_bytes="),
        ([ns.Device(GIB), ns.Device(GIB, speed=0.0)], None, "device 1: speed is 0"),
        ([ns.Device(0)], None, "device 0: memory is 0 bytes"),
        ([ns.Device(GIB, base_ms=-1.0)], None, "device 0: base_ms is -1"),
        ([ns.Device(GIB, base_bytes=GIB + 1)], None, "device 0: the base load takes"),
    ],
)
def test_wrong_devices_are_errors(devices: int | list[ns.Device], memory_bytes: int | None, text: str) -> None:
    with pytest.raises(ns.Error, match=text):
        ns.Task([ns.Table(10, 16, 1.0)], devices, memory_bytes)


def test_rules_are_kept() -> None:
    whole = ns.TableRules(no_split=True, devices=[1])
    assert whole == ns.TableRules(no_split=True, devices=[1]) != ns.TableRules()
    rules = [whole, None]
    task = ns.Task([ns.Table(10_000_000, 64, 200.0, rules=of_table) for of_table in rules], 4, 4 * GIB)
    assert task.tables[0].rules == whole and task.tables[1].rules == ns.TableRules()
    result = ns.plan(task)
    assert result.plan is not None
    placed = [(device, piece) for device, of_device in enumerate(result.slices_by_device()) for piece in of_device]
    assert [(device, piece.dim) for device, piece in placed if piece.table == 0] == [(1, 64)]
    # A quarter of the columns fits on each device, a half does not.
    for width, found in ((16, True), (32, False)):
        table = ns.Table(10_000_000, 64, 1.0, rules=ns.TableRules(min_width=width))
        assert (ns.plan(ns.Task([table], 4, GIB * 2 // 3), cuts="columns").plan is not None) == found
    # A table of fewer columns stays whole.
    narrow = ns.Task([ns.Table(10, 64, 1.0, rules=ns.TableRules(min_width=128))], 2, GIB)
    shards = ns.plan(narrow, cuts="columns").slices_by_device()
    assert [piece.dim for of_device in shards for piece in of_device] == [64]


def test_groups_are_kept() -> None:
    tables = [ns.Table(100_000, 64, 5.0, name=name) for name in "abcd"]
    together = ns.TableGroup([0, 3], "together", name="user")
    groups = [together, ns.TableGroup([1, 2], keep="apart")]
    assert together == ns.TableGroup([0, 3], "together", name="user") != groups[1]
    task = ns.Task(tables, 2, GIB, groups=groups)
    assert task.groups == groups and task.groups[0].keep == "together" and task.groups[0].name == "user"
    result = ns.plan(task)
    assert result.plan is not None and ns.check(task, result.plan) == []
    by_device = list(enumerate(result.slices_by_device()))
    holders = [{device for device, pieces in by_device if any(piece.table == t for piece in pieces)} for t in range(4)]
    assert holders[0] == holders[3] and len(holders[0]) == 1
    assert not holders[1] & holders[2]
    assert ns.plan(ns.Task(tables, 2, GIB, groups=[ns.TableGroup([0, 1, 2], "apart")])).plan is None
    with pytest.raises(ns.Error, match="names table 4"):
        ns.Task(tables, 2, GIB, groups=[ns.TableGroup([0, 4], "apart")])
    with pytest.raises(ns.Error, match="did you mean 'apart'"):
        ns.TableGroup([0, 1], "appart")


def test_something_must_not_be_reserved() -> None:
    for reserved in ({"reserved_share": 1.0}, {"reserved_share": -0.5}, {"reserved_bytes": GIB}, {"batch_size": -1}):
        with pytest.raises(ns.Error):
            ns.Task([ns.Table(10, 16, 1.0)], 2, GIB, **reserved)


def test_a_wrong_task_is_an_error() -> None:
    tables = [ns.Table(10, 16, 1.0)]
    for wrong in (([], 2, GIB), (tables, 0, GIB), (tables, 20000, GIB), (tables, 2, 0)):
        with pytest.raises(ns.Error):
            ns.Task(*wrong)


def test_tasks_are_not_changed_by_what_is_done_to_their_tables() -> None:
    task = random_task(1)
    tables = task.tables
    tables.clear()
    assert len(task) == len(task.tables) == 12
    with pytest.raises(AttributeError):
        task.devices = 3  # type: ignore[misc]


def test_task_files(tmp_path: Path) -> None:
    document = {
        "format": "neuroshard.task",
        "version": 1,
        "name": "small",
        "notes": "rows are guessed",
        "devices": 2,
        "memory_gb": 1,
        "tables": [{"name": "a", "row": 100, "dim": 8, "pooling_factor": 1}],
    }
    path = tmp_path / "task.json"
    path.write_text(json.dumps(document))
    for task in (ns.load_task(path), ns.load_task(str(path)), ns.parse_task(json.dumps(document))):
        assert (task.name, task.devices, task.memory_bytes, len(task)) == ("small", 2, GIB, 1)
        assert "rows are guessed" in task.notes and len(task.notes) == 2
    assert ns.load_task(path, devices=7, memory_bytes=12345678).devices == 7
    del document["devices"]
    with pytest.raises(ns.Error, match="devices="):
        ns.parse_task(json.dumps(document))
    with pytest.raises(ns.Error) as raised:
        ns.load_task(tmp_path / "absent.json")
    assert raised.value.kind == "io"


def test_links_of_nodes_count() -> None:
    tables = [ns.Table(50_000_000, 64, 20.0, name=str(i)) for i in range(12)]
    links = ns.NodeLinks(node_gb_s=5)
    assert links == ns.NodeLinks(node_gb_s=5.0) and repr(links) == "NodeLinks(node 5.0 GB/s)"
    task = ns.Task(tables, 16, 40 * GIB, links=links)
    assert task.links == links and ns.Task(tables, 16, GIB).links is None
    plan = ns.plan(task).plan
    assert plan is not None
    anywhere = ns.Task(tables, 16, 40 * GIB)
    assert ns.simulate(task, plan).cost_ms > 2 * ns.simulate(anywhere, plan).cost_ms
    priced = ns.analytic_cost(task, plan).cost_ms
    assert priced == pytest.approx(ns.simulate(task, plan).cost_ms, rel=0.05)
    with pytest.raises(ns.Error, match="links: node_gb_s is -1;"):
        ns.Task(tables, 16, GIB, links=ns.NodeLinks(node_gb_s=-1))


def test_levels_of_links_count() -> None:
    tables = [ns.Table(50_000_000, 64, 20.0, name=str(i)) for i in range(12)]
    links = ns.NodeLinks(levels=[(16, 3.0)])
    assert links.levels == [(16, 3.0)] and repr(links) == "NodeLinks(beyond 16 devices 3.0 GB/s)"
    task = ns.Task(tables, 32, 40 * GIB, links=links)
    anywhere = ns.Task(tables, 32, 40 * GIB)
    plan = ns.plan(anywhere).plan
    assert plan is not None
    assert ns.simulate(task, plan).cost_ms > 2 * ns.simulate(anywhere, plan).cost_ms
    with pytest.raises(ns.Error, match="links: level 0: devices is 12;"):
        ns.Task(tables, 32, GIB, links=ns.NodeLinks(levels=[(12, 3.0)]))


def test_types_on_the_wire_count() -> None:
    tables = [ns.Table(50_000_000, 64, 20.0, name=str(i)) for i in range(12)]
    exchange = ns.ExchangeTypes(forward="fp16", backward="bf16", ids="int32")
    assert exchange == ns.ExchangeTypes(forward="fp16", backward="bf16", ids="int32") != ns.ExchangeTypes()
    assert repr(exchange) == "ExchangeTypes(forward fp16, backward bf16, ids int32)"
    assert (exchange.forward, exchange.backward, exchange.ids) == ("fp16", "bf16", "int32")
    assert (exchange.forward_share, ns.ExchangeTypes(backward_share=0.05).backward_share) == (1.0, 0.05)
    task = ns.Task(tables, 16, 40 * GIB, exchange=exchange)
    usual = ns.Task(tables, 16, 40 * GIB)
    assert task.exchange == exchange and usual.exchange == ns.ExchangeTypes()
    plan = ns.plan(task).plan
    assert plan is not None
    assert ns.simulate(task, plan).cost_ms < ns.simulate(usual, plan).cost_ms
    priced = ns.analytic_cost(task, plan).cost_ms
    assert priced == pytest.approx(ns.simulate(task, plan).cost_ms, rel=0.05)
    with pytest.raises(ns.Error, match="there is no type on the wire 'int8'; .*use one of fp32, fp16, bf16, fp8"):
        ns.ExchangeTypes(forward="int8")
    with pytest.raises(ns.Error, match="exchange: forward_share is 0; give the share of the bytes"):
        ns.ExchangeTypes(forward_share=0)


def test_what_runs_beside_what_counts() -> None:
    tables = [ns.Table(5_000_000, 32, 40.0, name=str(i)) for i in range(12)]
    overlap = ns.Overlap(ids=True, dense_ms=2.0, host_ms=0.5)
    assert overlap == ns.Overlap(ids=True, dense_ms=2.0, host_ms=0.5) != ns.Overlap()
    assert repr(overlap) == "Overlap(ids, dense_ms 2, host_ms 0.5)"
    assert (overlap.ids, overlap.dense_beside_outputs_ms, overlap.dense_beside_gradients_ms) == (True, 0.0, 0.0)
    task = ns.Task(tables, 16, 40 * GIB, overlap=overlap)
    usual = ns.Task(tables, 16, 40 * GIB)
    assert task.overlap == overlap and usual.overlap == ns.Overlap()
    plan = ns.plan(task).plan
    assert plan is not None
    cost, plain = ns.simulate(task, plan), ns.simulate(usual, plan)
    assert list(cost.dense_ms) == [2.0] * 16 and list(plain.dense_ms) == [0.0] * 16
    assert (cost.hidden_ms > 0).all() and (plain.hidden_ms == 0).all() and not cost.set_by_host
    rest = plain.total_ms - plain.ids_ms + 2.0
    assert cost.total_ms == pytest.approx([max(ms, ids) for ms, ids in zip(rest, plain.ids_ms)])
    assert cost.cost_ms == max(cost.total_ms)
    priced = ns.analytic_cost(task, plan)
    assert (priced.hidden_ms > 0).all() and priced.cost_ms == pytest.approx(cost.cost_ms, rel=0.1)
    by_host = ns.simulate(ns.Task(tables, 16, 40 * GIB, overlap=ns.Overlap(host_ms=1000)), plan)
    assert by_host.cost_ms == 1000.0 and by_host.set_by_host and "set by the host" in repr(by_host)
    assert '"set_by": "host"' in by_host.to_json()
    with pytest.raises(ns.Error, match="overlap: dense_ms is -1; give milliseconds of an iteration, 0 to 1e6"):
        ns.Overlap(dense_ms=-1)


def test_rows_wait_in_host_memory() -> None:
    curve = [(10_000.0, 0.5), (4_000_000.0, 1.0)]
    tables = [
        ns.Table(4_000_000, 64, 8.0, popularity=curve),
        ns.Table(4_000_000, 64, 8.0, popularity=1.2),
        ns.Table(1_000, 64, 8.0, rules=ns.TableRules(keep_in_hbm=True)),
        ns.Table(4_000_000, 64, 8.0),
    ]
    assert tables[0].popularity == curve and len(tables[1].popularity) > 10 and tables[3].popularity == []
    assert tables[2].rules.keep_in_hbm and not tables[0].rules.keep_in_hbm
    host = ns.HostMemory(8 * GIB, 25.0, policy="static")
    assert host == ns.HostMemory(8 * GIB, 25.0, policy="static") != ns.HostMemory(8 * GIB, 25.0, prefetch=True)
    assert (host.bytes, host.link_gb_s, host.policy, host.prefetch) == (8 * GIB, 25.0, "static", False)
    assert repr(host) == "HostMemory(8.00 GiB for each device at 25 GB/s, static)"
    task = ns.Task(tables, 2, GIB // 2, host_memory=host)
    assert task.host_memory == host and ns.Task(tables, 2, GIB).host_memory is None
    result = ns.plan(task, effort="fast")
    assert result.plan is not None and result.cost is not None and ns.check(task, result.plan) == []
    cost = result.cost
    assert (cost.fetch_ms > 0).any() and (cost.host_bytes > 0).any() and (cost.hidden_fetch_ms == 0).all()
    assert (cost.memory_bytes <= GIB // 2).all() and (cost.compute_ms >= cost.fetch_ms).all()
    assert len(cost.hbm_shares) == len(result.plan.slices) and 0 <= min(cost.hbm_shares) < 1
    behind = ns.simulate(ns.Task(tables, 2, GIB // 2, host_memory=ns.HostMemory(8 * GIB, 25.0, policy="static", prefetch=True)), result.plan)
    assert (behind.hidden_fetch_ms > 0).any() and behind.cost_ms < cost.cost_ms
    assert ns.plan(ns.Task(tables, 2, GIB // 2)).infeasible is not None
    assert cost.ssd_shares == [] and set(ns._core.ssd_shares(task, result.plan)) == {0.0}
    small = ns.HostMemory(GIB, 25.0, of_node=True, ssd_bytes=8 * GIB, ssd_gb_s=2.0)
    assert (small.of_node, small.ssd_bytes, small.ssd_gb_s) == (True, 8 * GIB, 2.0)
    assert repr(small) == "HostMemory(1.00 GiB for each node at 25 GB/s, lru, 8.00 GiB of SSD at 2 GB/s)"
    beside = ns.plan(ns.Task(tables, 2, GIB // 2, host_memory=small), effort="fast")
    assert beside.plan is not None and beside.cost is not None and (beside.cost.ssd_bytes > 0).any()
    assert (beside.cost.fetch_ms > beside.cost.ssd_ms).all() and (beside.cost.ssd_ms > 0).any()
    assert beside.task is not None and beside.cost.ssd_shares == ns._core.ssd_shares(beside.task, beside.plan)
    other = ns.Device(GIB // 2, host_bytes=2 * GIB, host_link_gb_s=50.0, ssd_bytes=4 * GIB, ssd_gb_s=3.0)
    assert (other.host_bytes, other.host_link_gb_s, other.ssd_bytes, other.ssd_gb_s) == (2 * GIB, 50.0, 4 * GIB, 3.0)
    assert repr(other) == "Device(512 MiB, host 2.00 GiB at 50 GB/s, SSD 4.00 GiB at 3 GB/s)"
    mixed = ns.plan(ns.Task(tables, [ns.Device(GIB // 2), other], host_memory=ns.HostMemory(GIB, 25.0, ssd_bytes=8 * GIB, ssd_gb_s=2.0)), effort="fast")
    assert mixed.cost is not None and mixed.cost.cost_ms < beside.cost.cost_ms
    with pytest.raises(ns.Error, match="device 1: its host memory is stated, but none of the task"):
        ns.Task(tables, [ns.Device(GIB), other])
    tables[0] = ns.Table(4_000_000, 64, 8.0, popularity=curve, rules=ns.TableRules(hbm_share=0.05))
    found = ns.plan(ns.Task(tables, 2, 4 * GIB, host_memory=host), effort="fast")
    assert found.plan is not None and found.cost is not None and found.cost.fetch_ms.sum() > 0
    for piece, share in zip(found.plan.slices, found.cost.hbm_shares):
        assert share == (pytest.approx(0.05, abs=1e-4) if piece.table == 0 else 1.0)
    with pytest.raises(ns.Error, match="the rule hbm_share lets rows wait in host memory, but the task states none"):
        ns.Task(tables, 2, GIB)
    with pytest.raises(ns.Error, match="host memory: link_gb_s is 0; give the GB/s"):
        ns.HostMemory(GIB, 0.0)
    with pytest.raises(ns.Error, match="host memory: ssd_gb_s is 0; give the GB/s"):
        ns.HostMemory(GIB, 1.0, ssd_bytes=GIB)
    for rate in (5.0, -1.0, math.nan):
        with pytest.raises(ns.Error, match="host memory: ssd_gb_s is stated, but no ssd_bytes; give both"):
            ns.HostMemory(GIB, 1.0, ssd_gb_s=rate)
    with pytest.raises(ns.Error, match="host memory: bytes is -1; give 0 to 2.60 bytes"):
        ns.HostMemory(-1, 1.0)
    with pytest.raises(ns.Error, match="host memory: ssd_bytes is -2; give 0 to 2.60 bytes"):
        ns.HostMemory(GIB, 1.0, ssd_bytes=-2)
    with pytest.raises(ns.Error, match="hottest rows first"):
        ns.Table(1_000, 64, 8.0, popularity=[(10.0, 0.1), (20.0, 1.0)])


def test_rules_say_in_which_ways_tables_are_sharded() -> None:
    kinds = [["row"], ["table_row"], ["replicate"], ["table"], []]
    tables = [
        ns.Table(100_000, 32, 2.0, rules=ns.TableRules(kinds=of_table), name=str(of_table)) for of_table in kinds
    ]
    assert [table.rules.kinds for table in tables] == kinds
    task = ns.Task(tables, 4, GIB, devices_per_node=2)
    assert task.devices_per_node == 2 and ns.Task(tables, 4, GIB).devices_per_node == 8
    result = ns.plan(task, cuts="torchrec")
    assert result.plan is not None and ns.check(task, result.plan) == []
    devices: list[list[int]] = [[] for _ in kinds]
    for device, shard in enumerate(result.plan.shards):
        for index in shard:
            devices[result.plan.slices[index].table].append(device)
    assert devices[0] == [0, 1, 2, 3]
    assert devices[1] in ([0, 1], [2, 3])
    assert 2 in result.plan.replicas and devices[2] == []
    assert len(devices[3]) == 1
    by_columns = ns.plan(task, cuts="columns")
    assert by_columns.infeasible is not None and "allow cuts any" in by_columns.infeasible.message
    with pytest.raises(ns.Error, match="there is no kind of sharding 'rows'; did you mean 'row'"):
        ns.TableRules(kinds=["rows"])
    with pytest.raises(ns.Error, match="no_split and kinds contradict each other"):
        ns.Task([ns.Table(1000, 32, 2.0, rules=ns.TableRules(no_split=True, kinds=["row"]))], 4, GIB)
    with pytest.raises(ns.Error, match="devices_per_node is 0"):
        ns.Task(tables, 4, GIB, devices_per_node=0)
