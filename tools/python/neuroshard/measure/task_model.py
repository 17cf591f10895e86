"""A TorchRec model of the tables of a task, and lookups for it."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import nn
from torchrec import EmbeddingBagCollection, EmbeddingBagConfig, EmbeddingCollection, EmbeddingConfig, KeyedJaggedTensor
from torchrec.distributed.embedding import EmbeddingCollectionSharder
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.fbgemm_qcomm_codec import CommType, QCommsConfig, get_qcomm_codecs_registry
from torchrec.distributed.planner.types import ParameterConstraints, Topology
from torchrec.distributed.types import ModuleSharder, ShardingPlan
from torchrec.modules.embedding_configs import DataType, PoolingType

from neuroshard._core import Plan, Table, TableSlice, Task, table_access
from neuroshard.errors import Error
from neuroshard.fused_optimizers import FUSED_OPTIMIZERS, ON_CPUS
from neuroshard.lookups import TableAccess, draw_lookups
from neuroshard.torchrec.model_tables import (
    COLUMN_WISE,
    DATA_PARALLEL,
    GRID,
    ROW_WISE,
    TABLE_ROW_WISE,
    TABLE_WISE,
    WEIGHT_TYPES,
)
from neuroshard.torchrec.sharding_plans import to_sharding_plan

LEARNING_RATE = 1e-6
"""Small, since the gradients of values are the values: weights stay finite, whatever the optimizer."""

# By default TorchRec offers no rows on CPUs, which can do them all the same.
KINDS = [DATA_PARALLEL, TABLE_WISE, COLUMN_WISE, ROW_WISE, TABLE_ROW_WISE, GRID]

OF_REPLICAS: dict[str, type[torch.optim.Optimizer]] = {
    "sgd": torch.optim.SGD,
    "lars_sgd": torch.optim.SGD,
    "rowwise_adagrad": torch.optim.Adagrad,
    "adagrad": torch.optim.Adagrad,
}
"""Their weights are one tensor without rows; Adam for the others."""


class AnyKindOfBags(EmbeddingBagCollectionSharder):
    def sharding_types(self, compute_device_type: str) -> list[str]:
        return KINDS


class AnyKindOfSequences(EmbeddingCollectionSharder):
    def sharding_types(self, compute_device_type: str) -> list[str]:
        return KINDS


class Lookups(NamedTuple):
    """A batch of one rank for a module; a KeyedJaggedTensor is made of it anew in each iteration."""

    features: list[str]
    ids: torch.Tensor
    lengths: torch.Tensor
    weights: torch.Tensor | None

    def batch(self) -> KeyedJaggedTensor:
        return KeyedJaggedTensor(self.features, self.ids, weights=self.weights, lengths=self.lengths)


class TaskModel:
    """Raises Error, which calls the task `name`, if TorchRec cannot run its tables."""

    def __init__(self, task: Task, device: torch.device, name: str = "task") -> None:
        self.task = task
        self.device = device
        try:
            self.optimizer = single_optimizer(task, device)
            require_types(task, device)
            for index, table in enumerate(task.tables):
                whole_features(index, table)
        except Error as error:
            raise Error(f"{name}: {error}") from error
        self.modules: dict[str, list[int]] = {}
        """Tables of each module, by their places in the task."""
        for index, table in enumerate(task.tables):
            self.modules.setdefault(module_of(table), []).append(index)
        # As to_sharding_plan() knows them.
        self.named_task = Task(
            [
                Table(table.rows, table.dim, table.pooling_factor, name=f"{module_of(table)}.{table_name(index)}")
                for index, table in enumerate(task.tables)
            ],
            devices=task.devices,
            memory_bytes=task.memory_bytes,
            devices_per_node=task.devices_per_node,
        )
        sent = task.exchange
        codecs = None
        if (sent.forward, sent.backward) != ("fp32", "fp32"):
            types = QCommsConfig(forward_precision=CommType(sent.forward), backward_precision=CommType(sent.backward))
            codecs = get_qcomm_codecs_registry(types, device=device)
        fused_params = {"optimizer": FUSED_OPTIMIZERS[self.optimizer], "learning_rate": LEARNING_RATE}
        self.sharders: list[ModuleSharder[Any]] = [
            AnyKindOfBags(fused_params=fused_params, qcomm_codecs_registry=codecs),
            AnyKindOfSequences(fused_params=fused_params, qcomm_codecs_registry=codecs),
        ]

    def unsharded(self) -> nn.ModuleDict:
        """Without memory of its own."""
        return nn.ModuleDict({name: self.module(name) for name in self.modules})

    def module(self, name: str) -> EmbeddingCollection | EmbeddingBagCollection:
        tables = [(index, self.task.tables[index]) for index in self.modules[name]]
        meta = torch.device("meta")
        if name == "sequences":
            return EmbeddingCollection(
                tables=[EmbeddingConfig(**common_config(index, table)) for index, table in tables], device=meta
            )
        poolings = {"sum": PoolingType.SUM, "mean": PoolingType.MEAN}
        return EmbeddingBagCollection(
            tables=[
                EmbeddingBagConfig(**common_config(index, table), pooling=poolings[table.pooling])
                for index, table in tables
            ],
            is_weighted=name == "weighted",
            device=meta,
        )

    def sharding_plan(self, plan: Plan, local_size: int) -> ShardingPlan:
        """Raises Error if TorchRec cannot shard the tables so."""
        topology = Topology(world_size=self.task.devices, compute_device=self.device.type, local_world_size=local_size)
        try:
            return to_sharding_plan(
                self.named_task,
                plan,
                self.unsharded(),
                topology=topology,
                sharders=self.sharders,
                constraints=self.grids(plan),
            )
        except Error as error:
            own_name = r"\b(?:pooled|weighted|sequences)\.table_(\d+)"
            text = re.sub(own_name, lambda found: label(int(found[1]), self.task.tables[int(found[1])]), str(error))
            raise Error(text) from error

    def grids(self, plan: Plan) -> dict[str, ParameterConstraints]:
        """TorchRec offers them where constraints name them alone."""
        of_table: dict[int, list[TableSlice]] = {}
        for piece in plan.slices:
            of_table.setdefault(piece.table, []).append(piece)
        return {
            table_name(index): ParameterConstraints(
                sharding_types=[GRID], min_partition=min(piece.dim for piece in pieces)
            )
            for index, pieces in of_table.items()
            if any(piece.dim < self.task.tables[index].dim for piece in pieces)
            and any(piece.rows < self.task.tables[index].rows for piece in pieces)
        }

    def lookups(self, batch: int, rank: int, seed: int) -> dict[str, Lookups]:
        """Drawn from the tables' statistics: for the part of the `batch` that `rank` serves, in each module."""
        of_rank = batch // self.task.devices
        drawn = {}
        for name, tables in self.modules.items():
            features: list[str] = []
            ids, lengths = [], []
            for index in tables:
                table = self.task.tables[index]
                bags = whole_features(index, table)
                whole = of_rank * self.task.devices
                access = TableAccess(table.rows, *table_access(table, whole))
                # All ranks draw the whole batch, alike.
                generator = torch.Generator(self.device).manual_seed(seed * len(self.task.tables) + index)
                rows, of_bags = draw_lookups(access, bags * whole, generator)
                offsets = torch.cat([of_bags.new_zeros(1), of_bags.cumsum(0)])
                for feature in range(bags):
                    first = (feature * self.task.devices + rank) * of_rank
                    ids.append(rows[offsets[first] : offsets[first + of_rank]].clone())
                    lengths.append(offsets[first : first + of_rank + 1].diff())
                features += feature_names(index, table)
            values = torch.cat(ids)
            if self.task.exchange.ids == "int32":
                values = values.int()
            drawn[name] = Lookups(
                features,
                values.to(self.device),
                torch.cat(lengths).to(values.dtype).to(self.device),
                torch.ones(len(values), device=self.device) if name == "weighted" else None,
            )
        return drawn

    def optimizer_of_replicas(self, weights: Sequence[nn.Parameter]) -> torch.optim.Optimizer:
        kind = OF_REPLICAS.get(self.optimizer, torch.optim.Adam)
        return kind(weights, lr=LEARNING_RATE)  # type: ignore[call-arg]


def module_of(table: Table) -> str:
    if table.pooling == "none":
        return "sequences"
    return "weighted" if table.weighted else "pooled"


def table_name(index: int) -> str:
    return f"table_{index}"


def feature_names(index: int, table: Table) -> list[str]:
    return [f"feature_{feature}_of_{table_name(index)}" for feature in range(whole_features(index, table))]


def common_config(index: int, table: Table) -> dict[str, Any]:
    types = {name: data_type for data_type, name in WEIGHT_TYPES.items()}
    return {
        "name": table_name(index),
        "num_embeddings": table.rows,
        "embedding_dim": table.dim,
        "feature_names": feature_names(index, table),
        "data_type": types.get(table.weight_type, DataType.FP32),
    }


def label(index: int, table: Table) -> str:
    return table.name or str(index)


def whole_features(index: int, table: Table) -> int:
    if table.features != int(table.features):
        raise Error(f"table {label(index, table)}: features is {table.features}; TorchRec needs a whole number")
    return int(table.features)


def require_types(task: Task, device: torch.device) -> None:
    sent = task.exchange
    deduplicated = sent.deduplicate_ids or sent.deduplicate_by_table
    if (sent.forward_share, sent.backward_share) != (1.0, 1.0) or deduplicated or sent.hot_rows:
        raise Error("exchange has shares, deduplicated ids or hot_rows, which cannot be measured; leave them out")
    if device.type == "cpu" and any(table.weight_type == "int8" for table in task.tables):
        raise Error("weight_type int8 cannot be trained on CPUs; give fp32 or fp16")


def single_optimizer(task: Task, device: torch.device) -> str:
    names = sorted({table.optimizer for table in task.tables})
    if len(names) > 1:
        raise Error(f"optimizer of tables is {' and '.join(names)}; give all tables one to measure plans")
    if device.type == "cpu" and names[0] not in ON_CPUS:
        raise Error(f"optimizer {names[0]} is not there on CPUs; {give(ON_CPUS)}")
    return names[0]


def give(names: Sequence[str] | dict[str, Any]) -> str:
    *others, last = names
    return f"give {', '.join(others)} or {last}"
