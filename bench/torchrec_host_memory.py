#!/usr/bin/env python3
"""NeuroShardPlanner beside TorchRec's EmbeddingOffloadScaleupProposer, for tables that are larger than all HBM: bytes
that an iteration fetches from hosts, and its cost by analytic prices (docs/analytic_costs.md). Both plan in TorchRec,
for the same topology and caches of the rows that were looked up last. Prints a table in Markdown.

    bench/torchrec_host_memory.py
    bench/torchrec_host_memory.py --sets mlperf_dlrm_v2_criteo1tb_multihot --devices 1 2

TorchRec's proposer enlarges caches from a load factor that constraints give, by statistics of each cache. It gets those
of the model of caches that ours plans by (docs/host_memory.md). It starts from two load factors, for tables that stay
whole and for any of its ways of sharding, and the plan that costs least counts.

TorchRec's proposer takes each table to have a cache of its own. FBGEMM has one for all cached tables of an operator,
unless `use_one_tbe_per_table` of `fused_params` says otherwise. So plans are priced in both ways.

Needs the Python package, PyTorch and TorchRec."""

import argparse
import bisect
import logging
import math
import multiprocessing
import statistics
import sys
import warnings
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

warnings.filterwarnings("ignore")

import torch
from published_tasks import (
    SHARDERS,
    TABLE_SETS,
    a100_topology,
    lookups_of_features,
    model_of,
    name_in_module,
    planner_arguments,
    table_set,
)
from torchrec.distributed.planner.planners import EmbeddingPlannerBase, EmbeddingShardingPlanner
from torchrec.distributed.planner.proposers import EmbeddingOffloadScaleupProposer
from torchrec.distributed.planner.types import ParameterConstraints, PlannerError
from torchrec.distributed.types import CacheParams, CacheStatistics

import neuroshard
from neuroshard.torchrec import NeuroShardPlanner, from_sharding_plan

# Sets that need less do without hosts; sets that need more have hardly a batch in HBM (nsbench host).
MOST_TIMES_HBM = 40.0

# More than any of the table sets needs.
HOST_BYTES = neuroshard.bytes_from_gib(4096)

# So slow that no row counts more than its bytes.
SLOW_GB_S = 0.1

# Shares of the rows of a table that curves are known at.
SHARES = [10 ** (step / 10) for step in range(-70, 0)]

# Batches that rows stay in a cache: 0, 1, 2, ... and then 5 % more each time.
STAYS = [*map(float, range(33)), *(32.0 * 1.05**step for step in range(1, 200))]

CACHED = "fused_uvm_caching"
# By which FBGEMM finds rows in a cache, as TorchRec counts it.
BYTES_OF_ROW, BYTES_OF_CACHED_ROW = 4, 16

TABLE_WISE = ("table_wise",)
ANY_WAY = ("table_wise", "column_wise", "row_wise", "table_row_wise")
LOAD_FACTORS = (0.1, 0.001)
# Caches are below 1.
LARGEST_SHARE = 0.9999


class Misses(CacheStatistics):  # type: ignore[misc]
    """Rows of a table that a batch fetches, by the share of the rows that its cache has room for."""

    def __init__(self, shares: Sequence[float], fetched: Sequence[float]) -> None:
        self._shares = [*shares, 1.0]
        self._fetched = [*fetched, 0.0]
        # Under the curve, as of TorchRec's EmbeddingOffloadStats.
        points = [(share, self.expected_miss_rate(share)) for share in [0.0, *self._shares]]
        self._area = sum((right - left) * (above + below) / 2.0 for (left, above), (right, below) in pairwise(points))

    def __deepcopy__(self, memo: dict[int, Any]) -> "Misses":
        """Proposals are copied often, and it never changes."""
        return self

    def fetched(self, share: float) -> float:
        if share <= self._shares[0]:
            return self._fetched[0]
        if share >= 1.0:
            return 0.0
        above = bisect.bisect_left(self._shares, share)
        low, high = self._shares[above - 1 : above + 1]
        part = (share - low) / (high - low)
        return (1.0 - part) * self._fetched[above - 1] + part * self._fetched[above]

    def cached(self, row_count: int) -> list[float]:
        """Rows in a cache that keeps each for so many batches after its last lookup, for each number of STAYS: those of
        a batch more are those that a batch fetches."""
        rows = [0.0]
        for now, then in pairwise(STAYS):
            # Half-way, where they are more than one.
            middle = rows[-1] + (self.fetched(rows[-1] / row_count) * (then - now) / 2.0 if then - now > 1.0 else 0.0)
            rows.append(min(row_count, rows[-1] + self.fetched(middle / row_count) * (then - now)))
        return rows

    @property
    def expected_lookups(self) -> float:
        return self._fetched[0]

    def expected_miss_rate(self, clf: float) -> float:
        return self.fetched(clf) / self._fetched[0] if self._fetched[0] > 0.0 else 0.0

    @property
    def cacheability(self) -> float:
        return self._area


def table_of(table: neuroshard.Table, rules: neuroshard.TableRules | None = None) -> neuroshard.Table:
    return neuroshard.Table(
        table.rows,
        table.dim,
        table.pooling_factor,
        access_histogram=table.access_histogram,
        name=table.name,
        rules=rules or neuroshard.TableRules(),
    )


def hosted(
    tables: Sequence[neuroshard.Table], devices: Sequence[int], gb_s: float
) -> neuroshard.Task:
    """`devices`: bytes of HBM of each."""
    return neuroshard.Task(
        tables,
        [neuroshard.Device(memory_bytes) for memory_bytes in devices],
        host_memory=neuroshard.HostMemory(HOST_BYTES, gb_s),
    )


def with_share(table: neuroshard.Table, share: float | None) -> neuroshard.Table:
    """`table` with a cache of its own; None: it is wholly in HBM."""
    return table_of(
        table, neuroshard.TableRules(keep_in_hbm=True) if share is None else neuroshard.TableRules(hbm_share=share)
    )


def row_bytes(table: neuroshard.Table) -> int:
    return 4 * table.dim


def gb_of(tables: Sequence[neuroshard.Table]) -> float:
    return sum(table.rows * row_bytes(table) for table in tables) / 1e9


def misses_of(tables: Sequence[neuroshard.Table]) -> list[Misses]:
    """By the library's model of caches, which has each table on a device of its own."""
    alone = [(index, index, 0, table.dim) for index, table in enumerate(tables)]
    curves: list[list[float]] = [[] for _ in tables]
    for share in SHARES:
        task = hosted([with_share(table, share) for table in tables], [HOST_BYTES] * len(tables), SLOW_GB_S)
        fetch_ms = neuroshard.analytic_cost(task, neuroshard.plan_from_slices(task, alone)).fetch_ms
        for curve, table, ms in zip(curves, tables, fetch_ms):
            curve.append(fetched_gb([ms]) * 1e9 / row_bytes(table))
    return [Misses(SHARES, curve) for curve in curves]


def fetched_gb(slow_fetch_ms: Iterable[float]) -> float:
    """For each row that comes another one goes back."""
    return math.fsum(float(ms) for ms in slow_fetch_ms) * SLOW_GB_S / 1e3 / 2.0


def missed_gb(tables: Sequence[neuroshard.Table], misses: Sequence[Misses], shares: Sequence[float]) -> float:
    return math.fsum(m.fetched(share) * row_bytes(table) for table, m, share in zip(tables, misses, shares)) / 1e9


def whole_gb(tables: Sequence[neuroshard.Table], misses: Sequence[Misses], hbm_gb: float) -> float:
    """Whole tables are in so much HBM together, those with most lookups a byte first. Others have no cache."""
    shares = [0.0] * len(tables)
    for at in sorted(range(len(tables)), key=lambda at: -tables[at].pooling_factor / tables[at].rows):
        if gb_of([tables[at]]) <= hbm_gb:
            hbm_gb -= gb_of([tables[at]])
            shares[at] = 1.0
    return missed_gb(tables, misses, shares)


class Judged(NamedTuple):
    """Bytes that an iteration fetches, and its cost: if tables of a device share a cache, and if each has its own."""

    shared_gb: float
    shared_ms: float
    own_gb: float
    own_ms: float
    hbm_gb: float
    """Of tables and caches."""
    way: str


class CachedShard(NamedTuple):
    table: int
    device: int
    part: float
    """Of the table's rows."""
    row_bytes: int
    """In the cache, with what finds the row."""


def shares_of_one_cache(
    task: neuroshard.Task, shards: Sequence[CachedShard], own: Sequence[float | None], misses: Sequence[Misses]
) -> list[float | None]:
    """Shares of the rows of each table that are in HBM, if the caches that `own` asks for are one on each device. It
    has rows of all tables for as long as each other. A table on several devices has the mean of its shards."""
    cached = {shard.table: misses[shard.table].cached(task.tables[shard.table].rows) for shard in shards}
    of_table: dict[int, list[float]] = {}
    weights: dict[int, list[float]] = {}
    for device in range(task.devices):
        here = [shard for shard in shards if shard.device == device]
        room = math.fsum(
            (own[shard.table] or 0.0) * task.tables[shard.table].rows * shard.part * shard.row_bytes for shard in here
        )
        taken = [
            math.fsum(cached[shard.table][stay] * shard.part * shard.row_bytes for shard in here)
            for stay in range(len(STAYS))
        ]
        stay = min(max(1, bisect.bisect_left(taken, room)), len(STAYS) - 1)
        step = taken[stay] - taken[stay - 1]
        to_next = min(1.0, (room - taken[stay - 1]) / step) if step > 0.0 else 1.0
        for shard in here:
            before, after = cached[shard.table][stay - 1 : stay + 1]
            share = (before + to_next * (after - before)) / task.tables[shard.table].rows
            of_table.setdefault(shard.table, []).append(share)
            weights.setdefault(shard.table, []).append(shard.part * shard.row_bytes)
    return [
        None if share is None else min(LARGEST_SHARE, statistics.fmean(of_table[at], weights[at]))
        for at, share in enumerate(own)
    ]


def judge(
    planner: EmbeddingPlannerBase, task: neuroshard.Task, misses: Sequence[Misses], gb_s: float, way: str
) -> Judged | None:
    """None if the planner finds no plan."""
    try:
        sharding_plan = planner.plan(model_of(task), SHARDERS)
    except PlannerError as error:
        print(f"{way}: {str(error).splitlines()[0]}", file=sys.stderr, flush=True)
        return None
    options = {option.name: option for option in planner.get_selected_options()}
    own: list[float | None] = []
    for table in task.tables:
        option = options[name_in_module(table)]
        own.append(option.cache_load_factor if option.compute_kernel == CACHED else None)
    shards: list[CachedShard] = []
    hbm = 0.0
    for at, (table, load_factor) in enumerate(zip(task.tables, own)):
        if load_factor is None:
            hbm += gb_of([table])
            continue
        for shard in options[name_in_module(table)].shards:
            rows, columns = shard.size
            shards.append(CachedShard(at, shard.rank, rows / table.rows, 4 * columns + BYTES_OF_CACHED_ROW))
            hbm += rows * (load_factor * shards[-1].row_bytes + BYTES_OF_ROW) / 1e9
    shared = shares_of_one_cache(task, shards, own, misses)

    def cost_of(shares: Sequence[float | None], gb_s: float) -> neuroshard.PlanCost:
        tables = [with_share(table, share) for table, share in zip(task.tables, shares)]
        # Whether it fits is for TorchRec to say.
        priced = hosted(tables, [HOST_BYTES] * task.devices, gb_s)
        return neuroshard.analytic_cost(priced, from_sharding_plan(sharding_plan, priced))

    return Judged(
        fetched_gb(cost_of(shared, SLOW_GB_S).fetch_ms),
        cost_of(shared, gb_s).cost_ms,
        fetched_gb(cost_of(own, SLOW_GB_S).fetch_ms),
        cost_of(own, gb_s).cost_ms,
        hbm,
        way,
    )


def arguments_of(
    task: neuroshard.Task,
    gb_s: float,
    kinds: Sequence[str],
    kernels: Sequence[str],
    caches: Sequence[CacheParams | None],
) -> dict[str, Any]:
    """Arguments that both planners get."""
    topology = a100_topology(task.devices, task.memory_bytes, ddr_cap=HOST_BYTES, hbm_to_ddr_mem_bw=gb_s * 1e6)
    constraints = [
        ParameterConstraints(
            sharding_types=list(kinds),
            compute_kernels=list(kernels),
            pooling_factors=lookups_of_features(table),
            cache_params=cache,
        )
        for table, cache in zip(task.tables, caches)
    ]
    return planner_arguments(task, topology, constraints)


def plans_of_proposer(
    task: neuroshard.Task, misses: Sequence[Misses], gb_s: float, timeout_s: int
) -> list[Judged]:
    plans = []
    for name, kinds in [("whole", TABLE_WISE), ("any", ANY_WAY)][: 1 if task.devices == 1 else 2]:
        for load_factor in LOAD_FACTORS:
            caches = [CacheParams(load_factor=load_factor, stats=of_table) for of_table in misses]
            planner = EmbeddingShardingPlanner(
                **arguments_of(task, gb_s, kinds, [CACHED], caches),
                proposer=EmbeddingOffloadScaleupProposer(),
                timeout_seconds=timeout_s,
            )
            plans.append(judge(planner, task, misses, gb_s, f"{name}, {load_factor}"))
    return [plan for plan in plans if plan is not None]


def digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


class Case(NamedTuple):
    set_name: str
    devices: int
    options: argparse.Namespace


def compare(case: Case) -> tuple[str, dict[str, float]]:
    """A row of the table, and what others have over ours. An empty row: not a case."""
    options, gb_s = case.options, case.options.link_gb_s
    task = table_set(case.set_name).task(case.devices, neuroshard.bytes_from_gib(options.gib))
    tables, hbm_gb = task.tables, case.devices * task.memory_bytes / 1e9
    if not 1.0 < gb_of(tables) / hbm_gb <= MOST_TIMES_HBM:
        return "", {}
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    misses = misses_of(tables)
    planner = NeuroShardPlanner(
        **arguments_of(task, gb_s, ANY_WAY, ["fused", CACHED], [None] * len(tables)), threads=1, effort=options.effort
    )
    ours = judge(planner, task, misses, gb_s, "ours")
    theirs = plans_of_proposer(task, misses, gb_s, options.timeout)
    print(task.name, case.devices, ours, *theirs, sep="\n", file=sys.stderr, flush=True)
    cells = [task.name, str(case.devices), digits(gb_of(tables))]
    if ours is None or not theirs:
        return " | ".join([*cells, "no plan by " + ("ours" if ours is None else "TorchRec")]), {}
    whole = whole_gb(tables, misses, ours.hbm_gb)
    one = missed_gb(tables, misses, [ours.hbm_gb / gb_of(tables)] * len(tables))
    shared = min(theirs, key=lambda plan: plan.shared_ms)
    own = min(theirs, key=lambda plan: plan.own_ms)
    figures = [whole, one, shared.shared_gb, ours.shared_gb, shared.shared_ms, ours.shared_ms]
    figures += [own.own_gb, ours.own_gb, own.own_ms, ours.own_ms]
    return " | ".join([*cells, *map(digits, figures), shared.way]), {
        "whole tables: bytes fetched": whole / ours.shared_gb,
        "one ratio for all tables: bytes fetched": one / ours.shared_gb,
        "TorchRec's proposer, caches that tables share: bytes fetched": shared.shared_gb / ours.shared_gb,
        "TorchRec's proposer, caches that tables share: cost": shared.shared_ms / ours.shared_ms,
        "TorchRec's proposer, a cache for each table: bytes fetched": own.own_gb / ours.own_gb,
        "TorchRec's proposer, a cache for each table: cost": own.own_ms / ours.own_ms,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=sorted(path.stem for path in TABLE_SETS.glob("*.json")))
    parser.add_argument("--devices", nargs="+", type=int, default=[1, 2, 4, 8, 16])
    parser.add_argument("--gib", type=float, default=40.0, help="HBM of a device")
    parser.add_argument("--link-gb-s", type=float, default=25.0, help="bandwidth between a device and its host")
    parser.add_argument("--effort", default="default", help="effort of our planner")
    parser.add_argument("--timeout", type=int, default=300, help="seconds after which TorchRec takes its best plan")
    parser.add_argument("--processes", type=int, default=1, help="cases that are planned at the same time")
    options = parser.parse_args()
    print("bench/torchrec_host_memory.py", *sys.argv[1:], "\n")
    print(
        "| case | devices | GB | GB fetched: whole | one | shared: TorchRec | ours | cost ms: TorchRec | ours "
        "| own: TorchRec | ours | cost ms: TorchRec | ours | TorchRec's tables, first load factor |"
    )
    print("|---|" + "---:|" * 12 + "---|", flush=True)
    over_ours: dict[str, list[float]] = {}
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        cases = [Case(name, devices, options) for devices in options.devices for name in options.sets]
        for row, ratios in pool.imap(compare, cases):
            if row:
                print(f"| {row} |", flush=True)
            for name, ratio in ratios.items():
                over_ours.setdefault(name, []).append(ratio)
    print("\nOver ours, as geometric means:\n")
    for name, of in over_ours.items():
        less = sum(ratio < 1.0 for ratio in of)
        mean = statistics.geometric_mean(of)
        print(f"* {name} {mean:.3f} ({min(of):.3f} to {max(of):.3f}), less in {less} of {len(of)}")


if __name__ == "__main__":
    main()
