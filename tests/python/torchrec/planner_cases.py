"""Models, topologies and planners that several tests use."""

import torch
from torchrec import EmbeddingBagCollection, EmbeddingBagConfig, PoolingType
from torchrec.distributed.embedding import EmbeddingCollectionSharder
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.planner.storage_reservations import FixedPercentageStorageReservation
from torchrec.distributed.planner.types import Topology
from torchrec.distributed.types import ShardingPlan
from torchrec.modules.embedding_configs import DataType

from neuroshard.torchrec import NeuroShardPlanner

GIB = 1 << 30
SHARDERS = [EmbeddingBagCollectionSharder(), EmbeddingCollectionSharder()]


def bags(
    tables: dict[str, tuple[int, int]],
    data_type: DataType = DataType.FP32,
    pooling: PoolingType = PoolingType.SUM,
    features: dict[str, int] = {},
) -> EmbeddingBagCollection:
    """`features`: how many read a table, if not one."""
    return EmbeddingBagCollection(
        tables=[
            EmbeddingBagConfig(
                name=name,
                num_embeddings=rows,
                embedding_dim=dim,
                feature_names=[f"of_{name}_{feature}" for feature in range(features.get(name, 1))],
                data_type=data_type,
                pooling=pooling,
            )
            for name, (rows, dim) in tables.items()
        ],
        device=torch.device("meta"),
    )


def topology(world_size: int = 4, hbm_cap: int = 16 * GIB, node: int | None = None) -> Topology:
    """`node`: ranks of a node; None: all."""
    return Topology(world_size=world_size, compute_device="cuda", hbm_cap=hbm_cap, local_world_size=node or world_size)


def planner(**arguments: object) -> NeuroShardPlanner:
    given: dict[str, object] = {
        "topology": topology(),
        "storage_reservation": FixedPercentageStorageReservation(0.0),
        "stats": [],
        "debug": False,
        "min_partition": 4,
        **arguments,
    }
    return NeuroShardPlanner(**given)  # type: ignore[arg-type]


MIXED = {"a": (4_000_000, 128), "b": (1_000_000, 64), "c": (50_000, 32), "d": (1000, 16), "e": (7, 4)}


def pieces_of(plan: ShardingPlan, path: str, name: str) -> list[tuple[int, int, int]]:
    shards = plan.plan[path][name].sharding_spec.shards  # type: ignore[index]
    return [(s.shard_offsets[1], s.shard_sizes[1], s.placement.rank()) for s in shards]
