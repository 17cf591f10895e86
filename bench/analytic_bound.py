#!/usr/bin/env python3
"""A lower bound of what any plan of a table set costs by analytic prices (docs/analytic_costs.md), whatever the search.

    bench/analytic_bound.py hugectr_510table_110B_hotness5 --devices 8

A plan waits for its slowest device, which takes no less than the mean; so do columns and lookups. Nearly all terms of
the prices add up over tables, and what does not is bounded by what does: the larger of memory's and L2's time by any
mixture of both, the sort's bits by those of a table alone. So the bound is a sum over tables of the cheapest way to
shard each: slices of columns, as many as is best; rows in blocks, two of which already send all columns twice; or a
copy on each device, of which rows' traffic is left out. Beside that, a table in columns sends all its lookups to one
device at least: for each number of lookups, tables that have more are not in columns.

Needs the Python package. Its own plan is priced by the same formulas, and has to cost what the library says."""

import argparse
import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import neuroshard

TABLE_SETS = Path(__file__).parent / "data" / "table_sets"
SAMPLES = 65536

# An A100 and its network: bytes per ms, by a plain copy and by kernels that gather rows; bytes of L2 that rows stay in;
# launches of an operator besides a sort's passes.
COPY = 0.9 * 2039e6
MEMORY = 0.63 * 2039e6
L2 = 0.63 * 5120 * 1.41e6
L2_BYTES = 0.8 * 40 * 2**20
IN_NODE = 300e6
BETWEEN_NODES = 0.85 * 25e6
NODE = 8
LAUNCH_MS = 0.004
LAUNCHES = 6
SORTED = 12

MIXTURES = (0.0, 0.25, 0.5, 0.75, 1.0)


class Traffic(NamedTuple):
    """Bytes of an operator's phases, by memory and L2."""

    forward_memory: float
    forward_l2: float
    update_memory: float
    update_l2: float
    sort: float

    def ms(self, of_forward: float, of_update: float) -> float:
        """At least: with these shares of memory's time, the rest being L2's."""
        return (
            of_forward * self.forward_memory / MEMORY
            + (1.0 - of_forward) * self.forward_l2 / L2
            + of_update * self.update_memory / MEMORY
            + (1.0 - of_update) * self.update_l2 / L2
            + self.sort / COPY
        )

    def __mul__(self, times: float) -> "Traffic":  # type: ignore[override]
        return Traffic(*(times * figure for figure in self))


def mean_touches(bin: int) -> float:
    first, last = (1 if bin == 0 else 2 ** (bin - 1) + 1), 2**bin
    return (last - first + 1) / math.fsum(1.0 / touches for touches in range(first, last + 1))


MEAN_TOUCHES = [mean_touches(bin) for bin in range(17)]


def passes(rows: float) -> float:
    return math.log2(max(1.0, rows)) / 8


def sort_bytes(lookups: float, rows: float) -> float:
    """A copy moves so many in the time of the sort."""
    return 6 * lookups * (8 + SORTED + 2 * 8 + 2 * SORTED * passes(rows))


def traffic(table: neuroshard.Table, dim: float, *, all_cached: bool = False) -> Traffic:
    """Of a slice of `dim` columns. `all_cached`: each row that is touched is read once."""
    shares = table.access_histogram
    lookups, outputs = SAMPLES * table.pooling_factor, SAMPLES * table.features
    if lookups == 0.0:
        return Traffic(outputs * (8 + 4 * dim), outputs * (8 + 4 * dim), 0.0, 0.0, 0.0)
    reuse = sum(share * touches for share, touches in zip(shares, MEAN_TOUCHES)) / sum(shares)
    distinct = min(table.rows, lookups / reuse)
    stretch = lookups / (distinct * reuse)
    row = max(32.0, 4.0 * dim)
    cached = math.inf if all_cached else L2_BYTES / row
    reads = 0.0
    for bin in reversed(range(17)):
        rows = distinct * shares[bin] / sum(shares)
        of_bin = min(rows, cached)
        cached -= of_bin
        reads += of_bin + (rows - of_bin) * MEAN_TOUCHES[bin] * stretch
    forward = 8 * (lookups + outputs) + 4 * outputs * dim
    update = SORTED * lookups + 2 * row * distinct
    bags = min(outputs, lookups)
    kept = min(1.0, L2_BYTES / (outputs * row))
    return Traffic(
        forward + row * reads,
        forward + row * lookups,
        update + row * (bags + (lookups - bags) * (1.0 - kept)),
        update + row * lookups,
        sort_bytes(lookups, table.rows),
    )


class Exchanges:
    """What columns and bytes cost between devices."""

    def __init__(self, devices: int) -> None:
        self.devices = devices
        self.nodes = math.ceil(devices / NODE)
        self.in_node = devices / self.nodes

    def all_to_all_ms(self, columns: float) -> float:
        peers, others = self.in_node - 1, self.devices - self.in_node
        of_peer = 4 * SAMPLES / self.devices * columns
        in_node = (0.75 - 0.32 / self.in_node) * IN_NODE
        base_ms = 0.035 if self.nodes == 1 else 0.075
        return base_ms + max(of_peer * peers / in_node, of_peer * others / BETWEEN_NODES)

    def column_ms(self) -> float:
        return self.all_to_all_ms(1.0) - self.all_to_all_ms(0.0)

    def all_reduce_ms(self, size: float) -> float:
        """And the dense pass, of so many bytes more."""
        rate = min(0.79, 0.375 + 0.053 * self.in_node) * IN_NODE
        within = 2 * size * (self.in_node - 1) / self.in_node / rate
        between = 2 * (size / self.in_node) * (self.nodes - 1) / self.nodes / BETWEEN_NODES
        return max(within, between) + 4 * size / COPY

    def all_reduce_latency_ms(self) -> float:
        ring = 0.0105 * max(0.0, math.log2(self.in_node) - 1)
        return 0.022 + ring + 0.005 * math.ceil(math.log2(self.nodes)) + 2 * LAUNCH_MS


class Way(NamedTuple):
    """To shard a table: what it takes of all devices together."""

    kind: str
    traffic: Traffic
    columns: float
    lookups: float
    replica_ms: float = 0.0
    """On each device."""


def ways(table: neuroshard.Table, exchanges: Exchanges) -> list[Way]:
    count = exchanges.devices
    dim, lookups = table.dim, SAMPLES * table.pooling_factor
    columns = dim * table.features
    found = [
        Way("columns", traffic(table, dim / slices) * slices, columns, slices * table.pooling_factor)
        for slices in range(1, dim // 4 + 1)
    ]
    # Any cut by rows: outputs at least twice, and the sorts of equal blocks on all devices.
    once = traffic(table, dim, all_cached=True)
    outputs = 4 * SAMPLES * columns
    rows = Traffic(
        once.forward_memory + outputs,
        once.forward_l2 + outputs,
        once.update_memory,
        once.update_l2,
        sort_bytes(lookups, table.rows / count),
    )
    found.append(Way("rows", rows, 2 * columns, table.pooling_factor))
    # A copy: a device's part of the samples, without what rows take of memory.
    samples, part = SAMPLES * table.features / count, lookups / count
    row = max(32.0, 4.0 * dim)
    forward = 8 * (part + samples) + 4 * samples * dim
    bags = min(samples, part)
    kept = min(1.0, L2_BYTES / (samples * row))
    copy = Traffic(
        forward,
        forward + row * part,
        SORTED * part + row * (bags + (part - bags) * (1.0 - kept)),
        SORTED * part + row * part,
        sort_bytes(part, table.rows),
    )
    gradients_ms = exchanges.all_reduce_ms(4.0 * table.rows * dim)
    found.append(Way("replicas", copy * count, 0.0, 0.0, gradients_ms))
    return found


def bound_ms(tables: Sequence[neuroshard.Table], devices: int) -> tuple[float, dict[str, int]]:
    """And how many tables it has in which way."""
    exchanges = Exchanges(devices)
    column_ms = exchanges.column_ms()
    of_tables = [ways(table, exchanges) for table in tables]
    # Nothing but replicas needs no all-to-all.
    replicas_ms = [
        way.replica_ms + way.traffic.ms(1.0, 1.0) / devices
        for of_table in of_tables
        for way in of_table
        if way.kind == "replicas"
    ]
    latencies_ms = exchanges.all_reduce_latency_ms() + LAUNCHES * LAUNCH_MS
    cheapest = (latencies_ms + sum(replicas_ms), {"replicas": len(tables)})
    most = sorted({0.0, *(table.pooling_factor for table in tables)})  # 0: none is in columns.
    for replicas, most_lookups in itertools.product((False, True), most):
        best: tuple[float, dict[str, int]] = (0.0, {})
        # Lookups cost what the mean does, or what a table in columns with the most of them does.
        for of_forward, of_update, of_mean in itertools.product(MIXTURES, MIXTURES, (0.0, 1.0)):
            total = 3 * exchanges.all_to_all_ms(0.0) + LAUNCHES * LAUNCH_MS + (latencies_ms if replicas else 0.0)
            total += (1.0 - of_mean) * 2 * most_lookups * column_ms
            kinds: dict[str, int] = {}
            for table, of_table in zip(tables, of_tables):
                least, kind = min(
                    (
                        way.traffic.ms(of_forward, of_update) / devices
                        + (2 * way.columns + of_mean * 2 * way.lookups) / devices * column_ms
                        + way.replica_ms,
                        way.kind,
                    )
                    for way in of_table
                    if (way.kind != "columns" or table.pooling_factor <= most_lookups)
                    and (way.kind != "replicas" or replicas)
                )
                total += least
                kinds[kind] = kinds.get(kind, 0) + 1
            best = max(best, (total, kinds), key=lambda one: one[0])
        cheapest = min(cheapest, best, key=lambda one: one[0])
    return cheapest


def recount_ms(task: neuroshard.Task, plan: neuroshard.Plan) -> float:
    """A plan by columns, by the formulas above."""
    exchanges = Exchanges(task.devices)
    compute, columns, lookups = [0.0], [0.0], [0.0]
    for shard in plan.shards:
        slices = [plan.slices[index] for index in shard]
        if not slices:
            continue
        tables = [task.tables[one.table] for one in slices]
        parts = [traffic(table, one.dim) for table, one in zip(tables, slices)]
        of_device = Traffic(*(sum(figures) for figures in zip(*parts)))
        rows = sum(table.rows for table in tables)
        all_lookups = SAMPLES * sum(table.pooling_factor for table in tables)
        compute.append(
            max(of_device.forward_memory / MEMORY, of_device.forward_l2 / L2)
            + max(of_device.update_memory / MEMORY, of_device.update_l2 / L2)
            + sort_bytes(all_lookups, rows) / COPY
            + LAUNCH_MS * (LAUNCHES + math.ceil(passes(rows)))
        )
        columns.append(sum(one.dim * table.features for table, one in zip(tables, slices)))
        lookups.append(all_lookups / SAMPLES)
    ids = math.ceil(2 * max(lookups))
    return max(compute) + 2 * exchanges.all_to_all_ms(max(columns)) + exchanges.all_to_all_ms(ids)


def planned(task: neuroshard.Task, cuts: str, options: argparse.Namespace) -> neuroshard.Plan:
    plan = neuroshard.plan(task, cuts=cuts).plan
    if plan is None:
        raise SystemExit(
            f"analytic_bound.py: no plan of {options.set} on {task.devices} devices of {options.memory_gib:g} GiB with "
            f"cuts={cuts!r}; give more --memory-gib or --devices"
        )
    return plan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", help="one of bench/data/table_sets")
    parser.add_argument("--devices", type=int, nargs="+", default=[8, 16])
    parser.add_argument("--memory-gib", type=float, default=80.0)
    options = parser.parse_args()
    print("| set | devices | bound, ms | tables | our plan, ms | over the bound |")
    print("|---|---:|---:|---|---:|---:|")
    for devices in options.devices:
        task = neuroshard.load_task(
            TABLE_SETS / f"{options.set}.json",
            devices=devices,
            memory_bytes=neuroshard.bytes_from_gib(options.memory_gib),
        )
        by_columns = planned(task, "columns", options)
        recount, library = recount_ms(task, by_columns), neuroshard.analytic_cost(task, by_columns).cost_ms
        if abs(recount - library) > 1e-6 * library:
            raise SystemExit(f"{options.set}: these formulas say {recount} ms, the library {library} ms")
        ours = planned(task, "any", options)
        cost_ms = neuroshard.analytic_cost(task, ours).cost_ms
        bound, kinds = bound_ms(task.tables, devices)
        of_kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))
        print(f"| {options.set} | {devices} | {bound:.3f} | {of_kinds} | {cost_ms:.3f} | {cost_ms / bound:.3f} |", flush=True)


if __name__ == "__main__":
    main()
