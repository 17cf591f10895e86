#!/usr/bin/env python3
"""CPU time of one plan on one thread, by effort and by numbers of tables and devices: the table of docs/schedulers.md.

    bench/plan_times.py [--tables 10,40] [--devices 2,8]

Tables are drawn from those of tests/data/golden, with 16 to 128 columns, for devices of 80 GiB. A figure is the median of
three tasks. A task counts with the least of three plans with effort `fast`, and with one plan by default. Needs
the Python package."""

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import neuroshard

TABLES = Path(__file__).parent.parent / "tests" / "data" / "golden" / "tables" / "table_configs.json"
DRAWS = 3
FAST_PLANS = 3


def drawn_task(configs: list[dict[str, float]], tables: int, devices: int, draw: int) -> neuroshard.Task:
    random_tables = random.Random(f"{tables} {draw}")
    drawn = []
    for _ in range(tables):
        config = random_tables.choice(configs)
        drawn.append(
            neuroshard.Table(
                int(config["row"]),
                random_tables.choice((16, 32, 64, 128)),
                config["pooling_factor"],
                access_histogram=[config[f"bin_{bin}"] for bin in range(17)],
            )
        )
    return neuroshard.Task(drawn, devices, neuroshard.bytes_from_gib(80))


def cpu_ms(plan: Callable[[], neuroshard.PlanResult]) -> float | None:
    """None if there is no plan."""
    start = time.process_time()
    result = plan()
    elapsed = time.process_time() - start
    return 1e3 * elapsed if result.plan is not None else None


def numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def shown(ms: float) -> str:
    return f"{ms:.1f}" if ms < 10 else f"{ms:,.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=numbers, default=[10, 40, 100, 500, 2000])
    parser.add_argument("--devices", type=numbers, default=[2, 8, 32, 128, 1024])
    options = parser.parse_args()
    configs = json.loads(TABLES.read_text())
    fast = neuroshard.Planner(effort="fast", threads=1)
    default = neuroshard.Planner(threads=1)
    print("| tables |", " | ".join(f"{devices:,} devices" for devices in options.devices), "|")
    print("|---:|" + "---:|" * len(options.devices))
    for tables in options.tables:
        cells = []
        for devices in options.devices:
            times = []
            for draw in range(DRAWS):
                task = drawn_task(configs, tables, devices, draw)
                least = [cpu_ms(lambda: fast.plan(task)) for _ in range(FAST_PLANS)]
                once = cpu_ms(lambda: default.plan(task))
                if once is not None:
                    times.append((min(ms for ms in least if ms is not None), once))
            if len(times) < DRAWS:
                cells.append("does not fit")
            else:
                cells.append(", ".join(shown(statistics.median(of_effort)) for of_effort in zip(*times)))
        print(f"| {tables:,} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
