#!/usr/bin/env python3
"""NeuroShardPlanner with costs="torchrec" beside EmbeddingShardingPlanner as it is: costs of both plans by TorchRec's
estimates, and by the built-in cost models. The only constraints of models are lookups. Prints a table in Markdown.

    bench/torchrec_estimates.py
    bench/torchrec_estimates.py --only HSTU

Needs the Python package, PyTorch and TorchRec."""

import argparse
import logging
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

warnings.filterwarnings("ignore")

import torch
from published_tasks import (
    SHARDERS,
    a100_topology,
    drawn_tables,
    hstu_like,
    lookups_of_features,
    model_of,
    table_set,
)
from torchrec.distributed.planner.storage_reservations import FixedPercentageStorageReservation
from torchrec.distributed.planner.types import ParameterConstraints

import neuroshard
from neuroshard.torchrec import NeuroShardPlanner, PricedPlan

GIB = 1 << 30
NO_DEADLINE_MS = 1e9  # For our searches.


class Case(NamedTuple):
    name: str
    model: torch.nn.Module
    lookups: dict[str, list[float]]
    ranks: int
    gib: int
    samples: int = 8192
    """Samples of a rank."""

    def arguments(self, timeout: int | None) -> dict[str, Any]:
        """`timeout`: seconds for TorchRec's planner. None: as long as it takes."""
        return {
            "topology": a100_topology(self.ranks, self.gib * GIB),
            "batch_size": self.samples,
            "constraints": {name: ParameterConstraints(pooling_factors=one) for name, one in self.lookups.items()},
            "storage_reservation": FixedPercentageStorageReservation(0.0),
            "stats": [],
            "debug": False,
            "timeout_seconds": timeout,
            "deadline_ms": NO_DEADLINE_MS,
        }


def modules(tables: list[neuroshard.Table]) -> tuple[torch.nn.Module, dict[str, list[float]]]:
    """Modules of these tables, and lookups of their features."""
    task = neuroshard.Task(tables, devices=1, memory_bytes=1)
    return model_of(task), {table.name: lookups_of_features(table) for table in task.tables}


def cases() -> Iterator[Case]:
    for name, tables in (
        ("DLRM-v2", table_set("mlperf_dlrm_v2_criteo1tb_multihot")),
        ("DLRM, at most 10 M rows", table_set("dlrm_criteo1tb_cap10M")),
    ):
        task = tables.task(1, 1)
        model, lookups = modules(list(task.tables))
        for ranks in (8, 16):
            yield Case(f"{name}, {ranks} ranks", model, lookups, ranks, 80)
    for ranks in (8, 16):
        model, lookups = modules(drawn_tables(500, ranks))
        yield Case(f"500 drawn tables, {ranks} ranks", model, lookups, ranks, 80)
    model, lookups = modules(hstu_like())
    yield Case("HSTU-like, 8 ranks", model, lookups, 8, 80, samples=512)


def row(case: Case, timeout: int | None) -> str:
    print(case.name, file=sys.stderr, flush=True)
    usual = NeuroShardPlanner(**case.arguments(timeout), threads=1)
    usual.plan(case.model, SHARDERS)
    start = time.process_time()
    planner = NeuroShardPlanner(**case.arguments(timeout), threads=1, costs="torchrec", compare=True)
    planner.plan(case.model, SHARDERS)
    cpu_s = time.process_time() - start
    assert planner.comparison is not None and usual.comparison is not None
    ours, theirs = planner.comparison
    by_weights = usual.comparison.ours
    assert theirs is not None

    def both(plan: PricedPlan) -> str:
        return f"{plan.estimated_ms:.3f} | {plan.cost_ms:.3f}"

    ratio = theirs.estimated_ms / ours.estimated_ms
    return f"| {case.name} | {both(by_weights)} | {both(ours)} | {both(theirs)} | {ratio:.3f} | {cpu_s:.1f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="models whose name has this text")
    parser.add_argument("--timeout", type=int, help="seconds after which TorchRec's planner takes its best plan")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    print(
        "| model | ours: estimate | cost | costs=\"torchrec\": estimate | cost "
        "| TorchRec's: estimate | cost | over ours | CPU s |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for case in cases():
        if options.only in case.name:
            print(row(case, options.timeout), flush=True)


if __name__ == "__main__":
    main()
