"""A rank that runs phases of iterations; all ranks compare weights with those of unsharded tables, and rank 0 writes how
far they are apart. `measure_rank.py RESULT`, by torchrun."""

import json
import sys
import time
from pathlib import Path

import torch
from measured_plans import BATCH, table, task_text

import neuroshard as ns
from neuroshard.measure import task_model
from neuroshard.measure.iteration import PHASES, ShardedTables
from neuroshard.measure.task_model import Lookups, TaskModel
from neuroshard.placed_slices import PlacedSlice, plan_from_slices
from neuroshard.ranks import Ranks

# Weights change by more than rounding, and rows that are looked up often do not diverge.
LEARNING_RATE = 1e-5
STEPS = 3

SUMS = [table(), table(dim=32), table(row=500), table()]
ROWS = [(0, 0, 0, 16, 0, 1000), (1, 0, 0, 16, 1000, 1000)]
GRID = [(rank, 1, column, 16, 1000 * rank, 1000) for column in (0, 16) for rank in (0, 1)]
CASES: dict[str, tuple[list[dict[str, object]], list[PlacedSlice], list[int]]] = {
    "whole": (SUMS, [(0, 0, 0, 16), (1, 1, 0, 32), (0, 2, 0, 16), (1, 3, 0, 16)], []),
    "one device": (SUMS[:2], [(1, 0, 0, 16), (1, 1, 0, 32)], []),
    "columns": (SUMS, [(0, 0, 0, 8), (1, 0, 8, 8), (0, 1, 0, 16), (0, 1, 16, 16), (1, 2, 0, 16), (0, 3, 0, 16)], []),
    "rows, grid, replicas": (SUMS, [*ROWS, *GRID, (1, 3, 0, 16)], [2]),
    "replicas": (SUMS[:2], [], [0, 1]),
    "kinds": (
        [table(), table(pooling="mean"), table(weighted=True), table(pooling="none"), table(features=3)],
        [(0, 0, 0, 16), (1, 1, 0, 8), (0, 1, 8, 8), (0, 2, 0, 16), (1, 3, 0, 16), (0, 4, 0, 16)],
        [],
    ),
}


def outputs_of(task: ns.Task, index: int, weights: torch.Tensor, lookups: Lookups) -> list[torch.Tensor]:
    """Outputs of each feature for the samples of one rank."""
    samples = BATCH // task.devices
    pooling = task.tables[index].pooling
    begin = 0
    outputs = []
    for place, feature in enumerate(lookups.features):
        lengths = lookups.lengths[place * samples : (place + 1) * samples]
        ids = lookups.ids[begin : begin + int(lengths.sum())]
        begin += len(ids)
        if not feature.endswith(f"_of_{task_model.table_name(index)}"):
            continue
        if pooling == "none":
            outputs.append(torch.nn.functional.embedding(ids, weights))
        else:
            first = lengths.cumsum(0) - lengths
            outputs.append(torch.nn.functional.embedding_bag(ids, weights, first, mode=pooling))
    return outputs


def train_unsharded(model: TaskModel, weights: dict[int, torch.Tensor]) -> None:
    """The loss is half the sum of squares; TorchRec divides gradients by the number of ranks."""
    task = model.task
    of_ranks = [model.lookups(BATCH, rank, 0) for rank in range(task.devices)]
    for index, weight in weights.items():
        name = task_model.module_of(task.tables[index])
        weight.requires_grad_(True)
        outputs = [out for lookups in of_ranks for out in outputs_of(task, index, weight, lookups[name])]
        loss = torch.stack([out.pow(2).sum() / 2 for out in outputs]).sum() / task.devices
        (gradient,) = torch.autograd.grad(loss, weight)
        weight.requires_grad_(False)
        weight -= LEARNING_RATE * gradient


def run(name: str, ranks: Ranks) -> dict[str, object]:
    tables, slices, replicas = CASES[name]
    task = ns.parse_task(task_text(tables, ranks.size))
    model = TaskModel(task, ranks.device)
    plan = plan_from_slices(task, slices, replicas)
    running = ShardedTables(
        model, model.sharding_plan(plan, ranks.local_size), model.lookups(BATCH, ranks.rank, 0), ranks
    )
    generator = torch.Generator().manual_seed(5)
    weights = {index: torch.rand(t.rows, t.dim, generator=generator) for index, t in enumerate(task.tables)}
    names = {
        index: f"{task_model.module_of(t)}.embedding{'s' if t.pooling == 'none' else '_bags'}.table_{index}.weight"
        for index, t in enumerate(task.tables)
    }
    running.sharded.load_state_dict({names[index]: weight.clone() for index, weight in weights.items()})
    initial = {index: weight.clone() for index, weight in weights.items()}
    running.first()
    within, phases = True, []
    for _ in range(STEPS):
        begin = time.perf_counter()
        laps = running.iterate(ranks.step, lambda: None)
        # Phases do not overlap, and are all within the iteration.
        within = within and min(laps.values()) >= 0 and sum(laps.values()) <= 1e3 * (time.perf_counter() - begin)
        phases = [phase for phase in PHASES if laps[phase] > 0]
        train_unsharded(model, weights)
    apart = moved = 0.0
    for index, weight in weights.items():
        moved = max(moved, float((weight - initial[index]).abs().max()))
        state = running.sharded.state_dict()[names[index]]
        pieces = (
            [(shard.metadata.shard_offsets, shard.tensor) for shard in state.local_shards()]
            if hasattr(state, "local_shards")
            else [((0, 0), state)]
        )
        for (row, column), piece in pieces:
            expected = weight[row : row + piece.shape[0], column : column + piece.shape[1]]
            apart = max(apart, float((piece - expected).abs().max()) if piece.numel() else 0.0)
    return {"within": within, "phases": phases, "apart": apart, "moved": moved}


def main() -> None:
    task_model.LEARNING_RATE = LEARNING_RATE
    ranks = Ranks(device="cpu", timeout_s=120)
    results = {name: ranks.gather(run(name, ranks)) for name in CASES}
    if ranks.rank == 0:
        Path(sys.argv[1]).write_text(json.dumps(results))
    ranks.close()


main()
