#!/usr/bin/env python3
"""Times plan() in Python, by the wall clock, beyond the time that the library says it searched. With a greedy baseline
that is the conversion of arguments and result, and Python's lock. With the default search, it is also the library's
work before and after the search, mostly to free its memory. `bench/python_overhead.py [--tables N] [--calls N]`; needs
the Python package."""

import argparse
import statistics
import time

import neuroshard


def measure(planner: neuroshard.Planner, task: neuroshard.Task, calls: int) -> list[float]:
    """Microseconds of each call that its search did not take."""
    overheads = []
    for _ in range(calls):
        start = time.perf_counter()
        result = planner.plan(task)
        elapsed_us = 1e6 * (time.perf_counter() - start)
        overheads.append(elapsed_us - 1e3 * result.stats.search_ms)
    return overheads


def report(name: str, overheads: list[float]) -> None:
    cuts = statistics.quantiles(overheads, n=20)
    print(f"{name:20} median {statistics.median(overheads):6.1f} us, 5 % to 95 %: {cuts[0]:.1f} to {cuts[-1]:.1f} us")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=40)
    parser.add_argument("--devices", type=int, default=4)
    parser.add_argument("--calls", type=int, default=500)
    arguments = parser.parse_args()
    tables = [
        neuroshard.Table(rows=100_000 * (1 + index % 7), dim=64, pooling_factor=1.0 + index % 9)
        for index in range(arguments.tables)
    ]
    task = neuroshard.Task(tables, devices=arguments.devices, memory_bytes=neuroshard.bytes_from_gib(4))
    planners = {
        "dim_greedy": neuroshard.Planner(algorithm="dim_greedy", threads=1),
        "neuroshard, fast": neuroshard.Planner(effort="fast", threads=1),
        "neuroshard, default": neuroshard.Planner(threads=1),
    }
    for name, planner in planners.items():
        planner.plan(task)  # Grows its memory.
        report(name, measure(planner, task, arguments.calls))


if __name__ == "__main__":
    main()
