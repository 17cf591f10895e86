"""One rank that runs plans of modules that wrap a collection, and writes by how much their outputs differ from the
unsharded ones: `wrapped_rank.py RANK WORLD_SIZE FOLDER`; the test starts one for each rank."""

import json
import os
import sys
from pathlib import Path

RANK, WORLD_SIZE, FOLDER = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])

import copy

import torch
import torch.distributed as dist
from torchrec import EmbeddingBagCollection, EmbeddingBagConfig, KeyedJaggedTensor, PoolingType
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.fp_embeddingbag import FeatureProcessedEmbeddingBagCollectionSharder
from torchrec.distributed.model_parallel import DistributedModelParallel
from torchrec.distributed.planner.storage_reservations import FixedPercentageStorageReservation
from torchrec.distributed.planner.types import ParameterConstraints, PlannerError, Topology
from torchrec.modules.feature_processor_ import PositionWeightedModuleCollection
from torchrec.modules.fp_embedding_modules import FeatureProcessedEmbeddingBagCollection

from neuroshard.torchrec import NeuroShardPlanner

TABLES = {"large": (40_000, ["a"]), "small": (500, ["b"]), "many": (500, ["c", "d", "e"])}
FEATURES = [feature for _, features in TABLES.values() for feature in features]
KINDS = ["table_wise", "column_wise", "row_wise"]
BATCH = 4


class AnyKind(EmbeddingBagCollectionSharder):
    """By default TorchRec offers no rows on CPUs, which can do them all the same."""

    def sharding_types(self, compute_device_type: str) -> list[str]:
        return KINDS


def collection(pooling: PoolingType, weighted: bool) -> EmbeddingBagCollection:
    torch.manual_seed(1)
    return EmbeddingBagCollection(
        tables=[
            EmbeddingBagConfig(
                name=name, num_embeddings=rows, embedding_dim=32, feature_names=features, pooling=pooling
            )
            for name, (rows, features) in TABLES.items()
        ],
        is_weighted=weighted,
    )


class Model(torch.nn.Module):
    def __init__(self, of: str) -> None:
        super().__init__()
        torch.manual_seed(2)  # All ranks alike.
        if of == "processed":
            weights = PositionWeightedModuleCollection({feature: 8 for feature in FEATURES})
            for index, weight in enumerate(weights.parameters()):
                torch.nn.init.uniform_(weight, 0.5 + index, 1.5 + index)
            self.inner: torch.nn.Module = FeatureProcessedEmbeddingBagCollection(
                collection(PoolingType.SUM, True), weights
            )
        else:
            weighted = of == "weighted"
            self.inner = collection(PoolingType.SUM if weighted else PoolingType.MEAN, weighted)

    def forward(self, features: KeyedJaggedTensor) -> torch.Tensor:
        outputs = self.inner(features)
        return torch.cat([outputs[feature] for feature in FEATURES], 1)


def error_of(of: str, named: dict[str, list[str]]) -> tuple[float, list[str]] | str:
    """By how much outputs differ at most, and the kinds of sharding; or why there is no plan."""
    unsharded = Model(of)
    inner = AnyKind()
    sharders = [FeatureProcessedEmbeddingBagCollectionSharder(inner) if of == "processed" else inner]
    planner = NeuroShardPlanner(
        topology=Topology(WORLD_SIZE, "cpu", local_world_size=WORLD_SIZE, ddr_cap=1 << 30),
        batch_size=BATCH,
        constraints={
            name: ParameterConstraints(sharding_types=kinds, pooling_factors=[200.0 if name == "large" else 2.0])
            for name, kinds in named.items()
        },
        storage_reservation=FixedPercentageStorageReservation(0.0),
        stats=[],
        debug=False,
        min_partition=4,
    )
    model = copy.deepcopy(unsharded)
    try:
        plan = planner.collective_plan(model, sharders, dist.group.WORLD)
    except PlannerError as error:
        return str(error)
    sharded = DistributedModelParallel(model, device=torch.device("cpu"), plan=plan, sharders=sharders)
    weights = {name.rsplit("embedding_bags.")[-1]: weight for name, weight in unsharded.state_dict().items()}
    with torch.no_grad():
        for name, weight in sharded.state_dict().items():
            for shard in weight.local_shards() if hasattr(weight, "local_shards") else []:
                (row, column), (rows, columns) = shard.metadata.shard_offsets, shard.metadata.shard_sizes
                whole = weights[name.rsplit("embedding_bags.")[-1]]
                shard.tensor.copy_(whole[row : row + rows, column : column + columns])
    generator = torch.Generator().manual_seed(5 + RANK)
    lengths = torch.randint(1, 5, (BATCH * len(FEATURES),), generator=generator)
    ids = torch.randint(0, 500, (int(lengths.sum()),), generator=generator)
    numbers = torch.rand(ids.shape, generator=generator) if of == "weighted" else None
    batch = KeyedJaggedTensor(keys=FEATURES, values=ids, weights=numbers, lengths=lengths)
    sharded.eval()
    difference = (sharded(batch) - unsharded(batch)).abs().max()
    kinds = {sharding.sharding_type for of_module in plan.plan.values() for sharding in of_module.values()}  # type: ignore[attr-defined]
    return float(difference.detach()), sorted(kinds)


dist.init_process_group("gloo", f"file://{FOLDER}/meet", rank=RANK, world_size=WORLD_SIZE)
results = {
    "processed": error_of("processed", {name: KINDS for name in TABLES}),
    "weighted": error_of("weighted", {name: KINDS for name in TABLES}),
    "mean": error_of("mean", {name: KINDS for name in TABLES}),
    "mean by rows": error_of("mean", {name: ["row_wise"] if name == "large" else ["table_wise"] for name in TABLES}),
}
(FOLDER / f"results of rank {RANK}").write_text(json.dumps(results))
dist.barrier()
os._exit(0)
