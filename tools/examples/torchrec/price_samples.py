#!/usr/bin/env python3
"""Gives samples that `neuroshard collect` drew the costs of TorchRec's estimator, to train cost models on.

    price_samples.py data/compute data/compute_torchrec --devices 8
    price_samples.py data/comm_8 data/comm_8_torchrec --devices 8

TorchRec's planner takes the cost of a plan to be that of its slowest device, and the cost of a device to be the sum of
its shards': lookups, their backward pass, and communication. So the cost of a sample of tables is that sum with
communication, and all-to-alls of whole devices cost nothing on top. Row blocks and replicas cost other sums: folders
OUTPUT/kinds and OUTPUT/all_reduce have these, for the tables of compute samples. The communication of shards depends on
how devices are connected: train for each number of devices. train_weights runs the whole recipe, docs/training.md
explains it. Needs PyTorch and TorchRec."""

import argparse
import json
import logging
import os
import random
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

warnings.filterwarnings("ignore")

import torch
import torchrec
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.planner.enumerators import EmbeddingEnumerator
from torchrec.distributed.planner.types import ParameterConstraints, Perf, Topology
from torchrec.modules.embedding_configs import EmbeddingBagConfig
from torchrec.modules.embedding_modules import EmbeddingBagCollection

# So few numbers decide the prices of a kind of sharding that more would change nothing.
MOST_TABLES_OF_KINDS = 200


def estimates(
    tables: Sequence[dict[str, Any]], topology: Topology, samples: int, sharding_type: str, kernel: str
) -> list[Perf]:
    """Estimates of the first shard of each table. `samples` are those of an iteration on all devices together."""
    names = [f"t{index}" for index in range(len(tables))]
    configs = [
        EmbeddingBagConfig(
            name=name, num_embeddings=table["row"], embedding_dim=table["dim"], feature_names=[f"of_{name}"]
        )
        for name, table in zip(names, tables)
    ]
    constraints = {
        name: ParameterConstraints(
            sharding_types=[sharding_type], compute_kernels=[kernel], pooling_factors=[table["pooling_factor"]]
        )
        for name, table in zip(names, tables)
    }
    enumerator = EmbeddingEnumerator(
        topology=topology, batch_size=samples // topology.world_size, constraints=constraints
    )
    model = EmbeddingBagCollection(tables=configs, device=torch.device("meta"))
    options = {option.name: option for option in enumerator.enumerate(model, [EmbeddingBagCollectionSharder()])}
    return [options[name].shards[0].perf for name in names]


def table_costs_ms(tables: Sequence[dict[str, Any]], topology: Topology, samples: int) -> list[float]:
    """Costs of each table, whole on one device: an estimate depends on rows, columns and lookups, so a slice of columns
    costs the same as a table that is as wide."""
    return [float(perf.total) for perf in estimates(tables, topology, samples, "table_wise", "fused")]


class ShardLines(NamedTuple):
    """Lines of data.txt."""

    kinds: list[str]
    """`kind devices samples dim pooling_factor cost_ms`"""
    all_reduce: list[str]
    """`devices bytes cost_ms`"""


def shard_lines(tables: Sequence[dict[str, Any]], topology: Topology, samples: int) -> ShardLines:
    """Costs of blocks of rows on all devices and on those of a node, and of replicas: the exchange and the update of
    their gradients are an all-reduce, what is left is the operator."""
    devices = topology.world_size
    lines = ShardLines([], [])

    def add(kind: str, shared_by: int, table: dict[str, Any], cost_ms: float) -> None:
        lines.kinds.append(f"{kind} {shared_by} {samples} {table['dim']} {table['pooling_factor']:.9g} {cost_ms:.9g}")

    for table, perf in zip(tables, estimates(tables, topology, samples, "row_wise", "fused")):
        add("row", devices, table, perf.total)
    for table, perf in zip(tables, estimates(tables, topology, samples, "table_row_wise", "fused")):
        add("table_row", topology.local_world_size, table, perf.total)
    for table, perf in zip(tables, estimates(tables, topology, samples, "data_parallel", "dense")):
        add("replicate", devices, table, perf.total - perf.bwd_comms)
        lines.all_reduce.append(f"{devices} {4 * table['row'] * table['dim']} {perf.bwd_comms:.9g}")
    return lines


def some_of(tables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Always the same."""
    return random.Random(0).sample(tables, MOST_TABLES_OF_KINDS) if len(tables) > MOST_TABLES_OF_KINDS else tables


def priced_compute(lines: Sequence[str], costs_ms: Sequence[float]) -> list[str]:
    """Lines of `id,id,... cost_ms`."""
    priced = []
    for line in lines:
        ids = line.split()[0]
        priced.append(f"{ids} {sum(costs_ms[int(table)] for table in ids.split(',')):.9g}")
    return priced


def priced_comm(lines: Sequence[str]) -> list[str]:
    """Lines of `dim_sum,... start_ms,... forward_ms,... backward_ms,...`."""
    priced = []
    for line in lines:
        dim_sums, starts = line.split()[:2]
        nothing = ",".join("0" for _ in dim_sums.split(","))
        priced.append(f"{dim_sums} {starts} {nothing} {nothing}")
    return priced


def write(path: Path, text: str) -> None:
    """All of it or nothing."""
    part = path.with_name(path.name + ".part")
    part.write_text(text)
    os.replace(part, path)


def write_folder(folder: Path, collection: dict[str, Any], lines: Sequence[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "collection.json", json.dumps(collection, indent=2) + "\n")
    write(folder / "data.txt", "\n".join(lines) + "\n")
    print(f"{folder}: {len(lines)} samples")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("samples", type=Path, help="folder that `neuroshard collect compute` or `comm` has written")
    parser.add_argument("output", type=Path, help="folder to write")
    parser.add_argument("--devices", type=int, required=True, help="devices of the plans to be made")
    parser.add_argument("--devices-per-node", type=int, default=8)
    parser.add_argument("--memory-gb-per-s", type=float, default=2039.0, help="bandwidth of a device's memory")
    parser.add_argument("--node-gb-per-s", type=float, default=300.0, help="bandwidth between devices of a node")
    parser.add_argument("--network-gb-per-s", type=float, default=25.0, help="bandwidth between nodes")
    options = parser.parse_args()
    logging.disable(logging.WARNING)

    def topology(devices: int) -> Topology:
        return Topology(
            world_size=devices,
            local_world_size=min(devices, options.devices_per_node),
            compute_device="cuda",
            # Bytes per ms.
            hbm_mem_bw=1e6 * options.memory_gb_per_s,
            intra_host_bw=1e6 * options.node_gb_per_s,
            inter_host_bw=1e6 * options.network_gb_per_s,
        )

    collection = json.loads((options.samples / "collection.json").read_text())
    description = collection["description"]
    lines = (options.samples / "data.txt").read_text().splitlines()
    tables_file = options.samples / "table_configs.json"
    samples = int(description["batch"])
    if samples % options.devices != 0:
        sys.exit(f"price_samples.py: {options.samples}: a batch of {samples} cannot be shared by {options.devices} devices")
    description["source"] = f"torchrec: estimates of TorchRec {torchrec.__version__}, not measured on hardware"
    description["hardware"] = (
        f"{options.devices} devices, {options.devices_per_node} a node, {options.memory_gb_per_s:g}, "
        f"{options.node_gb_per_s:g} and {options.network_gb_per_s:g} GB/s"
    )
    if not tables_file.exists():
        write_folder(options.output, collection, priced_comm(lines))
        return
    tables = json.loads(tables_file.read_text())
    write_folder(
        options.output, collection, priced_compute(lines, table_costs_ms(tables, topology(options.devices), samples))
    )
    write(options.output / "table_configs.json", tables_file.read_text())
    # In one node prices serve fewer devices, too.
    counts = [options.devices]
    while options.devices <= options.devices_per_node and counts[-1] % 4 == 0:
        counts.append(counts[-1] // 2)
    of_counts = [shard_lines(some_of(tables), topology(count), samples) for count in counts]
    for kind, folder, of_kind in [
        ("kinds", "kinds", [line for one in of_counts for line in one.kinds]),
        ("all-reduce", "all_reduce", [line for one in of_counts for line in one.all_reduce]),
    ]:
        write_folder(options.output / folder, {**collection, "description": {**description, "kind": kind}}, of_kind)


if __name__ == "__main__":
    main()
