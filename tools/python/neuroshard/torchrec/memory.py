"""Bytes that shards take on their devices."""

from collections.abc import Mapping, Sequence

from fbgemm_gpu.split_embedding_configs import EmbOptimType
from torch import nn
from torchrec.distributed.planner.types import Shard, ShardingOption, Topology
from torchrec.distributed.planner.utils import sharder_name
from torchrec.distributed.types import ModuleSharder

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


class MemoryCounter:
    """TorchRec's estimates of weights, inputs and outputs, and the states of optimizers.

    Estimates hold the states of optimizers that are attached to parameters. Those that a sharder's
    `fused_params` name are not among them; they are added here.
    """

    def __init__(self, topology: Topology, sharders: Sequence[ModuleSharder[nn.Module]]) -> None:
        self._on_cpu = topology.compute_device == "cpu"
        self._world_size = topology.world_size
        self._optimizers = {
            sharder_name(sharder.module_type): (getattr(sharder, "fused_params", None) or {}).get("optimizer")
            for sharder in sharders
        }

    def available(self, topology: Topology) -> list[int]:
        """Of each rank, in the memory that kernels compute from."""
        return [device.storage.ddr if self._on_cpu else device.storage.hbm for device in topology.devices]

    def shard_bytes(self, option: ShardingOption, shard: Shard) -> int:
        """`shard` is one of `option`, with estimates."""
        assert shard.storage is not None
        return int(shard.storage.ddr if self._on_cpu else shard.storage.hbm) + self._state_bytes(option, shard)

    def option_bytes(self, option: ShardingOption) -> int:
        """Of all its shards."""
        return sum(self.shard_bytes(option, shard) for shard in option.shards)

    def used(self, options: Sequence[ShardingOption]) -> list[int]:
        """Of each rank, by `options` that have ranks."""
        used = [0] * self._world_size
        for option in options:
            for shard in option.shards:
                assert shard.rank is not None
                used[shard.rank] += self.shard_bytes(option, shard)
        return used

    def _state_bytes(self, option: ShardingOption, shard: Shard) -> int:
        optimizer = self._optimizers.get(sharder_name(type(option.module[1])))
        if optimizer is None or hasattr(option.tensor, "_optimizer_classes"):
            return 0
        of_weight, of_row = STATES.get(optimizer, MOST_STATES)
        rows, columns = shard.size
        return int(BYTES_OF_STATE * rows * (of_weight * columns + of_row))
