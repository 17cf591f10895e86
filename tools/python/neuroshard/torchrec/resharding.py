"""From a plan that runs to a new one, while training goes on: what DistributedModelParallel.reshard is given."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import torch.distributed as dist
from torch import nn
from torchrec.distributed.model_parallel import DistributedModelParallel
from torchrec.distributed.planner.types import Shard, ShardingOption
from torchrec.distributed.planner.utils import sharder_name
from torchrec.distributed.types import (
    EmbeddingModuleShardingPlan,
    EnumerableShardingSpec,
    ModuleSharder,
    ParameterSharding,
    ShardingPlan,
)

from neuroshard.errors import Error
from neuroshard.torchrec.memory import MemoryCounter
from neuroshard.torchrec.model_tables import COLUMN_WISE, DATA_PARALLEL, FUSED, TABLE_WISE, ModelTable, with_shards

MIB = 1 << 20


class Resharding(NamedTuple):
    """A plan near to one that runs, and the way there."""

    plan: ShardingPlan
    """The whole of it."""
    delta: dict[str, tuple[float, EmbeddingModuleShardingPlan]]
    """By path of the module: MiB to send, and how the tables that change are sharded from then on."""
    moved_bytes: int
    """Weights and states that ranks are sent, as Planner.replan() counts them."""

    def apply(self, model: DistributedModelParallel) -> None:
        """Moves weights and states of `model`, whose training goes on with the new plan. All ranks call it alike, between
        two iterations. Raises Error, before anything is moved, on what TorchRec (1.9) would fail in midway."""
        if not self.delta:
            return
        if not hasattr(model._dmp_wrapped_module, "module"):
            raise Error("model: TorchRec reshards only what has dense parameters as well; make it with init_data_parallel")
        if dist.get_backend(model._env.process_group) == "gloo":
            self._check_gloo(model.plan)
        for path in self.delta:
            model.reshard(self.delta, path)
            # TorchRec forgets that features which came in the order of the old plan have to be sorted for the new one; if
            # not, the next batch finds out.
            model.module.get_submodule(path)._has_features_permute = True

    def _check_gloo(self, running_plan: ShardingPlan) -> None:
        """TorchRec tags what ranks send by hashes of names, and sends to a rank what it keeps of a table."""
        if os.environ.get("PYTHONHASHSEED", "random") == "random":
            raise Error("model: by gloo, ranks would wait for each other for ever; set PYTHONHASHSEED=0 for all of them")
        for path, (_, changed) in self.delta.items():
            for name, sharding in changed.items():
                if keeps_columns(running_plan.plan[path][name], sharding):
                    raise Error(
                        f"model: a rank keeps columns of table {path}.{name}, and gloo sends nothing from a rank to itself; "
                        "only NCCL does"
                    )


def keeps_columns(running: ParameterSharding, new: ParameterSharding) -> bool:
    """Whether a rank has columns by both."""
    return any(
        one.placement.rank() == other.placement.rank()
        and one.shard_offsets[1] < other.shard_offsets[1] + other.shard_sizes[1]
        and other.shard_offsets[1] < one.shard_offsets[1] + one.shard_sizes[1]
        for one in shards_of(running)
        for other in shards_of(new)
    )


def shards_of(sharding: ParameterSharding) -> list:  # type: ignore[type-arg]
    """Shards of a table that is not replicated."""
    spec = sharding.sharding_spec
    return list(spec.shards) if isinstance(spec, EnumerableShardingSpec) else []


def placement_of(sharding: ParameterSharding) -> list[tuple[int, list[int], list[int]]]:
    """Rank, offsets and sizes of each shard."""
    return [(shard.placement.rank(), shard.shard_offsets, shard.shard_sizes) for shard in shards_of(sharding)]


def running_options(running_plan: ShardingPlan, tables: Sequence[ModelTable], ranks: int) -> list[ShardingOption]:
    """Each of `tables` as it runs, without estimates. Raises Error if the plan is one of other tables or ranks, or if a
    table could not run so."""
    options = []
    running = {
        (path, name): sharding for path, of_module in running_plan.plan.items() for name, sharding in of_module.items()
    }
    missing = [table.full_name for table in tables if (table.path, table.name) not in running]
    if missing or len(running) != len(tables):
        raise Error(
            f"running_plan: it has {len(running)} tables, and the model {len(tables)}"
            + (f", {', '.join(missing)} among them that it does not have" if missing else "")
            + "; give the plan that the model was sharded by"
        )
    for table in tables:
        sharding = running[table.path, table.name]
        found = [
            option
            for option in table.options
            if (option.sharding_type, option.compute_kernel) == (sharding.sharding_type, sharding.compute_kernel)
        ]
        if not found:
            raise Error(
                f"running_plan: table {table.full_name} runs as {sharding.sharding_type} by {sharding.compute_kernel}, "
                "which its sharder and constraints do not allow; let constraints have it"
            )
        if sharding.sharding_type == DATA_PARALLEL:
            shards = [Shard([table.rows, table.columns], [0, 0], rank=rank) for rank in sharding.ranks or range(ranks)]
        else:
            shards = [Shard(list(size), list(offset), rank=rank) for rank, offset, size in placement_of(sharding)]
        if any(shard.rank >= ranks for shard in shards):
            raise Error(f"running_plan: table {table.full_name} has a shard beyond the {ranks} ranks of the topology")
        option = with_shards(found[0], shards)
        option.cache_params = sharding.cache_params or option.cache_params
        options.append(option)
    return options


def refusal_to_move(
    option: ShardingOption,
    of_model: Iterable[ShardingOption],
    sharders: Iterable[ModuleSharder[nn.Module]],
    memory: MemoryCounter,
) -> str | None:
    """Why TorchRec cannot reshard a table that runs as `option`, one of those of the model; None if it can."""
    if option.sharding_type not in (TABLE_WISE, COLUMN_WISE) or option.compute_kernel != FUSED:
        return f"it runs as {option.sharding_type} by {option.compute_kernel}"
    kind = type(option.module[1])
    of_kind = [sharder for sharder in sharders if sharder_name(sharder.module_type) == sharder_name(kind)]
    if not any(hasattr(sharder, "reshard") for sharder in of_kind):
        return f"the sharder of its {kind.__name__} has no reshard"
    if any(other.sharding_type == DATA_PARALLEL for other in of_model if other.path == option.path):
        return "its module has data-parallel tables"
    if sum(memory.states_of(option)) > 1:
        return "of its optimizer's states only the first would be moved"
    return None


def changes(
    running_plan: ShardingPlan, new_plan: ShardingPlan, moved: Mapping[tuple[str, str], int]
) -> dict[str, tuple[float, EmbeddingModuleShardingPlan]]:
    """The delta of tables that the new plan shards otherwise. `moved`: bytes by path and name of table."""
    delta: dict[str, tuple[float, EmbeddingModuleShardingPlan]] = {}
    for path, of_module in new_plan.plan.items():
        changed = EmbeddingModuleShardingPlan(
            {
                name: sharding
                for name, sharding in of_module.items()
                if placement_of(sharding) != placement_of(running_plan.plan[path][name])
            }
        )
        if changed:
            delta[path] = (sum(moved.get((path, name), 0) for name in changed) / MIB, changed)
    return delta
