#!/usr/bin/env python3
"""Measures the CPU time of `neuroshard plan` on legal tasks that are hard to plan.

usage: bench/slow_tasks.py PROGRAM [--bytes N] [--only NAME,...] [--keep FOLDER] [PLAN_OPTION...]

Each task is a file of about N bytes (1 MB): as many tables, rules, groups or devices as there is room for. Prints
the CPU time of a run that plans, that of one whose deadline is 1 ms, and the exit status of both. No deadline ends the
work that the second run does beyond the first millisecond: reading, checking, the start of searches, and writing.
"""

import argparse
import itertools
import json
import os
import pathlib
import random
import resource
import subprocess
import tempfile
import time


def table(row=1000, dim=4, pooling_factor=1, **more):
    return {"row": row, "dim": dim, "pooling_factor": pooling_factor, **more}


def task(tables, devices=1024, memory_gb=40, **more):
    return {
        "format": "neuroshard.task",
        "version": 1,
        "devices": devices,
        "memory_gb": memory_gb,
        "tables": list(tables),
        **more,
    }


def text_of(value):
    return json.dumps(value, separators=(",", ":"))


def up_to(size, make):
    """The largest make(n) that is no longer than `size` bytes."""
    low, high = 1, 2
    while len(text_of(make(high))) < size:
        low, high = high, 2 * high
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (middle, high) if len(text_of(make(middle))) <= size else (low, middle)
    return make(low)


def pairs(devices):
    return itertools.cycle(itertools.combinations(range(devices), 2))


def ruled(rule, devices=1024, **more):
    def make(n):
        of_devices = pairs(devices)
        return task(
            (table(rules={rule: list(next(of_devices))}, **more) for _ in range(n)), devices
        )

    return make


def groups(keep, size, tables_per_group=1.0, devices=1024, step=7, **more):
    def make(n):
        count = max(2, int(n * tables_per_group), size)
        of = []
        for g in range(n):
            members = sorted({(g * step + i) % count for i in range(size)})
            of.append({"keep": keep, "tables": members})
        return task((table(**more) for _ in range(count)), devices, groups=of)

    return make


def scattered_groups(keep, size, devices=1024, **more):
    """Groups of tables drawn at random."""

    def make(n):
        draw = random.Random(1)
        count = max(n, 2 * size)
        of = [{"keep": keep, "tables": sorted(draw.sample(range(count), size))} for _ in range(n)]
        return task((table(**more) for _ in range(count)), devices, groups=of)

    return make


def drawn(devices, seed=1, memory_gb=40, **more):
    """All tables differ."""

    def make(n):
        draw = random.Random(seed)
        return task(
            (
                table(draw.randrange(1000, 10**6), 4 * draw.randrange(1, 64), draw.randrange(1, 40), **more)
                for _ in range(n)
            ),
            devices,
            memory_gb,
        )

    return make


def histograms(n, devices=64, batch=4194304, row=10**9):
    draw = random.Random(1)
    tables = []
    for _ in range(n):
        # Rows whose rates differ much: growing such histograms takes longest.
        bins = {f"bin_{b}": 0 for b in range(17)}
        bins |= {"bin_0": 1e-5, "bin_1": draw.randrange(300, 700) / 10**6, "bin_2": 0.9994}
        tables.append(table(row, 64, draw.randrange(1, 60), **bins))
    return task(tables, devices, 10**5, batch_size=batch)


def mixed(n):
    draw = random.Random(3)
    tables = []
    for _ in range(n):
        rules = {}
        if draw.random() < 0.5:
            rules["not_devices"] = sorted(draw.sample(range(1024), draw.randrange(1, 6)))
        if draw.random() < 0.2:
            rules["max_slices"] = draw.randrange(1, 9)
        if draw.random() < 0.2:
            rules["kinds"] = draw.choice([["table"], ["column", "row"], ["replicate", "table"]])
        tables.append(table(draw.randrange(10, 10**7), 4 * draw.randrange(1, 99), draw.randrange(1, 50), rules=rules))
    free = [t for t in range(n) if "kinds" not in tables[t]["rules"]]
    of = [
        {"keep": "apart" if draw.random() < 0.7 else "together", "tables": free[4 * g : 4 * g + 3]}
        for g in range(len(free) // 8)
    ]
    devices = [{"memory_gb": 100 + d % 7, "speed": 1 + d % 3, "base_ms": d % 5} for d in range(1024)]
    return task(tables, devices, groups=of, reserved_share=0.15)


def device_lists(n):
    """Each table names half of the devices."""
    draw = random.Random(5)
    return task((table(rules={"devices": sorted(draw.sample(range(1024), 512))}) for _ in range(n)))


SHAPES = {
    "tables": lambda n: task((table() for _ in range(n))),
    "tables_4_devices": lambda n: task((table() for _ in range(n)), 4),
    "drawn_1024": drawn(1024),
    "drawn_64": drawn(64, memory_gb=200),
    "drawn_8": drawn(8, memory_gb=1600),
    "wide": lambda n: task((table(dim=65536) for _ in range(n))),
    "wide_drawn_8": lambda n: task((table(1000 + i, 65536 - 4 * (i % 97)) for i in range(n)), 8, 10**6),
    "tight_packing": lambda n: task(
        (table(random.Random(i).randrange(2 * 10**6, 10**7), 4, rules={"no_split": True}) for i in range(n)),
        1024,
        0.0000149 * n * 6,
    ),
    "halved_packing": lambda n: task((table(10**6 + 7919 * (i % 4001), 64) for i in range(n)), 64, 0.0135 * n),
    "not_devices": ruled("not_devices"),
    "devices": ruled("devices"),
    "one_device": lambda n: task((table(rules={"devices": [i % 1024]}) for i in range(n))),
    "not_nodes": lambda n: ruled("not_nodes", 128)(n) | {"devices": 1024, "devices_per_node": 8},
    "device_lists": device_lists,
    "device_lists_wide": lambda n: ruled("not_devices", dim=1024)(n),
    "apart_pairs": groups("apart", 2),
    "apart_chain": groups("apart", 2, step=1),
    "apart_16": groups("apart", 16),
    "apart_1024": groups("apart", 1024, 64),
    "apart_1024_few_tables": lambda n: groups("apart", 1000, devices=1024)(n),
    "apart_scattered": scattered_groups("apart", 16),
    "apart_wide": groups("apart", 8, dim=4096),
    "apart_few_devices": scattered_groups("apart", 6, devices=16),
    "apart_infeasible": groups("apart", 40, devices=39),
    "together_pairs": lambda n: groups("together", 2, 2, step=2)(n),
    "together_chain": groups("together", 2, step=1),
    "together_scattered": scattered_groups("together", 3),
    "histograms": histograms,
    "mixed": mixed,
    "rows_only": lambda n: task((table(10**6, 64, rules={"kinds": ["row"]}) for _ in range(n)), 64, 1000),
    "replicas_only": lambda n: task((table(10**3, 64, rules={"kinds": ["replicate"]}) for _ in range(n)), 64),
    "table_rows": lambda n: task((table(10**6, 64, rules={"kinds": ["table_row"]}) for _ in range(n)), 64, 1000),
    "links": lambda n: drawn(1024)(n) | {"links": {"node_gb_s": 10}},
    "row_shares": lambda n: task(
        (table(10**6, 64, row_shares=[1 / 1024] * 1024) for _ in range(max(1, n))), 64, 1000
    ),
    "base_ms": lambda n: drawn(8)(n) | {"devices": [{"memory_gb": 1600, "base_ms": 30 * d} for d in range(8)]},
    "reserved": lambda n: drawn(64, memory_gb=1300)(n) | {"reserved_share": 0.9},
}


def cpu_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (
        after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        done.returncode,
        done.stderr.strip().split("\n")[-1],
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--bytes", type=int, default=10**6)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep")
    arguments, options = parser.parse_known_args()
    folder = pathlib.Path(arguments.keep or tempfile.mkdtemp())
    folder.mkdir(exist_ok=True)
    names = [name for name in arguments.only.split(",") if name] or list(SHAPES)
    print(f"{'task':24} {'deadline 1 ms':>14} {'100 ms':>9} {' '.join(options) or 'default':>12}  exit status")
    for name in names:
        path = folder / f"{name}_{arguments.bytes}.json"
        if not path.exists():
            path.write_text(text_of(up_to(arguments.bytes, SHAPES[name])))
        command = [arguments.program, "plan", "--format", "json", "--threads", "1", "--task", str(path)]
        at_once, status_at_once, said = cpu_seconds([*command, "--deadline-ms", "1"])
        in_time, status_in_time, _ = cpu_seconds([*command, "--deadline-ms", "100"])
        planned, status, said = cpu_seconds([*command, *options]) if options else (float("nan"), "-", said)
        print(
            f"{name:24} {1e3 * at_once:11.0f} ms {1e3 * in_time:6.0f} ms {1e3 * planned:9.0f} ms  "
            f"{status_at_once}, {status_in_time}, {status} {said[:90] if status not in (0, 1) else ''}",
            flush=True,
        )


if __name__ == "__main__":
    main()
