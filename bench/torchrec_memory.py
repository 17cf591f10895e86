#!/usr/bin/env python3
"""Memory of plans as our formulas count it (docs/memory.md), beside TorchRec's storage estimator and what FBGEMM
allocates: a plan of a published task for each of some types of weights and optimizers, of its fullest device, term by
term. `bench/torchrec_memory.py --devices 4`; needs the Python package, PyTorch and TorchRec."""

import argparse
import json
import logging
import warnings
from dataclasses import dataclass
from pathlib import Path

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import torch
import torchrec.optim
from fbgemm_gpu.split_embedding_configs import EmbOptimType, SparseType
from fbgemm_gpu.split_table_batched_embeddings_ops_common import EmbeddingLocation
from fbgemm_gpu.split_table_batched_embeddings_ops_training import (
    ComputeDevice,
    SplitTableBatchedEmbeddingBagsCodegen,
)
from torchrec.distributed.planner import shard_estimators
from torchrec.distributed.planner.storage_reservations import FixedPercentageStorageReservation
from torchrec.distributed.planner.types import Topology
from torchrec.modules.embedding_modules import EmbeddingBagCollection

import neuroshard

GOLDEN = Path(__file__).parents[1] / "tests" / "data" / "golden"
MEMORY_BYTES = neuroshard.bytes_from_gib(16)
RESERVED_SHARE = 0.15
SAMPLES = 65536
MIB = 2**20

WEIGHTS = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16, "int8": torch.int8}
OPTIMIZERS = {
    "sgd": torchrec.optim.SGD,
    "rowwise_adagrad": torchrec.optim.RowWiseAdagrad,
    "adagrad": torchrec.optim.Adagrad,
    "adam": torchrec.optim.Adam,
    "partial_rowwise_adam": torchrec.optim.PartialRowWiseAdam,
    "lamb": torchrec.optim.LAMB,
}
# Those that FBGEMM has for the CPU, which is where it is asked to allocate.
FBGEMM_OPTIMIZERS = {
    "sgd": EmbOptimType.EXACT_SGD,
    "rowwise_adagrad": EmbOptimType.EXACT_ROWWISE_ADAGRAD,
    "adagrad": EmbOptimType.EXACT_ADAGRAD,
}
CASES = [
    ("fp32", "sgd"),
    ("fp32", "rowwise_adagrad"),
    ("fp32", "adagrad"),
    ("fp32", "adam"),
    ("fp32", "partial_rowwise_adam"),
    ("fp32", "lamb"),
    ("fp16", "sgd"),
    ("fp16", "rowwise_adagrad"),
    ("bf16", "adam"),
    ("int8", "rowwise_adagrad"),
]


@dataclass
class Terms:
    """Bytes."""

    weights: int = 0
    state: int = 0
    buffers: int = 0

    def __add__(self, other: "Terms") -> "Terms":
        return Terms(self.weights + other.weights, self.state + other.state, self.buffers + other.buffers)

    @property
    def total(self) -> int:
        return self.weights + self.state + self.buffers


def task_of(devices: int, index: int, weight_type: str, optimizer: str) -> neuroshard.Task:
    configs = json.loads((GOLDEN / "tables" / "table_configs.json").read_text())
    line = (GOLDEN / "tasks" / f"{devices}gpu_dim128.txt").read_text().splitlines()[index]
    ids, dims = ([int(number) for number in numbers.split(",")] for numbers in line.split())
    tables = [
        neuroshard.Table(
            configs[i]["row"],
            dim,
            configs[i]["pooling_factor"],
            access_histogram=[configs[i][f"bin_{bin}"] for bin in range(17)],
            name=f"t{position}",
            weight_type=weight_type,
            optimizer=optimizer,
        )
        for position, (i, dim) in enumerate(zip(ids, dims))
    ]
    return neuroshard.Task(tables, devices, MEMORY_BYTES, reserved_share=RESERVED_SHARE, batch_size=SAMPLES)


def torchrec_terms(task: neuroshard.Task, table: neuroshard.Table, dims: list[int]) -> list[Terms]:
    """By the functions that EmbeddingStorageEstimator adds up, of each slice of a table."""
    tensor = torch.empty(table.rows, table.dim, dtype=WEIGHTS[table.weight_type], device="meta")
    tensor._optimizer_classes = [OPTIMIZERS[table.optimizer]]
    shard_sizes = [[table.rows, dim] for dim in dims]
    common = {
        "sharding_type": "table_wise" if len(dims) == 1 else "column_wise",
        "shard_sizes": shard_sizes,
    }
    weights = shard_estimators._calculate_tensor_sizes(
        storage=tensor.numel() * tensor.element_size(), shape=tensor.shape, **common
    )
    state = shard_estimators._calculate_optimizer_sizes(weights, OPTIMIZERS[table.optimizer], tensor.shape)
    inputs, outputs = shard_estimators._calculate_shard_io_sizes(
        batch_sizes=[SAMPLES // task.devices],
        world_size=task.devices,
        local_world_size=task.devices,
        input_lengths=[table.pooling_factor],
        emb_dim=table.dim,
        input_data_type_size=8,
        output_data_type_size=4,
        num_poolings=[1.0],
        is_pooled=True,
        **common,
    )
    return [Terms(*terms) for terms in zip(weights, state, map(sum, zip(inputs, outputs)))]


def fbgemm_terms(table: neuroshard.Table, dim: int) -> Terms | None:
    """What a module really allocates for a slice: measured on 1,000 rows, of which it is a multiple."""
    if table.optimizer not in FBGEMM_OPTIMIZERS:
        return None
    rows = 1000
    module = SplitTableBatchedEmbeddingBagsCodegen(
        [(rows, dim, EmbeddingLocation.HOST, ComputeDevice.CPU)],
        optimizer=FBGEMM_OPTIMIZERS[table.optimizer],
        weights_precision=SparseType.from_dtype(WEIGHTS[table.weight_type])
        if table.weight_type != "int8"
        else SparseType.INT8,
    )
    sizes = {
        name: tensor.numel() * tensor.element_size()
        for name, tensor in [*module.named_buffers(), *module.named_parameters()]
    }
    state = sum(size for name, size in sizes.items() if name.startswith("momentum") and name.endswith("host") and size >= rows)
    return Terms(table.rows * sizes["weights_host"] // rows, table.rows * state // rows)


def row(name: str, ours: int, theirs: int, allocated: int | None) -> str:
    difference = 100.0 * (theirs - ours) / ours if ours else 0.0
    measured = "-" if allocated is None else f"{allocated / MIB:,.2f}"
    return f"  {name:9} {ours / MIB:12,.2f} {theirs / MIB:12,.2f} {difference:+8.2f} % {measured:>12}"


def check_reservation(devices: int) -> None:
    topology = Topology(world_size=devices, compute_device="cuda", hbm_cap=MEMORY_BYTES)
    model = EmbeddingBagCollection(tables=[], device=torch.device("meta"))
    left = FixedPercentageStorageReservation(RESERVED_SHARE).reserve(topology, SAMPLES // devices, model, [])
    ours = MEMORY_BYTES - task_of(devices, 0, "fp32", "sgd").reserved_bytes
    print(f"left of {MEMORY_BYTES:,} bytes with {RESERVED_SHARE:.0%} reserved: "
          f"{ours:,} (ours), {left.devices[0].storage.hbm:,} (TorchRec's)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=4, choices=(2, 4, 8, 16))
    devices = parser.parse_args().devices
    check_reservation(devices)
    planner = neuroshard.Planner(effort="fast", threads=1)
    print("MiB of the fullest device      ours     TorchRec            FBGEMM allocates")
    for index, (weight_type, optimizer) in enumerate(CASES):
        task = task_of(devices, index, weight_type, optimizer)
        result = planner.plan(task)
        assert result.plan is not None, result.infeasible
        cost = result.cost
        device = int(cost.memory_bytes.argmax())
        ours = Terms(int(cost.weight_bytes[device]), int(cost.optimizer_bytes[device]), int(cost.buffer_bytes[device]))
        by_device = neuroshard.slices_by_device(task, result.plan)
        dims_of: dict[int, list[int]] = {}
        for slices in by_device:
            for piece in slices:
                dims_of.setdefault(piece.table, []).append(piece.dim)
        theirs, allocated = Terms(), Terms()
        measured = True
        for piece in by_device[device]:
            table = task.tables[piece.table]
            dims = dims_of[piece.table]
            theirs += torchrec_terms(task, table, dims)[dims.index(piece.dim)]
            one = fbgemm_terms(table, piece.dim)
            measured = measured and one is not None
            allocated += one or Terms()
        cut = sum(len(dims) > 1 for dims in dims_of.values())
        print(f"{weight_type} {optimizer}: {len(task.tables)} tables, {cut} of them cut")
        print(row("weights", ours.weights, theirs.weights, allocated.weights if measured else None))
        print(row("optimizer", ours.state, theirs.state, allocated.state if measured else None))
        print(row("buffers", ours.buffers, theirs.buffers, None))
        print(row("all", ours.total, theirs.total, None), flush=True)


if __name__ == "__main__":
    main()
