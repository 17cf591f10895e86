"""One rank of a training run on CPUs: plans, shards, trains, and writes what differed from the unsharded
model. `training_rank.py RANK WORLD_SIZE PORT FOLDER`; the test starts one for each rank."""

import json
import logging
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

RANK, WORLD_SIZE, PORT, FOLDER = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], Path(sys.argv[4])
os.environ.update(
    MASTER_ADDR="127.0.0.1",
    MASTER_PORT=PORT,
    RANK=str(RANK),
    WORLD_SIZE=str(WORLD_SIZE),
    LOCAL_RANK=str(RANK),
    LOCAL_WORLD_SIZE=str(WORLD_SIZE),
    GLOO_SOCKET_IFNAME="lo",
)

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoint
from fbgemm_gpu.split_embedding_configs import EmbOptimType
from torchrec import PoolingType
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.model_parallel import DistributedModelParallel
from torchrec.distributed.planner.types import Topology
from torchrec.modules.embedding_configs import DataType
from two_modules import TwoModules, Variant, batch, constraints, loss

from neuroshard.torchrec import NeuroShardPlanner

LEARNING_RATE = 0.02
EPSILON = 1e-3
STEPS = 3


@dataclass
class Case:
    optimizer: EmbOptimType = EmbOptimType.EXACT_SGD
    variant: Variant = field(default_factory=Variant)
    equal_widths: bool = True


CASES = {
    2: {
        "sgd": Case(),
        "adagrad, mean": Case(EmbOptimType.EXACT_ADAGRAD, Variant(pooling=PoolingType.MEAN)),
        "row-wise adagrad": Case(EmbOptimType.EXACT_ROWWISE_ADAGRAD),
        "fp16": Case(variant=Variant(data_type=DataType.FP16)),
    },
    4: {"sgd, mean": Case(variant=Variant(pooling=PoolingType.MEAN)), "adagrad": Case(EmbOptimType.EXACT_ADAGRAD)},
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
        for name, tensor in state.items()
        if hasattr(tensor, "local_shards")
    }


def worst_difference(state: dict, weights: dict[str, torch.Tensor]) -> float:
    worst = 0.0
    for name, pieces in local_pieces(state).items():
        for (row, column), piece in pieces:
            rows, columns = piece.shape
            expected = weights[name][row : row + rows, column : column + columns]
            worst = max(worst, float((piece.float() - expected.float()).abs().max()))
    return worst


def run(case: Case) -> dict:
    torch.manual_seed(7)
    reference, model = TwoModules(case.variant), TwoModules(case.variant)
    initial = {name: weight.detach().clone() for name, weight in reference.state_dict().items()}
    sharders = [
        EmbeddingBagCollectionSharder(
            fused_params={"optimizer": case.optimizer, "learning_rate": LEARNING_RATE, "eps": EPSILON}
        )
    ]
    planner = NeuroShardPlanner(
        topology=Topology(world_size=WORLD_SIZE, compute_device="cpu", local_world_size=WORLD_SIZE),
        batch_size=6,
        constraints=constraints(),
        equal_widths=case.equal_widths,
        debug=False,
    )
    plan = planner.collective_plan(model, sharders, dist.group.WORLD)
    kinds: dict[str, str] = {}
    pieces: dict[str, list[tuple[int, int]]] = {}
    for path, module_plan in plan.plan.items():
        for name, sharding in module_plan.items():
            kinds[name] = sharding.sharding_type
            shards = sharding.sharding_spec.shards
            pieces[f"{path}.embedding_bags.{name}.weight"] = sorted(
                (shard.shard_offsets[1], shard.shard_sizes[1]) for shard in shards
            )
    result: dict = {"kinds": kinds, "pieces": pieces, "options": len(planner.get_selected_options())}

    sharded = DistributedModelParallel(model, device=torch.device("cpu"), plan=plan, sharders=sharders)
    sharded.load_state_dict(initial)  # Of the unsharded model.
    result["loaded"] = worst_difference(sharded.state_dict(), initial)

    unsharded = Unsharded(reference, case.optimizer, pieces)
    generator = torch.Generator().manual_seed(11)
    result["forward"] = 0.0
    for _ in range(STEPS):
        batches = [batch(generator) for _ in range(WORLD_SIZE)]
        outputs, expected = sharded(batches[RANK]), reference(batches[RANK])
        for output, wanted in zip(outputs, expected):
            assert sorted(output.keys()) == sorted(wanted.keys())
            for key in wanted.keys():
                difference = float((output[key].float() - wanted[key].float()).abs().max())
                result["forward"] = max(result["forward"], difference)
        loss(outputs).backward()
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
    dist.init_process_group("gloo")
    results = {name: run(case) for name, case in CASES[WORLD_SIZE].items()}
    (FOLDER / f"results of rank {RANK}").write_text(json.dumps(results))
    dist.barrier()
    dist.destroy_process_group()


main()
