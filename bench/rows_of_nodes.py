#!/usr/bin/env python3
"""What it could gain if the devices of a node asked for each row once: for the distinct rows of their node's part of
the batch, which they share out and then send each other. Drawn models of sequences on 16 to 128 devices in nodes of 8,
with the hot rows on every device that are best. Prices are analytic ones. All tables are row-wise, and ids
deduplicated. Costs over those of plans whose devices ask for themselves.

usage: bench/rows_of_nodes.py PROGRAM [--models N]
"""

import argparse
import json
import math
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deduplication import drawn_model, output_of

PER_NODE = 8
# docs/analytic_costs.md: GB/s of a100 that collectives reach, and latencies.
IN_NODE = 300.0 * (0.75 - 0.32 / PER_NODE)
IN_NODE_MS, BETWEEN_NODES_MS = 0.035, 0.075


class Rows:
    """Rows of a table, the most popular first: blocks of (first row, rows, probability of each)."""

    def __init__(self, table: dict[str, Any]) -> None:
        self.table, self.count, exponent = table, table["row"], table["zipf_exponent"]
        ends = [0]
        while ends[-1] < self.count:
            ends.append(min(self.count, max(ends[-1] + 1, int(ends[-1] * 1.06))))
        shares = [self._share(first, end, exponent) for first, end in zip(ends, ends[1:])]
        self.blocks = [(a, b - a, share / sum(shares) / (b - a)) for a, b, share in zip(ends, ends[1:], shares)]

    @staticmethod
    def _share(first: int, end: int, exponent: float) -> float:
        if end - first < 50:
            return math.fsum(row**-exponent for row in range(first + 1, end + 1))
        return float(((end + 0.5) ** (1 - exponent) - (first + 0.5) ** (1 - exponent)) / (1 - exponent))

    def looked_up(self, times: float, batch: int) -> int:
        """Rows that a batch looks up so often on average."""
        least = times / (batch * self.table["pooling_factor"])
        return next((first for first, _, share in self.blocks if share < least), self.count)

    def between(self, first: int, end: int) -> list[tuple[int, float]]:
        parts = ((min(a + rows, end) - max(a, first), share) for a, rows, share in self.blocks)
        return [(rows, share) for rows, share in parts if rows > 0]

    def distinct(self, first: int, samples: float) -> float:
        lookups = samples * self.table["pooling_factor"]
        return -sum(rows * math.expm1(-lookups * share) for rows, share in self.between(first, self.count))

    def part(self, first: int, end: int) -> dict[str, Any]:
        """A table of these rows alone."""
        curve: list[tuple[int, float]] = []
        for rows, share in self.between(first, end):
            before = curve[-1] if curve else (0, 0.0)
            curve.append((before[0] + rows, before[1] + rows * share))
        of_all = curve[-1][1]
        popularity = [[rows, min(1.0, share / of_all)] for rows, share in curve[:-1]] + [[end - first, 1.0]]
        lookups = self.table["pooling_factor"] * of_all
        return {**self.table, "row": end - first, "pooling_factor": lookups, "popularity": popularity}


class Pricing:
    def __init__(self, program: str, folder: Path) -> None:
        self.program, self.task, self.plan = program, folder / "task.json", folder / "plan.jsonl"

    def phases(self, row_wise: Sequence[Any], replicas: Sequence[Any], devices: int, batch: int) -> dict[str, float]:
        """Milliseconds of each phase, and their sum, of the device that takes longest."""
        tables = [*row_wise, *replicas]
        task = {"format": "neuroshard.task", "version": 1, "devices": devices, "memory_gb": 1e5, "batch_size": batch}
        self.task.write_text(json.dumps({**task, "exchange": {"deduplicate_ids": True}, "tables": tables}))
        slices: list[list[int]] = []
        shards: list[list[int]] = [[] for _ in range(devices)]
        for index, table in enumerate(row_wise):
            rows = -(-table["row"] // devices)
            for device in range(-(-table["row"] // rows)):
                shards[device].append(len(slices))
                slices.append([index, 0, table["dim"], device * rows, min(rows, table["row"] - device * rows)])
        replicated = list(range(len(row_wise), len(tables)))
        line = {"task": 0, "slices": slices, "replicas": replicated, "shards": shards, "cost": 1.0}
        self.plan.write_text(json.dumps(line))
        priced = ["--task", str(self.task), "--plan", str(self.plan), "--cost-source", "analytic", "--format", "json"]
        devices_ms = [one["cost"] for one in json.loads(output_of(self.program, "simulate", *priced))["devices"]]
        names = ("total_ms", "compute_ms", "forward_ms", "backward_ms", "ids_ms", "all_reduce_ms")
        return {name: max(one.get(name, 0.0) for one in devices_ms) for name in names}


def ratio_of(model: dict[str, Any], pricing: Pricing) -> tuple[float, float]:
    devices, batch = model["devices"], model["batch_size"]
    nodes = devices // PER_NODE
    tables = [Rows(table) for table in model["tables"]]

    def looked_up(times: float) -> list[int]:
        return [min(rows.count - devices, rows.looked_up(times, batch)) for rows in tables]

    def with_hot(hot: list[int]) -> dict[str, float]:
        others = [rows.part(end, rows.count) for rows, end in zip(tables, hot)]
        return pricing.phases(others, [rows.part(0, end) for rows, end in zip(tables, hot) if end], devices, batch)

    plain = {log: with_hot(looked_up(2.0**log * devices)) for log in range(-4, 7)}
    best = min(plain, key=lambda log: plain[log]["total_ms"])
    plain_ms = plain[best]["total_ms"]
    exchanges = ("forward_ms", "backward_ms", "ids_ms")
    hot = looked_up(2.0**best * devices)
    columns = [
        sum(rows.table["dim"] * rows.distinct(first, samples) for rows, first in zip(tables, hot))
        for samples in (batch / devices, batch / nodes)
    ]
    left = columns[1] / PER_NODE / columns[0]
    saved_ms = (1 - left) * sum(plain[best][x] - BETWEEN_NODES_MS for x in exchanges)
    sent_ms = 2 * (IN_NODE_MS + 4 * columns[0] * (PER_NODE - 1) / PER_NODE / (IN_NODE * 1e6))
    return plain_ms, 1 + (sent_ms - saved_ms) / plain_ms


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program")
    arguments.add_argument("--models", type=int, default=24)
    options = arguments.parse_args()
    print("| model | devices | tables | hot rows, ms | rows once a node |")
    print("|---:|---:|---:|---:|---:|")
    ratios: list[float] = []
    seed = 0  # Each third model has sequences alone.
    with tempfile.TemporaryDirectory() as folder:
        while len(ratios) < options.models:
            model = drawn_model(seed)
            if model["devices"] > PER_NODE:
                plain_ms, ratio = ratio_of(model, Pricing(options.program, Path(folder)))
                ratios.append(ratio)
                size = f"{model['devices']} | {len(model['tables'])}"
                print(f"| {seed} | {size} | {plain_ms:.3f} | {ratio:.3f} |", flush=True)
            seed += 3
    print(f"| geometric mean | | | | {statistics.geometric_mean(ratios):.3f} |")


if __name__ == "__main__":
    main()
