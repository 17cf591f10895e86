"""One rank of a run of tables that are not pooled, and of one that is, on CPUs: plans, shards, looks up, updates, and writes what differed
from the unsharded model. `sequence_rank.py RANK WORLD_SIZE FOLDER`; the test starts one for each rank."""

import json
import logging
import sys
from pathlib import Path

RANK, WORLD_SIZE, FOLDER = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])

import torch
import torch.distributed as dist
from fbgemm_gpu.split_embedding_configs import EmbOptimType
from torchrec import EmbeddingBagCollection, EmbeddingBagConfig, EmbeddingCollection, EmbeddingConfig, KeyedJaggedTensor
from torchrec.distributed.embedding import EmbeddingCollectionSharder
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.model_parallel import DistributedModelParallel
from torchrec.distributed.planner.storage_reservations import FixedPercentageStorageReservation
from torchrec.distributed.planner.types import ParameterConstraints, Topology
from two_modules import batch

from neuroshard.torchrec import NeuroShardPlanner

LEARNING_RATE = 0.02
# Rows and features.
TABLES = {"item": (900, ["f0", "f1"]), "shop": (40, ["f2"]), "word": (300, ["f3"])}
ROWS = {feature: rows for rows, features in TABLES.values() for feature in features}


def collections() -> torch.nn.ModuleDict:
    """The pooled table shares a feature with one that is not."""
    return torch.nn.ModuleDict(
        {
            "sequences": EmbeddingCollection(
                tables=[
                    EmbeddingConfig(name=name, num_embeddings=rows, embedding_dim=16, feature_names=features)
                    for name, (rows, features) in TABLES.items()
                ]
            ),
            "pooled": EmbeddingBagCollection(
                tables=[EmbeddingBagConfig(name="bag", num_embeddings=900, embedding_dim=32, feature_names=["f0", "f3"])]
            ),
        }
    )


def outputs_of(model: torch.nn.Module, features: KeyedJaggedTensor) -> dict[str, torch.Tensor]:
    sequences, pooled = model["sequences"](features), model["pooled"](features)
    of_sequences = {feature: sequences[feature].values() for feature in ROWS}
    return {**of_sequences, **{f"pooled {feature}": pooled[feature] for feature in ("f0", "f3")}}


def run(*, by_rows: bool) -> dict:
    torch.manual_seed(7)
    reference, model = collections(), collections()
    # FBGEMM finds distinct ids (use_index_dedup) on GPUs alone.
    sharders = [
        of_modules(fused_params={"optimizer": EmbOptimType.EXACT_SGD, "learning_rate": LEARNING_RATE})
        for of_modules in (EmbeddingCollectionSharder, EmbeddingBagCollectionSharder)
    ]
    planner = NeuroShardPlanner(
        topology=Topology(world_size=WORLD_SIZE, compute_device="cpu", local_world_size=WORLD_SIZE, ddr_cap=1 << 30),
        batch_size=6,
        min_partition=4,
        storage_reservation=FixedPercentageStorageReservation(0.0),
        constraints={
            name: ParameterConstraints(
                pooling_factors=[1.5] * len(features),
                sharding_types=["row_wise"] if by_rows and name != "word" else ["table_wise"],
            )
            for name, (_, features) in TABLES.items()
        },
        debug=False,
    )
    plan = planner.collective_plan(model, sharders, dist.group.WORLD)
    kinds = {name: sharding.sharding_type for name, sharding in plan.plan["sequences"].items()}
    sharded = DistributedModelParallel(model, device=torch.device("cpu"), plan=plan, sharders=sharders)
    sharded.load_state_dict({name: weight.clone() for name, weight in reference.state_dict().items()})
    before = {name: weight.detach().clone() for name, weight in reference.named_parameters()}
    generator = torch.Generator().manual_seed(11)
    forward = 0.0
    for _ in range(3):
        batches = [batch(ROWS, generator) for _ in range(WORLD_SIZE)]
        outputs, expected = outputs_of(sharded.module, batches[RANK]), outputs_of(reference, batches[RANK])
        for output, wanted in zip(outputs.values(), expected.values(), strict=True):
            assert output.shape == wanted.shape
            if wanted.numel() > 0:
                forward = max(forward, float((output - wanted).abs().max()))
        torch.stack([output.pow(2).sum() for output in outputs.values()]).sum().backward()
        reference.zero_grad()
        # TorchRec divides gradients by the number of ranks.
        of_ranks = [output.pow(2).sum() for one in batches for output in outputs_of(reference, one).values()]
        (torch.stack(of_ranks).sum() / WORLD_SIZE).backward()
        with torch.no_grad():
            for weight in reference.parameters():
                weight -= LEARNING_RATE * weight.grad
    changed = max(float((w - before[name]).abs().max()) for name, w in reference.named_parameters())
    return {"kinds": kinds, "forward": forward, "changed": changed}


def main() -> None:
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"file://{FOLDER}/meeting", rank=RANK, world_size=WORLD_SIZE)
    results = [run(by_rows=by_rows) for by_rows in (False, True)]
    (FOLDER / f"results of rank {RANK}").write_text(json.dumps(results))
    dist.barrier()
    dist.destroy_process_group()


main()
