#!/usr/bin/env python3
"""Gives samples that `neuroshard collect` has drawn the costs of TorchRec's estimator, to train cost models on.

    price_samples.py data/compute data/compute_torchrec --devices 8
    price_samples.py data/comm_8 data/comm_8_torchrec --devices 8

TorchRec's planner takes a plan to cost what its slowest device does, and a device to cost the sum of its shards: lookups,
their backward pass, and what each sends. So the cost of a sample of tables is that sum, communication included, and
all-to-alls of whole devices cost nothing on top. What shards send depends on how devices are connected: train for each
number of devices. docs/training.md has the whole recipe. Needs PyTorch and TorchRec."""

import argparse
import json
import logging
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

warnings.filterwarnings("ignore")

import torch
import torchrec
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.planner.enumerators import EmbeddingEnumerator
from torchrec.distributed.planner.types import ParameterConstraints, Topology
from torchrec.modules.embedding_configs import EmbeddingBagConfig
from torchrec.modules.embedding_modules import EmbeddingBagCollection


def table_costs_ms(tables: Sequence[dict[str, Any]], topology: Topology, samples: int) -> list[float]:
    """Of each table, whole on one device: rows, columns and lookups are what an estimate depends on, so a slice of
    columns costs the same as a table that is as wide. `samples`: of an iteration on all devices together."""
    names = [f"t{index}" for index in range(len(tables))]
    configs = [
        EmbeddingBagConfig(
            name=name, num_embeddings=table["row"], embedding_dim=table["dim"], feature_names=[f"of_{name}"]
        )
        for name, table in zip(names, tables)
    ]
    constraints = {
        name: ParameterConstraints(
            sharding_types=["table_wise"], compute_kernels=["fused"], pooling_factors=[table["pooling_factor"]]
        )
        for name, table in zip(names, tables)
    }
    enumerator = EmbeddingEnumerator(
        topology=topology, batch_size=samples // topology.world_size, constraints=constraints
    )
    model = EmbeddingBagCollection(tables=configs, device=torch.device("meta"))
    options = {option.name: option for option in enumerator.enumerate(model, [EmbeddingBagCollectionSharder()])}
    return [float(options[name].shards[0].perf.total) for name in names]


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("samples", type=Path, help="folder that `neuroshard collect compute` or `comm` has written")
    parser.add_argument("output", type=Path, help="folder to write")
    parser.add_argument("--devices", type=int, required=True, help="of the plans to be made")
    parser.add_argument("--devices-per-node", type=int, default=8)
    parser.add_argument("--memory-gb-per-s", type=float, default=2039.0, help="bandwidth of a device's memory")
    parser.add_argument("--node-gb-per-s", type=float, default=300.0, help="between devices of a node")
    parser.add_argument("--network-gb-per-s", type=float, default=25.0, help="between nodes")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    collection = json.loads((options.samples / "collection.json").read_text())
    description = collection["description"]
    lines = (options.samples / "data.txt").read_text().splitlines()
    tables_file = options.samples / "table_configs.json"
    samples = int(description["batch"])
    if samples % options.devices != 0:
        sys.exit(f"price_samples.py: {options.samples}: a batch of {samples} cannot be shared by {options.devices} devices")
    options.output.mkdir(parents=True, exist_ok=True)
    if tables_file.exists():
        topology = Topology(
            world_size=options.devices,
            local_world_size=min(options.devices, options.devices_per_node),
            compute_device="cuda",
            # Bytes per ms.
            hbm_mem_bw=1e6 * options.memory_gb_per_s,
            intra_host_bw=1e6 * options.node_gb_per_s,
            inter_host_bw=1e6 * options.network_gb_per_s,
        )
        tables = json.loads(tables_file.read_text())
        priced = priced_compute(lines, table_costs_ms(tables, topology, samples))
        write(options.output / "table_configs.json", tables_file.read_text())
    else:
        priced = priced_comm(lines)
    description["source"] = f"torchrec: estimates of TorchRec {torchrec.__version__}, not measured on hardware"
    description["hardware"] = (
        f"{options.devices} devices, {options.devices_per_node} a node, {options.memory_gb_per_s:g}, "
        f"{options.node_gb_per_s:g} and {options.network_gb_per_s:g} GB/s"
    )
    write(options.output / "collection.json", json.dumps(collection, indent=2) + "\n")
    write(options.output / "data.txt", "\n".join(priced) + "\n")
    print(f"{options.output}: {len(priced)} samples")


if __name__ == "__main__":
    main()
