"""One rank that trains a model twice, once with a new plan from the middle on, and writes by how much weights differ:
`reshard_rank.py RANK WORLD_SIZE FOLDER`; the test starts one for each rank."""

import json
import os
import sys
from pathlib import Path

RANK, WORLD_SIZE, FOLDER = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])

import torch
import torch.distributed as dist
from fbgemm_gpu.split_embedding_configs import EmbOptimType
from torchrec import EmbeddingBagCollection, EmbeddingBagConfig, KeyedJaggedTensor
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.model_parallel import DistributedModelParallel
from torchrec.distributed.planner.storage_reservations import FixedPercentageStorageReservation
from torchrec.distributed.planner.types import ParameterConstraints, PlannerError, Topology
from torchrec.distributed.types import ShardingPlan

import neuroshard
from neuroshard import TableRules
from neuroshard.torchrec import NeuroShardPlanner, Resharding

# Names, rows and kinds of sharding.
TABLES = {"a": (4000, "table_wise"), "b": (3000, "table_wise"), "c": (2000, "table_wise"), "rows": (1000, "row_wise")}
COLUMNS = 16
BATCH = 6
STEPS = 4


class AnyKind(EmbeddingBagCollectionSharder):
    """By default TorchRec offers no rows on CPUs, which can do them all the same."""

    def sharding_types(self, compute_device_type: str) -> list[str]:
        return ["table_wise", "column_wise", "row_wise", "data_parallel"]


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(2)  # All ranks alike.
        self.tables = EmbeddingBagCollection(
            tables=[
                EmbeddingBagConfig(
                    name=name, num_embeddings=rows, embedding_dim=COLUMNS, feature_names=[f"of_{name}"]
                )
                for name, (rows, _) in TABLES.items()
            ]
        )
        self.dense = torch.nn.Linear(COLUMNS * len(TABLES), 8)

    def forward(self, features: KeyedJaggedTensor) -> torch.Tensor:
        outputs = self.tables(features)
        return self.dense(torch.cat([outputs[f"of_{name}"] for name in TABLES], 1))


def planner(**arguments: object) -> NeuroShardPlanner:
    return NeuroShardPlanner(
        topology=Topology(WORLD_SIZE, "cpu", local_world_size=WORLD_SIZE, ddr_cap=1 << 30),
        batch_size=BATCH,
        constraints={
            name: ParameterConstraints(sharding_types=[kind], pooling_factors=[20.0])
            for name, (_, kind) in TABLES.items()
        },
        storage_reservation=FixedPercentageStorageReservation(0.0),
        stats=[],
        debug=False,
        **arguments,  # type: ignore[arg-type]
    )


def trained(sharders: list, plan: ShardingPlan, change: Resharding | None) -> dict[str, torch.Tensor]:
    """Weights of tables, whole, on the first rank."""
    model = DistributedModelParallel(Model(), device=torch.device("cpu"), plan=plan, sharders=sharders)
    whole = Model().state_dict()
    with torch.no_grad():
        for name, weight in model.state_dict().items():
            for shard in weight.local_shards() if hasattr(weight, "local_shards") else []:
                (row, column), (rows, columns) = shard.metadata.shard_offsets, shard.metadata.shard_sizes
                shard.tensor.copy_(whole[name][row : row + rows, column : column + columns])
    dense = torch.optim.SGD([weight for name, weight in model.named_parameters() if "dense" in name], 0.1)
    generator = torch.Generator().manual_seed(5 + RANK)
    for step in range(STEPS):
        if change is not None and step == STEPS // 2:
            change.apply(model)
        lengths = torch.randint(1, 5, (BATCH * len(TABLES),), generator=generator)
        ids = torch.randint(0, 50, (int(lengths.sum()),), generator=generator)
        batch = KeyedJaggedTensor(keys=[f"of_{name}" for name in TABLES], values=ids, lengths=lengths)
        dense.zero_grad()
        model(batch).pow(2).sum().backward()
        dense.step()
    if change is not None:
        now, planned = (
            {name: str(sharding) for name, sharding in one.plan["tables"].items()}  # type: ignore[attr-defined]
            for one in (model.plan, change.plan)
        )
        assert now == planned
    weights = {}
    for name, weight in sorted(model.state_dict().items()):
        if hasattr(weight, "local_shards"):
            gathered = torch.empty(weight.size()) if RANK == 0 else torch.empty(0)
            weight.gather(0, gathered if RANK == 0 else None)
            weights[name] = gathered
    return weights


def run(optimizer: EmbOptimType) -> dict:
    sharders = [AnyKind(fused_params={"optimizer": optimizer, "learning_rate": 0.05, "eps": 1e-3})]
    on_one = planner(rules={name: TableRules(devices=[0]) for name in "abc"})
    plan = on_one.collective_plan(Model(), sharders)
    free = planner(rules={"b": TableRules(devices=[0])})
    change = free.collective_replan(Model(), sharders, plan, 1 << 30)
    initial, without, with_change = Model().state_dict(), trained(sharders, plan, None), trained(sharders, plan, change)
    if RANK > 0:
        return {"moved_bytes": change.moved_bytes}
    assert on_one.cost is not None and free.cost is not None
    return {
        "moved_bytes": change.moved_bytes,
        "moved_tables": sorted(change.delta["tables"][1]),
        "mib": change.delta["tables"][0],
        "saves": 1.0 - free.cost.cost_ms / on_one.cost.cost_ms,
        "difference": {name: float((without[name] - with_change[name]).abs().max()) for name in without},
        "trained": min(float((without[name] - initial[name]).abs().max()) for name in without),
    }


def refusals() -> list[str]:
    """Refusals that come before anything is moved, or waits for ever."""
    sharders = [AnyKind()]
    plan = planner().plan(Model(), sharders)
    texts = []
    for budget, running in ((0, plan), (1 << 30, ShardingPlan({}))):
        try:
            change = planner().collective_replan(Model(), sharders, running, budget)
            texts.append(f"{sorted(change.delta)} {change.moved_bytes}")
        except PlannerError as error:
            texts.append(str(error))
    seed = os.environ.pop("PYTHONHASHSEED")
    model = DistributedModelParallel(Model(), device=torch.device("cpu"), plan=plan, sharders=sharders)
    change = Resharding(plan, {"tables": (1.0, plan.plan["tables"])}, 0)  # type: ignore[dict-item]
    try:
        change.apply(model)
    except neuroshard.Error as error:
        texts.append(str(error))
    os.environ["PYTHONHASHSEED"] = seed
    return texts


torch.set_num_threads(1)
dist.init_process_group("gloo", f"file://{FOLDER}/meet", rank=RANK, world_size=WORLD_SIZE)
results: dict[str, object] = {
    optimizer.name: run(optimizer)
    for optimizer in (EmbOptimType.EXACT_SGD, EmbOptimType.EXACT_ADAGRAD, EmbOptimType.EXACT_ROWWISE_ADAGRAD)
}
results["refusals"] = refusals()
(FOLDER / f"results of rank {RANK}").write_text(json.dumps(results))
dist.barrier()
os._exit(0)
