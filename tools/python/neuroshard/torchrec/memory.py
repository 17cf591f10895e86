"""Bytes that shards take on their devices."""

from collections.abc import Callable, Mapping, Sequence

import torch
from fbgemm_gpu.split_embedding_configs import EmbOptimType
from torch import nn
from torchrec.distributed.planner.types import Shard, ShardingOption, Topology
from torchrec.distributed.planner.utils import sharder_name
from torchrec.distributed.types import ModuleSharder
from torchrec.distributed.utils import optimizer_type_to_emb_opt_type

from neuroshard._core import MAX_BATCH_SIZE, Table, Task
from neuroshard.torchrec.model_tables import CACHED, STORED
from neuroshard.torchrec.wrappers import inner_sharder

BYTES_OF_STATE = 4
"""Optimizer states are fp32."""

# States of an optimizer: numbers for each weight, and for each row of a shard. Others count as the largest.
STATES: Mapping[EmbOptimType, tuple[int, int]] = {
    EmbOptimType.NONE: (0, 0),
    EmbOptimType.SGD: (0, 0),
    EmbOptimType.EXACT_SGD: (0, 0),
    EmbOptimType.EXACT_ADAGRAD: (1, 0),
    EmbOptimType.EXACT_ROWWISE_ADAGRAD: (0, 1),
    EmbOptimType.LARS_SGD: (1, 0),
    EmbOptimType.ADAM: (2, 0),
    EmbOptimType.PARTIAL_ROWWISE_ADAM: (1, 1),
    EmbOptimType.LAMB: (2, 0),
    EmbOptimType.PARTIAL_ROWWISE_LAMB: (1, 1),
}
MOST_STATES = (2, 0)

# Bytes of a row by the library's formulas (docs/memory.md): for each column, and besides.
WEIGHTS: Mapping[str, tuple[int, int]] = {"fp32": (4, 0), "fp16": (2, 0), "bf16": (2, 0), "int8": (1, 8)}
LIBRARY_STATES: Mapping[str, tuple[int, int]] = {
    "sgd": (0, 0),
    "rowwise_adagrad": (0, 4),
    "adagrad": (4, 0),
    "partial_rowwise_adam": (4, 4),
    "adam": (8, 0),
}
BYTES_OF_ID = 8
BYTES_OF_LOOKUP_WEIGHT = 4
BYTES_OF_OUTPUT = 4

# A row may take less than the formulas say by so much, which is what estimates are rounded by.
ROUNDING = 1e-3


class MemoryCounter:
    """TorchRec's estimates of weights, inputs and outputs, and the states of optimizers.

    Estimates hold the states of optimizers that are attached to parameters. Optimizers that a sharder's `fused_params`
    name are not among them; their states are added here.
    """

    def __init__(self, topology: Topology, sharders: Sequence[ModuleSharder[nn.Module]]) -> None:
        self._on_cpu = topology.compute_device == "cpu"
        self._world_size = topology.world_size
        params = {
            sharder_name(sharder.module_type): getattr(inner_sharder(sharder), "fused_params", None) or {}
            for sharder in sharders
        }
        self._optimizers = {module: of_module.get("optimizer") for module, of_module in params.items()}
        self._load_factors = {module: of_module.get("cache_load_factor") for module, of_module in params.items()}

    def available(self, topology: Topology) -> list[int]:
        """Bytes of each rank, in the memory that kernels compute from."""
        return [device.storage.ddr if self._on_cpu else device.storage.hbm for device in topology.devices]

    def shard_bytes(self, option: ShardingOption, shard: Shard) -> int:
        """`shard` is one of `option`, with estimates."""
        assert shard.storage is not None
        return int(shard.storage.ddr if self._on_cpu else shard.storage.hbm) + self._state_bytes(option, shard)

    def option_bytes(self, option: ShardingOption) -> int:
        """Bytes of all its shards."""
        return sum(self.shard_bytes(option, shard) for shard in option.shards)

    def used(self, options: Sequence[ShardingOption]) -> list[int]:
        """Bytes used on each rank, by `options` that have ranks."""
        used = [0] * self._world_size
        for option in options:
            for shard in option.shards:
                assert shard.rank is not None
                used[shard.rank] += self.shard_bytes(option, shard)
        return used

    def beyond_own_width(self, options: Sequence[ShardingOption]) -> list[int]:
        """Bytes on each rank that estimates of caches lack: FBGEMM gives every row the room of the widest in its cache,
        which tables of a module share that are sharded alike and of a type."""
        shards: dict[tuple[int, str, str, torch.dtype], list[tuple[int, float]]] = {}
        for option in options:
            if option.compute_kernel != CACHED:
                continue
            assert option.cache_load_factor is not None
            for shard in option.shards:
                assert shard.rank is not None
                rows, columns = shard.size
                column_bytes = option.cache_load_factor * rows * option.tensor.element_size()
                cache = (shard.rank, option.module[0], option.sharding_type, option.tensor.dtype)
                shards.setdefault(cache, []).append((columns, column_bytes))
        beyond = [0.0] * self._world_size
        for (rank, *_), sharing in shards.items():
            widest = max(columns for columns, _ in sharing)
            beyond[rank] += sum((widest - columns) * column_bytes for columns, column_bytes in sharing)
        return [int(of_rank) for of_rank in beyond]

    def load_factor_of(self, option: ShardingOption) -> float | None:
        """That of caches which `fused_params` of the sharder name."""
        return self._load_factors.get(sharder_name(type(option.module[1])))

    def states_of(self, option: ShardingOption) -> tuple[int, int]:
        """Numbers for each weight, and for each row of a shard."""
        optimizer = self._optimizers.get(sharder_name(type(option.module[1])))
        attached = getattr(option.tensor, "_optimizer_classes", None)
        if attached:
            try:
                optimizer = optimizer_type_to_emb_opt_type(attached[0])
            except ValueError:
                return MOST_STATES
        return (0, 0) if optimizer is None else STATES.get(optimizer, MOST_STATES)

    def _state_bytes(self, option: ShardingOption, shard: Shard) -> int:
        if hasattr(option.tensor, "_optimizer_classes"):
            return 0
        of_weight, of_row = self.states_of(option)
        if option.compute_kernel in (CACHED, STORED):
            of_weight = 0  # FBGEMM keeps states of rows on the device, and states of weights with the table.
        rows, columns = shard.size
        return int(BYTES_OF_STATE * rows * (of_weight * columns + of_row))


def sized(
    table: Table, row_bytes: float, buffer_bytes: float, blocks: int, task_of_batch: Callable[[Table, int], Task]
) -> Table:
    """`table` with an optimizer and a batch by which the library takes it to need as much memory.

    Neither of these changes what it is predicted to cost; another type of weights would. `row_bytes`: weights and
    states of a row. `buffer_bytes`: ids and outputs of the whole table, in `blocks` row blocks. The library knows no
    other terms, so slices of a table may be estimated to take more or less: where state of narrow weights, say, which
    TorchRec takes to be as narrow, counts as a part of the batch. `task_of_batch`: a task of such a table and of so many
    samples, in which its rules are valid.
    """
    of_weight, of_row = WEIGHTS[table.weight_type]
    sizes = {
        states: (of_weight + of_state) * table.dim + of_row + of_row_state
        for states, (of_state, of_row_state) in LIBRARY_STATES.items()
    }
    fitting = {states: size for states, size in sizes.items() if size <= row_bytes * (1 + ROUNDING)}
    optimizer = max(fitting, key=fitting.__getitem__) if fitting else min(sizes, key=sizes.__getitem__)
    made = Table(
        rows=table.rows,
        dim=table.dim,
        pooling_factor=table.pooling_factor,
        access_histogram=table.access_histogram,
        name=table.name,
        weight_type=table.weight_type,
        optimizer=optimizer,
        rules=table.rules,
        features=table.features,
        pooling=table.pooling,
        weighted=table.weighted,
    )
    # A block has a part of the lookups, and no more outputs than lookups.
    outputs = table.pooling_factor
    if table.pooling != "none":
        outputs = min(blocks * table.features, outputs)
    of_lookup = BYTES_OF_ID + (BYTES_OF_LOOKUP_WEIGHT if table.weighted else 0)
    of_sample = table.pooling_factor * of_lookup + outputs * table.dim * BYTES_OF_OUTPUT
    left = buffer_bytes + (row_bytes - sizes[optimizer]) * table.rows
    samples = round(left / of_sample) if of_sample > 0 else 0
    if samples < 1:
        return made
    # Tables have the batch of the task that they come from.
    return task_of_batch(made, min(samples, MAX_BATCH_SIZE)).tables[0]
