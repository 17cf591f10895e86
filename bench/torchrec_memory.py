#!/usr/bin/env python3
"""Memory of plans as our formulas count it (docs/memory.md), beside TorchRec's storage estimator and what FBGEMM
allocates: ten plans of published models with several types of weights and optimizers, of each plan's fullest device,
term by term. Prints tables in Markdown. Needs the Python package, PyTorch and TorchRec."""

import logging
import warnings
from dataclasses import dataclass
from typing import NamedTuple

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
from published_tasks import SAMPLES, PublishedTables, golden, lookups_of_features, model_of, table_set
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.planner import shard_estimators
from torchrec.distributed.planner.enumerators import EmbeddingEnumerator
from torchrec.distributed.planner.storage_reservations import FixedPercentageStorageReservation
from torchrec.distributed.planner.types import ParameterConstraints, ShardingOption, Topology

import neuroshard
from neuroshard.torchrec.model_tables import model_tables
from neuroshard.torchrec.sharding_plans import pieces_by_table

RESERVED_SHARE = 0.15
MIB = 2**20

OPTIMIZERS = {
    "sgd": torchrec.optim.SGD,
    "rowwise_adagrad": torchrec.optim.RowWiseAdagrad,
    "adagrad": torchrec.optim.Adagrad,
    "adam": torchrec.optim.Adam,
    "partial_rowwise_adam": torchrec.optim.PartialRowWiseAdam,
    "lamb": torchrec.optim.LAMB,
}
# Optimizers that FBGEMM has for the CPU, which is where it is asked to allocate.
FBGEMM_OPTIMIZERS = {
    "sgd": EmbOptimType.EXACT_SGD,
    "rowwise_adagrad": EmbOptimType.EXACT_ROWWISE_ADAGRAD,
    "adagrad": EmbOptimType.EXACT_ADAGRAD,
}
FBGEMM_WEIGHTS = {
    "fp32": SparseType.FP32,
    "fp16": SparseType.FP16,
    "bf16": SparseType.BF16,
    "int8": SparseType.INT8,
}


class Case(NamedTuple):
    tables: PublishedTables
    devices: int
    gib: int
    """Memory of a device."""
    weight_type: str
    optimizer: str

    def task(self) -> neuroshard.Task:
        return self.tables.task(
            self.devices,
            neuroshard.bytes_from_gib(self.gib),
            weight_type=self.weight_type,
            optimizer=self.optimizer,
            reserved_share=RESERVED_SHARE,
            batch_size=SAMPLES,
        )


CASES = [
    Case(golden(4, 0), 4, 16, "fp32", "sgd"),
    Case(golden(4, 1), 4, 16, "fp32", "rowwise_adagrad"),
    Case(golden(8, 2), 8, 16, "fp32", "adagrad"),
    Case(golden(8, 3), 8, 20, "fp32", "adam"),
    Case(golden(16, 4), 16, 16, "fp32", "partial_rowwise_adam"),
    Case(golden(16, 5), 16, 8, "fp16", "sgd"),
    Case(table_set("mlperf_dlrm_v2_criteo1tb_multihot"), 8, 16, "fp16", "rowwise_adagrad"),
    Case(table_set("mlperf_dlrm_v1_criteo1tb_cap40M"), 16, 32, "bf16", "adam"),
    Case(table_set("hugectr_510table_110B_hotness5"), 16, 16, "int8", "rowwise_adagrad"),
    Case(table_set("nvidia_distributed_embeddings_medium"), 16, 80, "fp32", "lamb"),
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


def estimated_options(task: neuroshard.Task, plan: neuroshard.Plan) -> list[ShardingOption]:
    """`plan` as TorchRec's estimator sees it, estimates included."""
    model = model_of(task)
    for config, table in zip(model.embedding_bag_configs(), task.tables):
        model.embedding_bags[config.name].weight._optimizer_classes = [OPTIMIZERS[table.optimizer]]
    enumerator = EmbeddingEnumerator(
        topology=Topology(world_size=task.devices, compute_device="cuda", hbm_cap=task.memory_bytes),
        batch_size=SAMPLES // task.devices,
        constraints={
            table.name: ParameterConstraints(
                sharding_types=["table_wise", "column_wise"],
                compute_kernels=["fused"],
                pooling_factors=lookups_of_features(table),
            )
            for table in task.tables
        },
    )
    found = model_tables(enumerator.enumerate(model, [EmbeddingBagCollectionSharder()]))
    assert [table.name for table in found] == [table.name for table in task.tables]
    options = [table.sharded(pieces) for table, pieces in zip(found, pieces_by_table(task, plan))]
    enumerator.populate_estimates(options)
    return options


def torchrec_terms(option: ShardingOption, devices: int) -> list[Terms]:
    """Terms of each shard, by the functions that EmbeddingStorageEstimator adds up."""
    tensor = option.tensor
    sizes = [shard.size for shard in option.shards]
    weights = shard_estimators._calculate_tensor_sizes(
        storage=tensor.numel() * tensor.element_size(),
        shape=tensor.shape,
        shard_sizes=sizes,
        sharding_type=option.sharding_type,
    )
    state = shard_estimators._calculate_optimizer_sizes(weights, tensor._optimizer_classes[0], tensor.shape)
    inputs, outputs = shard_estimators._calculate_shard_io_sizes(
        sharding_type=option.sharding_type,
        batch_sizes=[option.batch_size],
        world_size=devices,
        local_world_size=devices,
        input_lengths=option.input_lengths,
        emb_dim=tensor.shape[1],
        shard_sizes=sizes,
        input_data_type_size=8,
        output_data_type_size=tensor.element_size(),
        num_poolings=[1.0],
        is_pooled=True,
    )
    terms = [Terms(*of_shard) for of_shard in zip(weights, state, map(sum, zip(inputs, outputs)))]
    for shard, of_shard in zip(option.shards, terms):
        assert shard.storage is not None and shard.storage.hbm == of_shard.total, (option, terms)
    return terms


def fbgemm_terms(table: neuroshard.Table, dim: int) -> Terms | None:
    """Bytes that a module really allocates for a slice: measured on 1,000 rows, of which it is a multiple."""
    if table.optimizer not in FBGEMM_OPTIMIZERS:
        return None
    rows = 1000
    module = SplitTableBatchedEmbeddingBagsCodegen(
        [(rows, dim, EmbeddingLocation.HOST, ComputeDevice.CPU)],
        optimizer=FBGEMM_OPTIMIZERS[table.optimizer],
        weights_precision=FBGEMM_WEIGHTS[table.weight_type],
    )
    sizes = {
        name: tensor.numel() * tensor.element_size()
        for name, tensor in [*module.named_buffers(), *module.named_parameters()]
    }
    state = sum(
        size for name, size in sizes.items() if name.startswith("momentum") and name.endswith("host") and size >= rows
    )
    return Terms(table.rows * sizes["weights_host"] // rows, table.rows * state // rows)


def mib(size: int) -> str:
    return f"{size / MIB:,.2f}"


def compare_reservation(devices: int, memory_bytes: int) -> None:
    topology = Topology(world_size=devices, compute_device="cuda", hbm_cap=memory_bytes)
    tables = PublishedTables("reservation", [neuroshard.Table(100, 4, 1.0)])
    task = tables.task(devices, memory_bytes, reserved_share=RESERVED_SHARE)
    reservation = FixedPercentageStorageReservation(RESERVED_SHARE)
    left = reservation.reserve(topology, SAMPLES // devices, model_of(task), [])
    print(
        f"Left of {memory_bytes:,} bytes with {RESERVED_SHARE:.0%} reserved: {task.room_bytes[0]:,} "
        f"(ours), {left.devices[0].storage.hbm:,} (TorchRec's)\n"
    )


def compare(number: int, case: Case, planner: neuroshard.Planner) -> None:
    task = case.task()
    result = planner.plan(task)
    assert result.plan is not None and result.cost is not None, result.infeasible
    cost = result.cost
    device = int(cost.memory_bytes.argmax())
    ours = Terms(int(cost.weight_bytes[device]), int(cost.optimizer_bytes[device]), int(cost.buffer_bytes[device]))
    options = estimated_options(task, result.plan)
    theirs, allocated, measured = Terms(), Terms(), True
    for table, option in zip(task.tables, options):
        for shard, terms in zip(option.shards, torchrec_terms(option, task.devices)):
            if shard.rank != device:
                continue
            theirs += terms
            one = fbgemm_terms(table, shard.size[1])
            measured = measured and one is not None
            allocated += one or Terms()
    slices = sum(len(option.shards) for option in options)
    model = f"{case.tables.name}, {case.devices} devices, {slices - len(options)} cuts"
    for term in ("weights", "state", "buffers", "total"):
        of_ours, of_theirs = getattr(ours, term), getattr(theirs, term)
        ratio = f"{of_theirs / of_ours:.4f}" if of_ours else "-" if of_theirs == 0 else "inf"
        by_fbgemm = mib(getattr(allocated, term)) if measured and term in ("weights", "state") else ""
        which = f"{number} | {model} | {case.weight_type} {case.optimizer}" if term == "weights" else " | | "
        print(f"| {which} | {term} | {mib(of_ours)} | {mib(of_theirs)} | {ratio} | {by_fbgemm} |", flush=True)


def main() -> None:
    print("Fullest device of each plan, MiB\n")
    compare_reservation(4, neuroshard.bytes_from_gib(16))
    planner = neuroshard.Planner(threads=1)
    print("| | plan | tables | term | ours | TorchRec | TorchRec / ours | FBGEMM allocates |")
    print("|---:|---|---|---|---:|---:|---:|---:|")
    for number, case in enumerate(CASES, 1):
        compare(number, case, planner)


if __name__ == "__main__":
    main()
