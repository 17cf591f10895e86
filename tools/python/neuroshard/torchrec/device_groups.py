"""Plans for DMPCollection: ranks in groups that each hold all tables (docs/device_groups.md)."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import torch.distributed as dist
from torch import nn
from torchrec.distributed.planner.types import PlannerError, PlannerErrorType, Topology
from torchrec.distributed.types import ModuleSharder, ShardingPlan

from neuroshard._core import DeviceGroups, Task
from neuroshard.torchrec.first_rank import on_first_rank
from neuroshard.torchrec.planner import NeuroShardPlanner


class GroupsCost(NamedTuple):
    """Predicted cost of one way to make groups."""

    size: int
    """Ranks of a group."""
    layout: str
    """"consecutive" or "interleaved"."""
    cost_ms: float
    """An iteration, with its part of the averaging."""
    averaging_ms: float
    """Once."""
    average_every: int
    """Iterations between two averagings; 0: there is one group, and nothing to average."""


class GroupedPlan(NamedTuple):
    """The cheapest groups, and the plan of each of them."""

    plan: ShardingPlan
    """Its ranks count from 0: DMPCollection moves them to those of each group, in place."""
    cost: GroupsCost
    node_group_size: int
    """Ranks of a group that share a node."""
    tried: list[GroupsCost]
    """All sizes and layouts that have a plan by the library's count of memory, cheapest first."""
    left_out: list[str]
    """Sizes that were not tried though none were asked for, each with its reason."""

    def arguments(self) -> dict[str, Any]:
        """The arguments of DMPCollection that say what groups there are, and their plan. The job calls its sync() every
        `cost.average_every` iterations."""
        return {
            "plan": self.plan,
            "sharding_group_size": self.cost.size,
            "node_group_size": self.node_group_size,
            "use_inter_host_allreduce": self.cost.layout == "consecutive",
        }


def plan_groups(
    module: nn.Module,
    sharders: list[ModuleSharder[nn.Module]],
    topology: Topology,
    batch_size: int,
    *,
    sizes: Sequence[int] = (),
    layouts: Sequence[str] = (),
    average_every: int | None = None,
    average_share: float = 0.05,
    average_optimizer: bool = True,
    pg: dist.ProcessGroup | None = None,
    **of_planner: Any,
) -> GroupedPlan:
    """Chooses sizes and layout of groups of ranks for `module`, and plans a group.

    Arguments:
      topology: all ranks, in nodes of `local_world_size`.
      batch_size: samples of a rank.
      sizes: ranks of a group to choose from, divisors of the world size; none: as Planner.plan_groups() says.
      layouts: "consecutive" (`use_inter_host_allreduce` of DMPCollection), "interleaved"; none: both.
      average_every: iterations between two averagings. None: so many that averaging takes `average_share` of the time.
      average_optimizer: whether the states of optimizers are averaged, too.
      pg: its first rank plans for all of them. None: this process plans for itself.
      of_planner: what else NeuroShardPlanner takes, for the plan of a group.

    The library ranks the groups; the plan is that of the cheapest for which NeuroShardPlanner finds room by TorchRec's
    estimates. Raises PlannerError if there is none, and Error if an argument is wrong.
    """

    def plan() -> GroupedPlan:
        node = topology.local_world_size
        reader = _planner(topology, min(topology.world_size, node), node, batch_size, of_planner)
        found = reader.library.plan_groups(
            _of_all_ranks(reader.read_task(module, sharders), topology, batch_size),
            sizes=sizes,
            layouts=layouts,
            iterations=average_every,
            share=average_share,
            optimizer_state=average_optimizer,
        )
        tried = sorted((groups for groups in found.plans if groups.result.plan), key=lambda groups: groups.cost_ms)
        costs = [_cost_of(groups) for groups in tried]
        for groups, cost in zip(tried, costs):
            of_node = groups.task.devices_per_node
            planner = _planner(topology, groups.size, of_node, batch_size, of_planner)
            try:
                plan_of_group = planner.plan(module, sharders)
            except PlannerError as error:
                if error.error_type != PlannerErrorType.INSUFFICIENT_STORAGE:
                    raise
                continue
            return GroupedPlan(plan_of_group, cost, min(of_node, groups.size), costs, list(found.left_out))
        raise PlannerError(
            f"neuroshard found no groups of {topology.world_size} ranks that have room for all tables",
            PlannerErrorType.INSUFFICIENT_STORAGE,
        )

    return plan() if pg is None else on_first_rank(pg, plan)


def _planner(
    topology: Topology, ranks: int, ranks_of_node: int, batch_size: int, of_planner: dict[str, Any]
) -> NeuroShardPlanner:
    """For `ranks` of `topology`, so many of them in a node."""
    group = deepcopy(topology)
    group._world_size = ranks
    group._devices = group._devices[:ranks]
    group._local_world_size = group._intra_group_size = min(ranks_of_node, ranks)
    return NeuroShardPlanner(topology=group, batch_size=batch_size, **of_planner)


def _of_all_ranks(task: Task, topology: Topology, batch_size: int) -> Task:
    """`task`, of a few ranks, for all of them."""
    rooms = [device.memory_bytes for device in task.device_list] if task.device_list else [task.memory_bytes]
    return Task(
        task.tables,
        topology.world_size,
        min(rooms),
        name=task.name,
        batch_size=batch_size * topology.world_size,
        count_buffers=False,
        devices_per_node=topology.local_world_size,
        links=task.links,
        exchange=task.exchange,
        overlap=task.overlap,
        groups=task.groups,
    )


def _cost_of(groups: DeviceGroups) -> GroupsCost:
    every = round(groups.iterations) if groups.copies > 1 else 0
    return GroupsCost(groups.size, groups.layout, groups.cost_ms, groups.averaging_ms, every)
