#!/usr/bin/env python3
"""What deduplication and hot rows gain: drawn models with sequences, on 8 to 128 devices. Each is planned without both,
with all unpooled tables deduplicated, and with plans that choose tables; each so with hot rows, on every device or once
on each node, too; and by FlexShard's tiers. Costs are analytic ones. --torchrec adds the plans of TorchRec's planner,
which deduplicates unpooled tables, and needs the Python package, PyTorch and TorchRec. The cost of finding rows, and of
what is made of those that come back, is counted for plans that choose, and left out for unpooled tables of the second
kind of plan (docs/deduplication.md). Prints a table in Markdown.

usage: bench/deduplication.py PROGRAM [--models N] [--hardware NAME] [--torchrec]
"""

import argparse
import json
import math
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

DEVICES = (8, 16, 32, 64, 128)
HOT = "hot_rows"
NODES = f"{HOT},hot_rows_by_node"
TORCHREC = "TorchRec"
WAYS = {  # Abilities of the runtime, and the algorithm.
    "none": ("", "neuroshard"),
    "unpooled": ("deduplicate_ids", "neuroshard"),
    "by table": ("deduplicate_by_table", "neuroshard"),
    "hot": (HOT, "neuroshard"),
    "unpooled, hot": (f"deduplicate_ids,{HOT}", "neuroshard"),
    "by table, hot": (f"deduplicate_by_table,{HOT}", "neuroshard"),
    "unpooled, nodes": (f"deduplicate_ids,{NODES}", "neuroshard"),
    "by table, nodes": (f"deduplicate_by_table,{NODES}", "neuroshard"),
    "unpooled, flexshard": (f"deduplicate_ids,{HOT}", "flexshard"),
    "its nodes": (f"deduplicate_ids,{NODES}", "flexshard"),
}


def drawn_model(seed: int) -> dict[str, Any]:
    """A third of the models have sequences alone, a third none, the others both."""
    draw = random.Random(seed)

    def log_uniform(low: float, high: float) -> float:
        return math.exp(draw.uniform(math.log(low), math.log(high)))

    def table(rows: float, dim: int, lookups: float, pooling: str) -> dict[str, Any]:
        exponent = draw.uniform(0.9, 1.3)
        return {
            "row": int(rows),
            "dim": dim,
            "pooling_factor": lookups,
            "pooling": pooling,
            "zipf_exponent": exponent,
            "popularity": {"zipf_exponent": exponent},
        }

    tables = []
    if seed % 3 != 1:
        tables += [
            table(log_uniform(1e5, 5e7), draw.choice((64, 128, 256)), log_uniform(10, 200), "none")
            for _ in range(draw.randint(2, 6))
        ]
    if seed % 3 != 0:
        tables += [
            table(
                log_uniform(1e3, 5e7),
                draw.choice((32, 64, 128)),
                1.0 if draw.random() < 0.5 else log_uniform(2, 50),
                "sum",
            )
            for _ in range(draw.randint(20, 60))
        ]
    return {
        "format": "neuroshard.task",
        "version": 1,
        "devices": DEVICES[seed // 3 % len(DEVICES)],
        "memory_gb": 64,
        "batch_size": 65536,
        "tables": tables,
    }


def output_of(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program")
    arguments.add_argument("--models", type=int, default=30)
    arguments.add_argument("--hardware", default="a100")
    arguments.add_argument("--torchrec", action="store_true", help="TorchRec's plans, too; for a100")
    options = arguments.parse_args()
    print(f"# deduplication and hot rows of {options.models} drawn models, {options.hardware}\n")
    ratios: dict[str, list[float]] = {way: [] for way in WAYS if way != "none"}
    if options.torchrec:
        from torchrec_sequences import torchrec_cost_ms

        ratios[TORCHREC] = []
    print("| model | devices | unpooled | pooled | none, ms | " + " | ".join(ratios) + " | tables |")
    print("|---:|---:|---:|---:|---:|" + "---:|" * (len(ratios) + 1))
    with tempfile.TemporaryDirectory() as folder:
        task, plan = Path(folder, "task.json"), Path(folder, "plan.json")
        for seed in range(options.models):
            model = drawn_model(seed)
            task.write_text(json.dumps(model))
            costs = {}
            chosen = {}
            for way, (exchange, algorithm) in WAYS.items():
                common = ["--task", str(task), "--hardware", options.hardware]
                if exchange:
                    common += ["--exchange-types", exchange]
                planned = ["--algorithm", algorithm, "--format", "json", "--output", str(plan)]
                output_of(options.program, "plan", *common, *planned)
                found = json.loads(plan.read_text())
                chosen[way] = (len(found.get("deduplicated", [])), len(found.get(HOT, [])))
                analytic = ["--plan", str(plan), "--cost-source", "analytic", "--format", "jsonl"]
                costs[way] = json.loads(output_of(options.program, "simulate", *common, *analytic))["cost"]
            if options.torchrec:
                costs[TORCHREC] = torchrec_cost_ms({**model, "exchange": {"deduplicate_ids": True}}, Path(folder))
            unpooled = sum(table["pooling"] == "none" for table in model["tables"])
            shares = {way: costs[way] / costs["none"] for way in ratios}
            for name, share in shares.items():
                ratios[name].append(share)
            print(
                f"| {seed} | {model['devices']} | {unpooled} | {len(model['tables']) - unpooled} "
                f"| {costs['none']:.3f} | "
                + " | ".join(f"{share:.3f}" for share in shares.values())
                + f" | {chosen['by table'][0]}, {chosen['unpooled, hot'][1]} |",
                flush=True,
            )
    means = " | ".join(f"{statistics.geometric_mean(values):.3f}" for values in ratios.values())
    print(f"| geometric mean | | | | | {means} | |")


if __name__ == "__main__":
    main()
