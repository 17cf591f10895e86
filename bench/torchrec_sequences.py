"""Plans of TorchRec's planner for models with unpooled tables, priced by analytic costs. Needs the Python package,
PyTorch and TorchRec; see torchrec_planners.py for pooled tables alone."""

import json
import logging
import math
from pathlib import Path
from typing import Any

import neuroshard
import torch
from neuroshard.torchrec import from_sharding_plan
from published_tasks import a100_topology
from torchrec import EmbeddingBagCollection, EmbeddingBagConfig, EmbeddingCollection, EmbeddingConfig
from torchrec.distributed.embedding import EmbeddingCollectionSharder
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.planner.planners import EmbeddingShardingPlanner
from torchrec.distributed.planner.storage_reservations import FixedPercentageStorageReservation
from torchrec.distributed.planner.types import ParameterConstraints, PlannerError
from torchrec_planners import MODES

POOLED = "pooled"


def module_path(table: dict[str, Any]) -> str:
    """Tables of an EmbeddingCollection have one dim."""
    return f"sequences_{table['dim']}" if table["pooling"] == "none" else POOLED


def with_names(model: dict[str, Any]) -> dict[str, Any]:
    """The task, whose tables have the names that TorchRec gives them."""
    tables = [{**table, "name": f"{module_path(table)}.t{t}"} for t, table in enumerate(model["tables"])]
    return {**model, "tables": tables}


def module_of(model: dict[str, Any]) -> torch.nn.Module:
    """EmbeddingCollections of the unpooled tables and an EmbeddingBagCollection of the others, without weights."""
    modules = torch.nn.ModuleDict()
    for path in sorted({module_path(table) for table in model["tables"]}):
        pooled = path == POOLED
        config = EmbeddingBagConfig if pooled else EmbeddingConfig
        configs = [
            config(name=f"t{t}", num_embeddings=table["row"], embedding_dim=table["dim"], feature_names=[f"of_t{t}"])
            for t, table in enumerate(model["tables"])
            if module_path(table) == path
        ]
        collection = EmbeddingBagCollection if pooled else EmbeddingCollection
        modules[path] = collection(tables=configs, device=torch.device("meta"))
    return modules


def torchrec_cost_ms(model: dict[str, Any], folder: Path) -> float:
    """Cost of the cheapest of the plans that TorchRec's planner makes in its modes; infinite if it makes none. Its
    sequences ask once for each distinct row (use_index_dedup), and it has all kinds of sharding."""
    logging.disable(logging.WARNING)
    path = folder / "named.json"
    path.write_text(json.dumps(with_names(model)))
    task = neuroshard.load_task(path)
    costs: list[float] = []
    for mode in (mode for modes in MODES.values() for mode in modes):
        planner = EmbeddingShardingPlanner(
            topology=a100_topology(task.devices, task.memory_bytes),
            batch_size=model["batch_size"] // task.devices,
            storage_reservation=FixedPercentageStorageReservation(0.0),
            stats=[],
            debug=False,
            constraints={
                f"t{t}": ParameterConstraints(
                    sharding_types=list(mode.kinds),
                    compute_kernels=["fused", "dense"],
                    pooling_factors=[table["pooling_factor"]],
                    min_partition=mode.columns,
                )
                for t, table in enumerate(model["tables"])
            },
            proposer=None if mode.proposer is None else mode.proposer(),
            timeout_seconds=60,
        )
        sharders = [EmbeddingBagCollectionSharder(), EmbeddingCollectionSharder(use_index_dedup=True)]
        try:
            found = planner.plan(module_of(model), sharders)
        except PlannerError:
            continue
        costs.append(neuroshard.analytic_cost(task, from_sharding_plan(found, task)).cost_ms)
    return min(costs, default=math.inf)
