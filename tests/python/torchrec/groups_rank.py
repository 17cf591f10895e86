"""One rank of groups of replicas, on CPUs: plans them, trains by DMPCollection, averages after each iteration, and
writes what differed from the unsharded model. `python -O groups_rank.py RANK WORLD_SIZE FOLDER`; the test starts one for
each rank. DMPCollection asserts that there are GPUs: -O leaves assertions out, so that nothing here may depend on them. Gloo
cannot average, so sums are divided."""

import json
import logging
import sys
from pathlib import Path

RANK, WORLD_SIZE, FOLDER = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])

import torch
import torch.distributed as dist
from fbgemm_gpu.split_embedding_configs import EmbOptimType
from rank_runs import RANKS_OF_NODE
from torch.distributed.remote_device import _remote_device
from torchrec import EmbeddingBagCollection, EmbeddingBagConfig
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.model_parallel import DMPCollection
from torchrec.distributed.planner.storage_reservations import FixedPercentageStorageReservation
from torchrec.distributed.planner.types import ParameterConstraints, Topology
from torchrec.distributed.types import ShardingPlan
from two_modules import batch

from neuroshard.torchrec import plan_groups

LEARNING_RATE = 0.05
TABLES = {"user": (600, 32), "item": (900, 16), "shop": (40, 16)}
FEATURES = {f"of_{name}": rows for name, (rows, _) in TABLES.items()}


def bags() -> EmbeddingBagCollection:
    return EmbeddingBagCollection(
        tables=[
            EmbeddingBagConfig(name=name, num_embeddings=rows, embedding_dim=dim, feature_names=[f"of_{name}"])
            for name, (rows, dim) in TABLES.items()
        ]
    )


def average(group: dist.ProcessGroup, tensors: list[torch.Tensor]) -> None:
    for tensor in tensors:
        dist.all_reduce(tensor, group=group)
        tensor /= dist.get_world_size(group)


class OnCpus(DMPCollection):
    """Where GPUs have numbers, CPUs have none."""

    def _remap_sharding_plan(self, plan: ShardingPlan, *args: object, **named: object) -> None:
        super()._remap_sharding_plan(plan, *args, **named)
        for tables in plan.plan.values():
            for sharding in tables.values():
                for shard in sharding.sharding_spec.shards:
                    shard.placement = _remote_device(f"rank:{shard.placement.rank()}/cpu")


def run(layout: str) -> dict:
    torch.manual_seed(7)
    reference, model = bags(), bags()
    model.load_state_dict(reference.state_dict())
    sharder = EmbeddingBagCollectionSharder(
        fused_params={"optimizer": EmbOptimType.EXACT_SGD, "learning_rate": LEARNING_RATE}
    )
    wrapped = torch.nn.ModuleDict({"bags": model})
    grouped = plan_groups(
        wrapped,
        [sharder],
        Topology(world_size=WORLD_SIZE, compute_device="cpu", local_world_size=RANKS_OF_NODE, ddr_cap=1 << 30),
        1024,
        sizes=[2],
        layouts=[layout],
        average_every=1,
        pg=dist.group.WORLD,
        min_partition=4,
        storage_reservation=FixedPercentageStorageReservation(0.0),
        constraints={
            name: ParameterConstraints(
                pooling_factors=[20.0], sharding_types=["column_wise" if name == "user" else "table_wise"]
            )
            for name in TABLES
        },
        debug=False,
    )
    arguments = grouped.arguments()
    kinds = {name: sharding.sharding_type for name, sharding in grouped.plan.plan["bags"].items()}
    sharded = OnCpus(
        wrapped,
        torch.device("cpu"),
        world_size=WORLD_SIZE,
        global_pg=dist.group.WORLD,
        sharders=[sharder],
        **arguments,
    )
    sharded.set_all_reduce_hook(average)
    state = {f"bags.{name}": weight.clone() for name, weight in reference.state_dict().items()}
    sharded.load_state_dict(state, strict=False)
    generator = torch.Generator().manual_seed(11)
    before = {name: weight.detach().clone() for name, weight in reference.named_parameters()}
    forward = 0.0
    for _ in range(3):
        batches = [batch(FEATURES, generator) for _ in range(WORLD_SIZE)]
        output, expected = sharded.module.bags(batches[RANK]), reference(batches[RANK])
        for feature in FEATURES:
            forward = max(forward, float((output[feature] - expected[feature]).abs().max()))
        sum(output[feature].pow(2).sum() for feature in FEATURES).backward()
        reference.zero_grad()
        sum(reference(one)[feature].pow(2).sum() for one in batches for feature in FEATURES).backward()
        with torch.no_grad():
            for weight in reference.parameters():
                # TorchRec divides gradients by the number of ranks.
                weight -= LEARNING_RATE * weight.grad / WORLD_SIZE
        sharded.sync()
    changed = max(float((weight - before[name]).abs().max()) for name, weight in reference.named_parameters())
    return {
        "kinds": kinds,
        "forward": forward,
        "changed": changed,
        "size": grouped.cost.size,
        "consecutive": arguments["use_inter_host_allreduce"],
        "node_group_size": grouped.node_group_size,
        "average_every": grouped.cost.average_every,
    }


def main() -> None:
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"file://{FOLDER}/meeting", rank=RANK, world_size=WORLD_SIZE)
    results = {layout: run(layout) for layout in ("consecutive", "interleaved")}
    (FOLDER / f"results of rank {RANK}").write_text(json.dumps(results))
    dist.barrier()
    dist.destroy_process_group()


main()
