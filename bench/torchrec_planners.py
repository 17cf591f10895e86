#!/usr/bin/env python3
"""NeuroShardPlanner beside TorchRec's EmbeddingShardingPlanner, table- and column-wise, on published tasks: CPU time of a
plan, its predicted cost by our models, by analytic costs (if NEUROSHARD_PROGRAM names the program) and by TorchRec's
estimator. `bench/torchrec_planners.py --devices 4 --tasks 10`; needs the Python package, PyTorch and TorchRec."""

import argparse
import json
import logging
import os
import statistics
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")

import torch
from torchrec import EmbeddingBagCollection, EmbeddingBagConfig
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.planner.planners import EmbeddingPlannerBase, EmbeddingShardingPlanner
from torchrec.distributed.planner.storage_reservations import FixedPercentageStorageReservation
from torchrec.distributed.planner.types import ParameterConstraints, ShardingOption, Topology

import neuroshard
from neuroshard.torchrec import NeuroShardPlanner, from_sharding_plan

GOLDEN = Path(__file__).parents[1] / "tests" / "data" / "golden"
MEMORY_BYTES = neuroshard.bytes_from_gib(4)
# The whole batch that costs are of.
SAMPLES = 65536


def read_tasks(devices: int, count: int) -> list[neuroshard.Task]:
    configs = json.loads((GOLDEN / "tables" / "table_configs.json").read_text())
    tasks = []
    for line in (GOLDEN / "tasks" / f"{devices}gpu_dim128.txt").read_text().splitlines()[:count]:
        ids, dims = ([int(number) for number in numbers.split(",")] for numbers in line.split())
        tables = []
        for index, (config, dim) in enumerate(zip((configs[i] for i in ids), dims)):
            histogram = [config[f"bin_{bin}"] for bin in range(17)]
            tables.append(neuroshard.Table(config["row"], dim, config["pooling_factor"], access_histogram=histogram, name=f"t{index}"))
        tasks.append(neuroshard.Task(tables, devices, MEMORY_BYTES))
    return tasks


def model_of(task: neuroshard.Task) -> EmbeddingBagCollection:
    configs = [
        EmbeddingBagConfig(name=t.name, num_embeddings=t.rows, embedding_dim=t.dim, feature_names=[f"of_{t.name}"])
        for t in task.tables
    ]
    return EmbeddingBagCollection(tables=configs, device=torch.device("meta"))


def estimated_ms(options: list[ShardingOption], devices: int) -> float:
    """Of the slowest device, by TorchRec's estimator."""
    total = [0.0] * devices
    for option in options:
        for shard in option.shards:
            assert shard.rank is not None and shard.perf is not None
            total[shard.rank] += shard.perf.total
    return max(total)


def analytic_ms(task: neuroshard.Task, plan: neuroshard.Plan) -> float | None:
    program = os.environ.get("NEUROSHARD_PROGRAM")
    if program is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        tables = [
            {"name": t.name, "row": t.rows, "dim": t.dim, "pooling_factor": t.pooling_factor}
            | {f"bin_{bin}": share for bin, share in enumerate(t.access_histogram)}
            for t in task.tables
        ]
        document = {"format": "neuroshard.task", "version": 1, "devices": task.devices, "memory_gb": 4, "tables": tables}
        Path(folder, "task").write_text(json.dumps(document))
        Path(folder, "plan").write_text(neuroshard.simulate(task, plan).to_json())
        command = [program, "simulate", "--task", "task", "--plan", "plan", "--cost-source", "analytic", "--format", "json"]
        printed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout
    return float(json.loads(printed)["cost_ms"])


def measure(planner: EmbeddingPlannerBase, task: neuroshard.Task) -> dict[str, float | None]:
    model, sharders = model_of(task), [EmbeddingBagCollectionSharder()]
    start = time.process_time()
    sharding_plan = planner.plan(model, sharders)
    cpu_ms = 1e3 * (time.process_time() - start)
    plan = from_sharding_plan(sharding_plan, task)
    return {
        "CPU ms": cpu_ms,
        "our models": neuroshard.simulate(task, plan).cost_ms,
        "analytic": analytic_ms(task, plan),
        "TorchRec's estimate": estimated_ms(planner.get_selected_options(), task.devices),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=4, choices=(2, 4, 8, 16))
    parser.add_argument("--tasks", type=int, default=10)
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    ratios: dict[str, list[float]] = {}
    for index, task in enumerate(read_tasks(arguments.devices, arguments.tasks)):
        shared = {
            "topology": Topology(
                world_size=task.devices, local_world_size=min(task.devices, 8), compute_device="cuda", hbm_cap=2 * MEMORY_BYTES
            ),
            "batch_size": SAMPLES // task.devices,
            "storage_reservation": FixedPercentageStorageReservation(0.0),
            "stats": [],
            "debug": False,
            "constraints": {
                t.name: ParameterConstraints(
                    sharding_types=["table_wise", "column_wise"], pooling_factors=[t.pooling_factor], min_partition=4
                )
                for t in task.tables
            },
        }
        ours = measure(NeuroShardPlanner(threads=1, **shared), task)
        theirs = measure(EmbeddingShardingPlanner(**shared), task)
        for name, value in ours.items():
            other = theirs[name]
            if value is not None and other is not None:
                ratios.setdefault(name, []).append(other / value)
        print(f"task {index}: ours {ours}, TorchRec's {theirs}", flush=True)
    print(f"TorchRec's over ours, geometric mean of {arguments.tasks} tasks on {arguments.devices} devices:")
    for name, values in ratios.items():
        print(f"  {name:20} {statistics.geometric_mean(values):8.3f}  ({min(values):.3f} to {max(values):.3f})")


if __name__ == "__main__":
    main()
