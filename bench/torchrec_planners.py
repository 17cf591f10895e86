#!/usr/bin/env python3
"""NeuroShardPlanner beside TorchRec's EmbeddingShardingPlanner in each of its modes: CPU time of a plan, its cost by
analytic prices (docs/analytic_costs.md) and by TorchRec's own estimator. Prints tables in Markdown.

    bench/torchrec_planners.py --sample 10
    bench/torchrec_planners.py --sample 10 --weights like_torchrec.safetensors --modes columns

Needs the Python package, PyTorch and TorchRec."""

import argparse
import logging
import random
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

warnings.filterwarnings("ignore")

import torch
from published_tasks import (
    SAMPLES,
    SHARDERS,
    PublishedTables,
    a100_topology,
    drawn_tables,
    golden,
    hstu_like,
    lookups_of_features,
    model_of,
    name_in_module,
    planner_arguments,
    table_set,
)
from torchrec.distributed.planner.perf_models import NoopPerfModel
from torchrec.distributed.planner.planners import EmbeddingPlannerBase, EmbeddingShardingPlanner
from torchrec.distributed.planner.proposers import DynamicProgrammingProposer
from torchrec.distributed.planner.types import ParameterConstraints, PlannerError, Topology
from torchrec.distributed.types import ShardingPlan

import neuroshard
from neuroshard.torchrec import NeuroShardPlanner, from_sharding_plan

OURS = "NeuroShardPlanner"
BEST = "TorchRec: best of its modes"


class Case(NamedTuple):
    tables: PublishedTables
    devices: int
    gib: int
    """Memory of a device."""
    samples: int = SAMPLES

    def task(self) -> neuroshard.Task:
        return self.tables.task(self.devices, neuroshard.bytes_from_gib(self.gib), batch_size=self.samples)


class Mode(NamedTuple):
    """Choices that TorchRec's planner has."""

    name: str
    kinds: tuple[str, ...]
    columns: int
    """Columns of the shards of column-wise tables: TorchRec cuts no narrower ones, and none that are wider."""
    proposer: Callable[[], Any] | None = None
    """None: its default ones."""


COLUMNS = ("table_wise", "column_wise")
ROWS = (*COLUMNS, "table_column_wise", "row_wise", "table_row_wise", "grid_shard")
ALL = (*ROWS, "data_parallel")
MODES = {
    "table": [Mode("table-wise", ("table_wise",), 4)],
    "columns": [
        *(Mode(f"table-wise, column-wise of {columns}", COLUMNS, columns) for columns in (64, 32, 16)),
        Mode("the same of 64, dynamic programming", COLUMNS, 64, DynamicProgrammingProposer),
    ],
    "rows": [
        Mode("with rows, table-rows and grid, columns of 64", ROWS, 64),
        Mode("with rows, table-rows and grid, columns of 32", ROWS, 32),
    ],
    "replicas": [Mode("all kinds, data-parallel too, columns of 64", ALL, 64)],
}


@dataclass
class Judged:
    cpu_ms: float
    analytic_ms: float
    torchrec_ms: float
    kinds: dict[str, int] = field(default_factory=dict)
    stopped: bool = False
    """By the time that TorchRec's planner was given: the best of what it had seen."""


def judge(planner: EmbeddingPlannerBase, task: neuroshard.Task, topology: Topology) -> Judged | None:
    """None if the planner finds no plan."""
    model = model_of(task)
    start = time.process_time()
    try:
        sharding_plan: ShardingPlan = planner.plan(model, SHARDERS)
    except PlannerError:
        return None
    cpu_ms = 1e3 * (time.process_time() - start)
    options = planner.get_selected_options()
    kinds: dict[str, int] = {}
    for option in options:
        kinds[option.sharding_type] = kinds.get(option.sharding_type, 0) + 1
    analytic_ms = neuroshard.analytic_cost(task, from_sharding_plan(sharding_plan, task)).cost_ms
    return Judged(cpu_ms, analytic_ms, NoopPerfModel(topology).rate(options), kinds)


def arguments_of(task: neuroshard.Task, kinds: Sequence[str], columns: int) -> dict[str, Any]:
    """Arguments that both planners get."""
    constraints = [
        ParameterConstraints(
            sharding_types=list(kinds),
            compute_kernels=["fused", "dense"],
            pooling_factors=lookups_of_features(table),
            min_partition=columns,
        )
        for table in task.tables
    ]
    return planner_arguments(task, a100_topology(task.devices, task.memory_bytes), constraints)


def compare(case: Case, modes: Sequence[Mode], options: argparse.Namespace) -> dict[str, Judged | None]:
    """By planner; tasks are small enough for each to be planned in one go."""
    task = case.task()
    print(f"{case.tables.name} on {case.devices} devices", file=sys.stderr, flush=True)
    shared = arguments_of(task, ALL, 4)
    by_columns = arguments_of(task, COLUMNS, 4)
    weights = None if options.weights is None else neuroshard.Weights.load(options.weights)
    own: dict[str, Any] = {
        "weights": weights,
        "threads": 1,
        "effort": options.effort,
        "candidates": options.candidates,
    }
    if options.access_histograms:
        own["access_histograms"] = {
            name_in_module(table): table.access_histogram for table in task.tables if table.access_histogram
        }
    judged = {
        OURS: judge(NeuroShardPlanner(**shared, **own), task, shared["topology"]),
        f"{OURS}, unequal widths": judge(
            NeuroShardPlanner(**shared, **own, equal_widths=False), task, shared["topology"]
        ),
        f"{OURS}, columns alone": judge(NeuroShardPlanner(**by_columns, **own), task, shared["topology"]),
    }
    for name, one in judged.items():
        print(f"{name}: {one}", file=sys.stderr, flush=True)
    for mode in modes:
        theirs = EmbeddingShardingPlanner(
            **arguments_of(task, mode.kinds, mode.columns),
            proposer=None if mode.proposer is None else mode.proposer(),
            timeout_seconds=options.timeout,
        )
        start = time.monotonic()
        judged[mode.name] = found = judge(theirs, task, shared["topology"])
        if found is not None:
            found.stopped = time.monotonic() - start > options.timeout
        print(f"{mode.name}: {found}", file=sys.stderr, flush=True)
    plans = [one for mode in modes if (one := judged[mode.name]) is not None]
    priced = [one.analytic_ms for one in plans]
    estimated = [one.torchrec_ms for one in plans]
    if plans:
        all_cpu_ms = sum(one.cpu_ms for one in plans)
        judged[BEST] = Judged(all_cpu_ms, min(priced), min(estimated))
    return judged


def mean(values: Sequence[float]) -> str:
    return f"{statistics.geometric_mean(values):.3f}" if values else "-"


def spread(values: Sequence[float]) -> str:
    return f"{mean(values)} ({min(values):.2f} to {max(values):.2f})" if len(values) > 1 else mean(values)


def report(title: str, results: Sequence[dict[str, Judged | None]]) -> None:
    """Each planner's figures: geometric means over the tasks it has plans for, and over those of ours for them."""
    print(f"\n## {title}\n")
    print("| planner | plans | CPU ms | analytic ms | over ours | TorchRec's estimate, ms | over ours | kinds |")
    print("|---|---:|---:|---:|---:|---:|---:|---|")
    for name in results[0]:
        pairs = [(of_task[name], of_task[OURS]) for of_task in results if name in of_task]
        found = [(one, ours) for one, ours in pairs if one is not None and ours is not None]
        priced = [(one.analytic_ms, ours.analytic_ms) for one, ours in found]
        kinds: dict[str, int] = {}
        for one, _ in found:
            for kind, count in one.kinds.items():
                kinds[kind] = kinds.get(kind, 0) + count
        cpu = mean([one.cpu_ms for one, _ in found])
        stopped = sum(one.stopped for one, _ in found)
        label = f"{name}; {stopped} stopped by --timeout" if stopped else name
        print(
            f"| {label} | {len(found)} | {float(cpu):,.0f} " if found else f"| {label} | 0 | - ",
            f"| {mean([one for one, _ in priced])} | {spread([one / ours for one, ours in priced])} "
            f"| {mean([one.torchrec_ms for one, _ in found])} "
            f"| {spread([one.torchrec_ms / ours.torchrec_ms for one, ours in found])} "
            f"| {', '.join(f'{kind} {count}' for kind, count in sorted(kinds.items()))} |",
            sep="",
            flush=True,
        )


def cases_of(options: argparse.Namespace) -> dict[str, list[Case]]:
    draw = random.Random(options.seed)
    cases = {
        f"Published tasks on {devices} devices": [
            Case(golden(devices, index), devices, 8) for index in sorted(draw.sample(range(100), options.sample))
        ]
        for devices in (4, 8, 16)
    }
    for name, tables, gib in (
        ("DLRM-v2", table_set("mlperf_dlrm_v2_criteo1tb_multihot"), 40),
        ("DLRM, at most 10 M rows", table_set("dlrm_criteo1tb_cap10M"), 40),
        ("510 tables", table_set("hugectr_510table_110B_hotness5"), 80),
        ("500 drawn tables", PublishedTables("500 drawn tables", drawn_tables(500, 8)), 80),
    ):
        for devices in (8, 16):
            cases[f"{name} on {devices} devices"] = [Case(tables, devices, gib)]
    cases["HSTU-like on 8 devices"] = [Case(PublishedTables("HSTU-like", hstu_like()), 8, 80, 4096)]
    return {title: of_set for title, of_set in cases.items() if options.only is None or options.only in title}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=10, help="published tasks of each number of devices")
    parser.add_argument("--seed", type=int, default=0, help="decides which tasks")
    parser.add_argument("--only", help="sets whose title has this text")
    parser.add_argument("--modes", nargs="+", default=list(MODES), choices=list(MODES), help="TorchRec's modes")
    parser.add_argument("--timeout", type=int, default=300, help="seconds after which TorchRec takes its best plan")
    parser.add_argument("--weights", type=Path, help="weights of our planner; default: the built-in ones")
    parser.add_argument("--effort", default="default", help="effort of our planner")
    parser.add_argument("--candidates", type=int, help="plans of our planner that TorchRec's estimates compare")
    parser.add_argument(
        "--access-histograms",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="give our planner those of the tables; else they follow Zipf's law",
    )
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    modes = [mode for name in options.modes for mode in MODES[name]]
    print(f"bench/torchrec_planners.py --sample {options.sample} --seed {options.seed} --modes {' '.join(options.modes)}")
    weights = "built-in weights" if options.weights is None else options.weights.name
    print(f"ours: {weights}, {'published' if options.access_histograms else 'derived'} access histograms")
    for title, cases in cases_of(options).items():
        report(title, [compare(case, modes, options) for case in cases])


if __name__ == "__main__":
    main()
