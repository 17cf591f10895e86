#!/usr/bin/env python3
"""Samples, like those of `neuroshard collect compute`, of devices of plans that a search with given cost models finds.

    plan_samples.py table_configs.json data/plans --weights like_torchrec.safetensors --devices 8

A search goes where its models err in its favour, such as to devices whose tables are all alike, and samples that are
drawn are seldom there. So: train, plan, give the samples the costs of the estimator (price_samples.py), train again.
Their costs here are those that the models predict. Tasks are drawn from TABLE_CONFIGS; every second one has all tables.
Needs the Python package."""

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import neuroshard

# Tables of these dims are drawn for a batch of so many samples, as `neuroshard collect` does.
SAMPLES = 65536
DIMS = (4, 8, 16, 32, 64, 128)


def tables_of(configs: list[dict[str, Any]]) -> list[neuroshard.Table]:
    """Tables as the library reads them, whatever batch their bins are of. Tables that state no dim have 4 columns."""
    task = {"format": "neuroshard.task", "version": 1, "tables": [{"dim": 4, **config} for config in configs]}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "task.json"
        path.write_text(json.dumps(task))
        return list(neuroshard.load_task(path, devices=1, memory_bytes=1 << 60).tables)


def table_of(table: neuroshard.Table, dim: int) -> neuroshard.Table:
    return neuroshard.Table(table.rows, dim, table.pooling_factor, access_histogram=table.access_histogram)


def drawn_tasks(
    configs: list[dict[str, Any]], whole: list[neuroshard.Table], options: argparse.Namespace
) -> Iterator[tuple[neuroshard.Task, list[int]]]:
    """Tasks, and which of `configs`, and of `whole`, their tables are. Tables have the dim that they state, or else all
    of a task the widest or each one of its own."""
    draw = random.Random(options.seed)
    for number in range(options.tasks):
        most = min(len(configs), options.max_tables)
        chosen = sorted(draw.sample(range(len(configs)), most if number % 2 == 0 else draw.randint(1, most)))
        widest = draw.random() < 0.5
        dims = [configs[i].get("dim", DIMS[-1] if widest else draw.choice(DIMS)) for i in chosen]
        tables = [table_of(whole[i], dim) for i, dim in zip(chosen, dims)]
        yield neuroshard.Task(
            tables,
            options.devices,
            neuroshard.bytes_from_gib(options.memory_gb),
            devices_per_node=options.devices_per_node,
        ), chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table_configs", type=Path, help="tables to draw tasks from")
    parser.add_argument("output", type=Path, help="folder to write")
    parser.add_argument("--weights", type=Path, required=True, help="cost models of the search")
    parser.add_argument("--devices", type=int, required=True)
    parser.add_argument("--devices-per-node", type=int, default=8)
    parser.add_argument("--tasks", type=int, default=100, help="number of tasks to plan")
    parser.add_argument("--max-tables", type=int, default=1000, help="most tables of a task")
    parser.add_argument("--memory-gb", type=float, default=160.0, help="GiB of a device")
    parser.add_argument("--effort", default="default", help="effort of the search")
    parser.add_argument("--threads", type=int, default=0, help="threads of the search; 0: one per core")
    parser.add_argument("--seed", type=int, default=0, help="decides what is drawn")
    options = parser.parse_args()
    configs = json.loads(options.table_configs.read_text())
    if not configs:
        sys.exit(f"plan_samples.py: {options.table_configs}: has no tables")
    tables = tables_of(configs)
    weights = neuroshard.Weights.load(options.weights)
    # One plans what TorchRec can run, one what it can load, too, and one columns alone, without replicas and row
    # blocks.
    planners = [
        neuroshard.Planner(weights, effort=options.effort, threads=options.threads, equal_widths=equal, cuts=cuts)
        for equal, cuts in [(True, "any"), (False, "any"), (True, "columns")]
    ]
    slices_of: dict[tuple[int, int], int] = {}
    lines = []
    for number, (task, chosen) in enumerate(drawn_tasks(configs, tables, options)):
        result = planners[number % len(planners)].plan(task)
        if result.plan is None or result.cost is None:
            continue
        for device in result.slices_by_device():
            columns = [piece for piece in device if piece.rows == task.tables[piece.table].rows]
            if not columns:
                continue
            ids = [slices_of.setdefault((chosen[piece.table], piece.dim), len(slices_of)) for piece in columns]
            alone = neuroshard.Task([table_of(tables[chosen[p.table]], p.dim) for p in columns], 1, 1 << 60)
            whole = neuroshard.plan_from_slices(alone, [(0, i, 0, piece.dim) for i, piece in enumerate(columns)])
            cost_ms = neuroshard.simulate(alone, whole, weights=weights).compute_ms[0]
            lines.append(f"{','.join(map(str, sorted(ids)))} {cost_ms:.9g}")
    description = {
        "kind": "compute",
        "batch": str(SAMPLES),
        "source": f"predicted by {options.weights.name}, of plans found with it",
        "seed": str(options.seed),
    }
    options.output.mkdir(parents=True, exist_ok=True)
    for name, text in [
        ("table_configs.json", json.dumps([{**configs[i], "dim": dim} for i, dim in slices_of])),
        (
            "collection.json",
            json.dumps({"format": "neuroshard collection", "version": 1, "description": description}, indent=2),
        ),
        ("data.txt", "\n".join(lines)),
    ]:
        (options.output / name).write_text(text + "\n")
    print(f"{options.output}: {len(lines)} samples of {options.tasks} plans")


if __name__ == "__main__":
    main()
