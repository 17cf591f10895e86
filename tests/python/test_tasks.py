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
                "devices": [{"memory_gb": 2, "base_ms": 1.5, "base_gb": 0.25}, {"count": 2, "memory_gb": 4}],
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
    assert "3 devices of 2.00 GiB to 4.00 GiB" in repr(task)
    cost = ns.plan(task).cost
    assert cost is not None
    assert cost.dim_sum.tolist() == [0, 64, 64]
    assert cost.base_ms.tolist() == [1.5, 0.0, 0.0]
    assert cost.base_bytes.tolist() == [GIB // 4, 0, 0]
    assert (cost.memory_bytes + cost.reserved_bytes + cost.base_bytes + cost.free_bytes).tolist() == [
        2 * GIB,
        4 * GIB,
        4 * GIB,
    ]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"rows": 0}, "row"),
        ({"dim": 30}, "multiple of 4"),
        ({"pooling_factor": math.nan}, "pooling_factor is nan"),
        ({"access_histogram": [-1.0] + [0.0] * 16}, "bin_0 is -1"),
    ],
)
def test_a_wrong_table_is_an_error(arguments: dict[str, object], text: str) -> None:
    given: dict[str, object] = {"rows": 10, "dim": 16, "pooling_factor": 1.0, "name": "item\n", **arguments}
    with pytest.raises(ns.Error, match=text) as raised:
        ns.Table(**given)  # type: ignore[arg-type]
    assert raised.value.kind == "invalid_input"
    assert "\n" not in str(raised.value)


def test_a_histogram_of_another_length_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        ns.Table(10, 16, 1.0, access_histogram=[1.0])


def test_memory_is_what_weights_optimizer_and_buffers_take() -> None:
    table = ns.Table(1000, 64, 2.0, weight_type="int8", optimizer="rowwise_adagrad")
    assert (table.weight_type, table.optimizer) == ("int8", "rowwise_adagrad")
    assert table.size_bytes == 1000 * (64 + 8 + 4)
    task = ns.Task([table] * 2, 2, GIB, reserved_bytes=1000, reserved_share=0.25, batch_size=100)
    assert task.reserved_bytes == [GIB // 4 + 1000] * 2
    assert task.room_bytes == [GIB - GIB // 4 - 1000] * 2
    cost = ns.plan(task).cost
    assert cost is not None
    assert cost.weight_bytes.sum() == 2 * 1000 * (64 + 8)
    assert cost.optimizer_bytes.sum() == 2 * 1000 * 4
    assert cost.buffer_bytes.sum() == 2 * 100 * (2 * 8 + 64 * 4)
    assert (cost.memory_bytes + cost.reserved_bytes + cost.free_bytes == GIB).all()
    assert "int8" in cost.warning
    assert task.tables[0].size_bytes == table.size_bytes + 100 * (2 * 8 + 64 * 4)


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


def test_something_must_not_be_reserved() -> None:
    for reserved in ({"reserved_share": 1.0}, {"reserved_share": -0.5}, {"reserved_bytes": GIB}, {"batch_size": -1}):
        with pytest.raises(ns.Error):
            ns.Task([ns.Table(10, 16, 1.0)], 2, GIB, **reserved)


def test_a_wrong_task_is_an_error() -> None:
    tables = [ns.Table(10, 16, 1.0)]
    for wrong in (([], 2, GIB), (tables, 0, GIB), (tables, 5000, GIB), (tables, 2, 0)):
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
