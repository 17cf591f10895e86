"""Tasks for the scripts of this folder, as tasks and as modules: of published models, and drawn ones."""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torchrec.distributed.planner.storage_reservations import FixedPercentageStorageReservation
from torchrec.distributed.planner.types import ParameterConstraints, Topology
from torchrec.distributed.embedding import EmbeddingCollectionSharder
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.modules.embedding_configs import DataType, EmbeddingBagConfig, EmbeddingConfig
from torchrec.modules.embedding_modules import EmbeddingBagCollection, EmbeddingCollection

import neuroshard

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "data" / "golden"
TABLE_SETS = ROOT / "bench" / "data" / "table_sets"

# Samples of an iteration, on all devices together, that costs are of.
SAMPLES = 65536

# For all modules that model_of() makes.
SHARDERS = [EmbeddingBagCollectionSharder(), EmbeddingCollectionSharder()]

DATA_TYPES = {"fp32": DataType.FP32, "fp16": DataType.FP16, "bf16": DataType.BF16, "int8": DataType.INT8}


@dataclass(frozen=True)
class PublishedTables:
    """Tables with a name for reports."""

    name: str
    tables: list[neuroshard.Table]

    def task(
        self,
        devices: int,
        memory_bytes: int,
        *,
        weight_type: str = "fp32",
        optimizer: str = "sgd",
        reserved_share: float = 0.0,
        batch_size: int | None = None,
    ) -> neuroshard.Task:
        """Tables get the names t0, t1, ..., after those of modules where some are not pooled."""
        several = len({table.pooling == "none" for table in self.tables}) > 1
        tables = [
            neuroshard.Table(
                table.rows,
                table.dim,
                table.pooling_factor,
                access_histogram=table.access_histogram,
                name=f"{module_of(table)}.t{position}" if several else f"t{position}",
                weight_type=weight_type,
                optimizer=optimizer,
                pooling=table.pooling,
            )
            for position, table in enumerate(self.tables)
        ]
        return neuroshard.Task(
            tables, devices, memory_bytes, name=self.name, reserved_share=reserved_share, batch_size=batch_size
        )


def golden(devices: int, index: int) -> PublishedTables:
    """Task `index` of 0 to 99 that the published program planned for `devices`: 2, 4, 8 or 16."""
    configs = json.loads((GOLDEN / "tables" / "table_configs.json").read_text())
    line = (GOLDEN / "tasks" / f"{devices}gpu_dim128.txt").read_text().splitlines()[index]
    ids, dims = ([int(number) for number in numbers.split(",")] for numbers in line.split())
    tables = [
        neuroshard.Table(
            configs[i]["row"],
            dim,
            configs[i]["pooling_factor"],
            access_histogram=[configs[i][f"bin_{bin}"] for bin in range(17)],
        )
        for i, dim in zip(ids, dims)
    ]
    return PublishedTables(f"golden {devices}-device task {index}", tables)


def table_set(name: str) -> PublishedTables:
    """One of bench/data/table_sets."""
    # Devices and memory are the caller's.
    task = neuroshard.load_task(TABLE_SETS / f"{name}.json", devices=1, memory_bytes=1)
    return PublishedTables(name, task.tables)


def drawn_tables(count: int, seed: int) -> list[neuroshard.Table]:
    """100 to 10 million rows, most tables small; lookups skewed likewise, as those of production mixes."""
    draw = random.Random(seed)
    return [
        neuroshard.Table(
            rows=int(10 ** (2 + 5 * draw.random() ** 1.5)),
            dim=draw.choice((16, 32, 64, 64, 128, 128, 256)),
            pooling_factor=round(min(300.0, draw.paretovariate(0.9)), 2),
            name=f"t{index}",
        )
        for index in range(count)
    ]


def hstu_like() -> list[neuroshard.Table]:
    """5 tables that are not pooled, of long sequences, and 40 drawn ones."""
    sequences = [
        neuroshard.Table(10 ** (5 + index % 3), 128, 50.0 * (index + 1), name=f"s{index}", pooling="none")
        for index in range(5)
    ]
    return sequences + drawn_tables(40, 0)


def lookups_of_features(table: neuroshard.Table) -> list[float]:
    """Pooling factors of the features that read it, which are taken to be alike."""
    features = round(table.features)
    return [table.pooling_factor / features] * features


def module_of(table: neuroshard.Table) -> str:
    return "sequences" if table.pooling == "none" else "pooled"


def name_in_module(table: neuroshard.Table) -> str:
    return table.name.rpartition(".")[2]


def model_of(task: neuroshard.Task) -> torch.nn.Module:
    """A module of its tables, without weights; two, by module_of(), where some are not pooled."""

    def arguments(table: neuroshard.Table) -> dict[str, Any]:
        return {
            "name": name_in_module(table),
            "num_embeddings": table.rows,
            "embedding_dim": table.dim,
            "feature_names": [f"of_{name_in_module(table)}_{feature}" for feature in range(round(table.features))],
            "data_type": DATA_TYPES[table.weight_type],
        }

    bags = [EmbeddingBagConfig(**arguments(table)) for table in task.tables if table.pooling != "none"]
    sequences = [EmbeddingConfig(**arguments(table)) for table in task.tables if table.pooling == "none"]
    meta = torch.device("meta")
    pooled: torch.nn.Module = EmbeddingBagCollection(tables=bags, device=meta)
    if not sequences:
        return pooled
    return torch.nn.ModuleDict(
        {"pooled": pooled, "sequences": EmbeddingCollection(tables=sequences, device=meta)}
    )


def planner_arguments(
    task: neuroshard.Task, topology: Topology, constraints: Sequence[ParameterConstraints]
) -> dict[str, Any]:
    """Arguments that TorchRec's planner and ours get; a constraint for each table."""
    return {
        "topology": topology,
        "batch_size": (task.batch_size or SAMPLES) // task.devices,
        "storage_reservation": FixedPercentageStorageReservation(0.0),
        "stats": [],
        "debug": False,
        "constraints": {name_in_module(table): one for table, one in zip(task.tables, constraints)},
    }


def a100_topology(devices: int, memory_bytes: int, **others: Any) -> Topology:
    """The machine of the built-in weights and of analytic prices (docs/analytic_costs.md): nodes of 8 GPUs. `others`:
    more arguments of it."""
    return Topology(
        world_size=devices,
        local_world_size=min(devices, 8),
        compute_device="cuda",
        hbm_cap=memory_bytes,
        # Bytes per ms.
        hbm_mem_bw=2039e6,
        intra_host_bw=300e6,
        inter_host_bw=25e6,
        **others,
    )
