"""A module of published tables, cut to few rows, and a plan that was made for all of them."""

import json
from collections.abc import Sequence
from pathlib import Path

import torch
from torchrec import EmbeddingBagCollection, EmbeddingBagConfig, KeyedJaggedTensor, KeyedTensor
from torchrec.distributed.planner.types import Topology
from torchrec.distributed.types import ModuleSharder, ShardingPlan

import neuroshard
from neuroshard.torchrec import to_sharding_plan

GOLDEN = Path(__file__).parents[2] / "data" / "golden"
ROWS = 40


def published_task(devices: int, index: int, gib: float) -> neuroshard.Task:
    configs = json.loads((GOLDEN / "tables" / "table_configs.json").read_text())
    line = (GOLDEN / "tasks" / f"{devices}gpu_dim128.txt").read_text().splitlines()[index]
    ids, dims = ([int(number) for number in numbers.split(",")] for numbers in line.split())
    return neuroshard.Task(
        [
            neuroshard.Table(
                configs[i]["row"],
                dim,
                configs[i]["pooling_factor"],
                access_histogram=[configs[i][f"bin_{bin}"] for bin in range(17)],
                name=f"tables.t{position}",
            )
            for position, (i, dim) in enumerate(zip(ids, dims))
        ],
        devices,
        neuroshard.bytes_from_gib(gib),
    )


class PublishedModel(torch.nn.Module):
    def __init__(self, task: neuroshard.Task) -> None:
        super().__init__()
        names = [table.name.removeprefix("tables.") for table in task.tables]
        self.rows = {f"of_{name}": ROWS for name in names}
        self.tables = EmbeddingBagCollection(
            tables=[
                EmbeddingBagConfig(name=name, num_embeddings=ROWS, embedding_dim=table.dim, feature_names=[f"of_{name}"])
                for name, table in zip(names, task.tables)
            ]
        )

    def forward(self, features: KeyedJaggedTensor) -> list[KeyedTensor]:
        return [self.tables(features)]


def published_plan(
    task: neuroshard.Task, model: torch.nn.Module, topology: Topology, sharders: Sequence[ModuleSharder[torch.nn.Module]]
) -> ShardingPlan:
    # By columns: the tables of the model have few rows, in which blocks of the task's would not be.
    plan = neuroshard.plan(task, equal_widths=True, effort="fast", cuts="columns").plan
    assert plan is not None
    return to_sharding_plan(task, plan, model, topology=topology, sharders=sharders)
