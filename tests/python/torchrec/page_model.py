"""What blocks of pages take from a job: a model, its sharders, its ranks (one here), and a plan that it runs by."""

import torch
import torch.distributed as dist
from planner_cases import bags
from torchrec.distributed.planner.types import ParameterConstraints, Topology
from torchrec.distributed.sharding_plan import get_default_sharders

from neuroshard.torchrec import NeuroShardPlanner

USERS = {"user": (400_000, 64), "item": (200_000, 64), "country": (300, 16), "language": (200, 16)}
REGIONS = {"user_eu": (100_000, 64), "user_us": (100_000, 64)}


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.users = bags({**USERS, **REGIONS})
        self.towers = torch.nn.ModuleDict({"a": bags({"shop": (5_000, 32)})})


model = Model()
sharders = get_default_sharders()
topology = Topology(world_size=8, compute_device="cuda", hbm_cap=80 << 30, local_world_size=4)
constraints = {"user": ParameterConstraints(pooling_factors=[30.0])}
planner = NeuroShardPlanner(topology=topology, batch_size=8192, constraints=constraints)
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
process_group = dist.group.WORLD
sharding_plan = planner.plan(model, sharders)
task = planner.task
