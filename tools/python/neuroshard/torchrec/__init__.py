"""Plans for TorchRec: a planner to use in the place of EmbeddingShardingPlanner, and plans to and fro.

    from neuroshard.torchrec import NeuroShardPlanner

    planner = NeuroShardPlanner(topology=topology, constraints=constraints)
    plan = planner.collective_plan(model, sharders, process_group)
    model = DistributedModelParallel(model, plan=plan, sharders=sharders)

Needs torch and torchrec, which the package does not install. docs/python.md says more.
"""

from neuroshard.torchrec.comparison import PlanComparison, PricedPlan
from neuroshard.torchrec.device_groups import GroupedPlan, GroupsCost, plan_groups
from neuroshard.torchrec.plan_store import PlanStore
from neuroshard.torchrec.planner import NeuroShardPlanner
from neuroshard.torchrec.resharding import Resharding
from neuroshard.torchrec.sharding_plans import from_sharding_plan, to_sharding_plan

__all__ = [
    "GroupedPlan",
    "GroupsCost",
    "NeuroShardPlanner",
    "PlanComparison",
    "PlanStore",
    "PricedPlan",
    "Resharding",
    "from_sharding_plan",
    "plan_groups",
    "to_sharding_plan",
]
