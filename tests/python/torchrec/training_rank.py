"""One rank of a training run on CPUs: plans, shards, trains, and writes what differed from the unsharded
model. `training_rank.py RANK WORLD_SIZE FOLDER`; the test starts one for each rank."""

import json
import logging
import sys
from dataclasses import dataclass, field
from pathlib import Path

RANK, WORLD_SIZE, FOLDER = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoint
from fbgemm_gpu.split_embedding_configs import EmbOptimType
from published_model import PublishedModel, published_plan, published_task
from rank_runs import RANKS_OF_NODE
from torchrec import PoolingType
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.model_parallel import DistributedModelParallel
from torchrec.distributed.planner.storage_reservations import FixedPercentageStorageReservation
from torchrec.distributed.planner.types import Topology
from torchrec.distributed.types import ModuleSharder, ShardingPlan
from torchrec.modules.embedding_configs import DataType
from two_modules import ROWS, TwoModules, Variant, batch, constraints, loss

from neuroshard.torchrec import NeuroShardPlanner

LEARNING_RATE = 0.02
EPSILON = 1e-3
STEPS = 3


# By default TorchRec offers no rows on CPUs, which can do them all the same.
KINDS = ["data_parallel", "table_wise", "column_wise", "row_wise", "table_row_wise", "grid_shard"]


class AnyKindSharder(EmbeddingBagCollectionSharder):
    def sharding_types(self, compute_device_type: str) -> list[str]:
        return KINDS


@dataclass
class Case:
    optimizer: EmbOptimType = EmbOptimType.EXACT_SGD
    variant: Variant = field(default_factory=Variant)
    kinds: dict[str, str] = field(default_factory=dict)
    """The only ones for some tables."""
    memory_bytes: int = 1 << 30


ALL_KINDS = {"user": "grid_shard", "country": "data_parallel", "item": "row_wise", "brand": "table_row_wise"}
MEAN, FP16 = Variant(pooling=PoolingType.MEAN), Variant(data_type=DataType.FP16)
PUBLISHED = "published tables"
CASES = {
    2: {
        "columns, sgd": Case(kinds={"user": "column_wise"}),
        "adagrad, mean": Case(EmbOptimType.EXACT_ADAGRAD, MEAN),
        "row-wise adagrad": Case(EmbOptimType.EXACT_ROWWISE_ADAGRAD),
        "fp16": Case(variant=FP16),
        # "session" has 1.6 MB, whichever columns are cut, and all tables have 2.3 MB.
        "rows by the search": Case(EmbOptimType.EXACT_ROWWISE_ADAGRAD, memory_bytes=1_400_000),
    },
    4: {
        "mean, data-parallel": Case(variant=MEAN, kinds={"country": "data_parallel"}),
        "all kinds, sgd": Case(kinds=ALL_KINDS),
        "all kinds, adagrad": Case(EmbOptimType.EXACT_ADAGRAD, kinds=ALL_KINDS),
        "rows, row-wise adagrad, fp16": Case(
            EmbOptimType.EXACT_ROWWISE_ADAGRAD,
            FP16,
            {"user": "grid_shard", "item": "row_wise", "session": "table_row_wise"},
        ),
        PUBLISHED: Case(EmbOptimType.EXACT_ADAGRAD),
    },
}


class Unsharded:
    """The model trained by the optimizers' formulas."""

    def __init__(self, model: torch.nn.Module, optimizer: EmbOptimType, pieces: dict[str, list[tuple[int, int]]]) -> None:
        self.model = model
        self.optimizer = optimizer
        self.pieces = pieces
        self.sums = {name: torch.zeros_like(weight, dtype=torch.float32) for name, weight in model.named_parameters()}

    def step(self, batches: list) -> None:
        self.model.zero_grad()
        # TorchRec divides gradients by the number of ranks.
        (sum(loss(self.model(one)) for one in batches) / len(batches)).backward()
        with torch.no_grad():
            for name, weight in self.model.named_parameters():
                gradient = weight.grad.float()
                if self.optimizer == EmbOptimType.EXACT_SGD:
                    change = gradient
                else:
                    squares = gradient.pow(2)
                    if self.optimizer == EmbOptimType.EXACT_ROWWISE_ADAGRAD:
                        # A shard knows its own columns only.
                        squares = torch.cat(
                            [
                                squares[:, first : first + columns].mean(1, keepdim=True).expand(-1, columns)
                                for first, columns in self.pieces[name]
                            ],
                            1,
                        )
                    self.sums[name] += squares
                    change = gradient / (self.sums[name].sqrt() + EPSILON)
                weight -= (LEARNING_RATE * change).to(weight.dtype)


def local_pieces(state: dict) -> dict[str, list]:
    return {
        name: [(tuple(s.metadata.shard_offsets), s.tensor) for s in tensor.local_shards()]
        if hasattr(tensor, "local_shards")
        else [((0, 0), tensor)]  # Data-parallel.
        for name, tensor in state.items()
    }


def worst_difference(state: dict, weights: dict[str, torch.Tensor]) -> float:
    worst = 0.0
    for name, pieces in local_pieces(state).items():
        for (row, column), piece in pieces:
            rows, columns = piece.shape
            expected = weights[name][row : row + rows, column : column + columns]
            worst = max(worst, float((piece.float() - expected.float()).abs().max()))
    return worst


def planned(case: Case, model: torch.nn.Module, sharders: list[ModuleSharder]) -> tuple[ShardingPlan, int]:
    """And how many options the planner says it has selected."""
    planner = NeuroShardPlanner(
        topology=Topology(
            world_size=WORLD_SIZE,
            compute_device="cpu",
            local_world_size=RANKS_OF_NODE,
            ddr_cap=case.memory_bytes,
        ),
        batch_size=6,
        min_partition=4,
        storage_reservation=FixedPercentageStorageReservation(0.0),
        constraints=constraints(case.kinds),
        debug=False,
    )
    plan = planner.collective_plan(model, sharders, dist.group.WORLD)
    return plan, len(planner.get_selected_options())


def run(name: str, case: Case) -> dict:
    torch.manual_seed(7)
    sharders = [
        AnyKindSharder(fused_params={"optimizer": case.optimizer, "learning_rate": LEARNING_RATE, "eps": EPSILON})
    ]
    result: dict = {}
    if name == PUBLISHED:
        task = published_task(4, 0, gib=4.0)
        reference, model = PublishedModel(task), PublishedModel(task)
        rows = model.rows
        topology = Topology(world_size=WORLD_SIZE, compute_device="cpu", local_world_size=RANKS_OF_NODE)
        plan = published_plan(task, model, topology, sharders)
    else:
        reference, model = TwoModules(case.variant), TwoModules(case.variant)
        rows = ROWS
        plan, result["options"] = planned(case, model, sharders)
    initial = {name: weight.detach().clone() for name, weight in reference.state_dict().items()}
    kinds: dict[str, str] = {}
    pieces: dict[str, list[tuple[int, int]]] = {}
    for path, module_plan in plan.plan.items():
        for table, sharding in module_plan.items():
            kinds[table] = sharding.sharding_type
            shards = sharding.sharding_spec.shards if sharding.sharding_spec is not None else []
            pieces[f"{path}.embedding_bags.{table}.weight"] = sorted(
                {(shard.shard_offsets[1], shard.shard_sizes[1]) for shard in shards}
            )
    result.update(kinds=kinds, pieces=pieces)

    sharded = DistributedModelParallel(model, device=torch.device("cpu"), plan=plan, sharders=sharders)
    sharded.load_state_dict(initial)  # State of the unsharded model.
    result["loaded"] = worst_difference(sharded.state_dict(), initial)

    # Sharded tables are updated in the backward pass, replicas as any other weights.
    replicas = [w for name, w in sharded.named_parameters() if kinds[name.split(".")[-2]] == "data_parallel"]
    optimizer: torch.optim.Optimizer | None = None
    if replicas and case.optimizer == EmbOptimType.EXACT_SGD:
        optimizer = torch.optim.SGD(replicas, LEARNING_RATE)
    elif replicas:
        optimizer = torch.optim.Adagrad(replicas, LEARNING_RATE, eps=EPSILON)

    unsharded = Unsharded(reference, case.optimizer, pieces)
    generator = torch.Generator().manual_seed(11)
    result["forward"] = 0.0
    for _ in range(STEPS):
        batches = [batch(rows, generator) for _ in range(WORLD_SIZE)]
        outputs, expected = sharded(batches[RANK]), reference(batches[RANK])
        for output, wanted in zip(outputs, expected):
            assert sorted(output.keys()) == sorted(wanted.keys())
            for key in wanted.keys():
                difference = float((output[key].float() - wanted[key].float()).abs().max())
                result["forward"] = max(result["forward"], difference)
        if optimizer is not None:
            optimizer.zero_grad()
        loss(outputs).backward()
        if optimizer is not None:
            optimizer.step()
        unsharded.step(batches)
    weights = reference.state_dict()
    result["weights"] = worst_difference(sharded.state_dict(), weights)
    result["moved"] = max(float((weights[name].float() - initial[name].float()).abs().max()) for name in weights)

    trained = {name: [(at, t.clone()) for at, t in p] for name, p in local_pieces(sharded.state_dict()).items()}

    def unchanged() -> bool:
        now = local_pieces(sharded.state_dict())
        return all(torch.equal(a[1], b[1]) for name in trained for a, b in zip(trained[name], now[name], strict=True))

    sharded.load_state_dict(sharded.state_dict())
    result["state_dict_loads"] = unchanged()
    folder = [str(FOLDER / f"checkpoint {len(list(FOLDER.iterdir()))}") if RANK == 0 else None]
    dist.broadcast_object_list(folder, 0)
    checkpoint.save(sharded.state_dict(), checkpoint_id=folder[0])
    for parts in local_pieces(sharded.state_dict()).values():
        for _, piece in parts:
            with torch.no_grad():
                piece.zero_()
    result["zeroed"] = not unchanged() or not any(trained.values())
    checkpoint.load(sharded.state_dict(), checkpoint_id=folder[0])
    result["checkpoint_loads"] = unchanged()
    for name, tensor in sorted(sharded.state_dict().items()):
        if not hasattr(tensor, "local_shards"):
            continue
        whole = torch.empty(tensor.size(), dtype=tensor.dtype) if RANK == 0 else None
        tensor.gather(0, whole)
        if whole is not None:
            difference = float((whole.float() - weights[name].float()).abs().max())
            result["gathered"] = max(result.get("gathered", 0.0), difference)
    dist.barrier()
    return result


def main() -> None:
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    # By a file: a port that was found free could be taken by then.
    dist.init_process_group("gloo", f"file://{FOLDER}/meeting", rank=RANK, world_size=WORLD_SIZE)
    results = {name: run(name, case) for name, case in CASES[WORLD_SIZE].items()}
    (FOLDER / f"results of rank {RANK}").write_text(json.dumps(results))
    dist.barrier()
    dist.destroy_process_group()


main()
