#!/usr/bin/env python3
"""Runs plans of published tables by TorchRec: those of the search, the published search and the baselines. Each is
measured twice (neuroshard.measure), and shown beside the prediction of the weights.

    bench/measured_plans.py --ranks 2 --tasks 5 --weights mine.safetensors --output measured

Tables are those of tasks that the published program planned, with fewer rows and lookups where cores stand in for GPUs.
Without --weights, predictions are for an A100: they order plans, but are no times of cores. The folder of results keeps
what is done, so the same command goes on where it was. Needs the Python package, PyTorch and TorchRec."""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import neuroshard
from neuroshard.measure.accuracy import accuracy_of

GOLDEN = Path(__file__).parents[1] / "tests" / "data" / "golden"
BASELINES = ["uniform", "random", "dim_greedy", "size_greedy", "lookup_greedy", "size_lookup_greedy"]
ALGORITHMS = ["neuroshard", "published", *BASELINES]
# Plans of a task that are predicted to be at least so much apart, per cent: how often they are in that order.
APART = (1, 5, 10, 20)


class Measured(NamedTuple):
    """Costs of a plan, ms; both measurements are medians."""

    predicted: float
    first: float
    second: float

    @property
    def mean(self) -> float:
        return (self.first + self.second) / 2


def task_document(options: argparse.Namespace, ranks: int, index: int) -> dict[str, object]:
    """Task `index` of 0 to 99 that the published program planned."""
    configs = json.loads((GOLDEN / "tables" / "table_configs.json").read_text())
    line = (GOLDEN / "tasks" / f"{ranks}gpu_dim128.txt").read_text().splitlines()[index]
    ids, dims = ([int(number) for number in numbers.split(",")] for numbers in line.split())
    tables = []
    for position, (table, dim) in enumerate(zip(ids, dims)):
        scaled = {
            "name": f"t{position}",
            "dim": dim,
            "row": max(100, int(configs[table]["row"] * options.row_scale)),
            "pooling_factor": configs[table]["pooling_factor"] * options.pooling_scale,
        }
        tables.append(scaled | {key: share for key, share in configs[table].items() if key.startswith("bin_")})
    document = {"format": "neuroshard.task", "version": 1, "name": f"published task {index}", "devices": ranks}
    return {**document, "memory_gb": options.memory_gb, "batch_size": options.batch, "tables": tables}


def different_plans(task: neuroshard.Task, weights: neuroshard.Weights | None, folder: Path) -> dict[str, str]:
    """The file of each algorithm's plan; algorithms with the same plan share one."""
    files: dict[str, str] = {}
    known: dict[tuple[object, ...], str] = {}
    for algorithm in ALGORITHMS:
        # The others know no equal widths; what TorchRec cannot hold of theirs is left out.
        equal = algorithm == "neuroshard"
        result = neuroshard.plan(task, weights=weights, algorithm=algorithm, equal_widths=equal, cuts="columns")
        if result.plan is None or result.cost is None:
            continue
        held = neuroshard.slices_by_device(task, result.plan)
        key = tuple(tuple(sorted((s.table, s.first_column, s.dim) for s in slices)) for slices in held)
        if key not in known:
            known[key] = str(folder / f"{algorithm}.json")
            Path(known[key]).write_text(result.cost.to_json())
        files[algorithm] = known[key]
    return files


def measure(options: argparse.Namespace, ranks: int, task: Path, plans: list[str], result: Path) -> dict[str, Any]:
    """The results of each plan file that could be measured."""
    if not result.exists():
        command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(ranks)]
        command += ["-m", "neuroshard.measure", "--task", str(task), "--plans", *plans, "--json", str(result)]
        command += ["--rounds", str(options.rounds), "--device", options.device]
        command += ["--weights", options.weights] if options.weights else []
        print("+", " ".join(command), flush=True)
        # 1: some were not measured.
        if subprocess.run(command, env=os.environ | {"OMP_NUM_THREADS": "1"}).returncode and not result.exists():
            sys.exit("measured_plans.py: neuroshard.measure failed")
    measured = json.loads(result.read_text())["plans"]
    return {plan["plan"]: plan for plan in measured if "error" not in plan}


def measure_task(options: argparse.Namespace, ranks: int, index: int) -> dict[str, Measured]:
    """By algorithm."""
    folder = Path(options.output) / f"ranks_{ranks}" / f"task_{index}"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "task.json"
    file.write_text(json.dumps(task_document(options, ranks, index)))
    weights = neuroshard.Weights.load(options.weights) if options.weights else None
    files = different_plans(neuroshard.load_task(file), weights, folder)
    plans = sorted(set(files.values()))
    first, second = (measure(options, ranks, file, plans, folder / f"{name}.json") for name in ("first", "second"))
    return {
        algorithm: Measured(
            first[plan]["predicted_ms"], first[plan]["measured_ms"]["median"], second[plan]["measured_ms"]["median"]
        )
        for algorithm, plan in files.items()
        if plan in first and plan in second
    }


def agreement(tasks: list[list[tuple[float, float]]]) -> str:
    of_all = accuracy_of([pair for pairs in tasks for pair in pairs])
    own = [of_task.kendall_tau for of_task in map(accuracy_of, tasks) if of_task is not None]
    if of_all is None or not own:
        return "fewer than two plans"
    return (
        f"Kendall tau {of_all.kendall_tau:.3f}, mean of the tasks' own {statistics.mean(own):.3f}; "
        f"MAPE {100 * of_all.mape:.1f} %"
    )


def in_order(tasks: list[list[Measured]], least_ratio: float) -> str:
    right = [
        plan.mean > other.mean
        for plans in tasks
        for plan in plans
        for other in plans
        if plan.predicted >= least_ratio * other.predicted
    ]
    return f"{100 * statistics.mean(right):.0f} % of {len(right)} pairs" if right else "no pairs"


def report(tasks: list[dict[str, Measured]]) -> str:
    different = [list(dict.fromkeys(task.values())) for task in tasks]
    lines = [
        f"{sum(map(len, different))} different plans of {len(tasks)} tasks, measured twice",
        f"  measured and predicted: {agreement([[(p.mean, p.predicted) for p in plans] for plans in different])}",
        f"  first and second measurement: {agreement([[(p.first, p.second) for p in plans] for plans in different])}",
        "  the plan predicted to be dearer is, of plans of a task that are predicted to be at least",
        *(f"    {percent:2} % apart: {in_order(different, 1 + percent / 100)}" for percent in APART),
        "",
        "measured cost, mean over tasks of the ratio to ours (above 1: ours is cheaper)",
    ]
    both = [task for task in tasks if "neuroshard" in task]
    for name in ALGORITHMS[1:]:
        ratios = [task[name].mean / task["neuroshard"].mean for task in both if name in task]
        if ratios:
            lines.append(f"  {name:20} {statistics.mean(ratios):.3f}  ({len(ratios)} tasks)")
    # Chosen by one measurement, compared by the other: the cheapest of several by the same is cheap by chance, too.
    best = []
    for task in both:
        baselines = [task[name] for name in BASELINES if name in task]
        if baselines:
            by_second = min(baselines, key=lambda plan: plan.first).second / task["neuroshard"].second
            by_first = min(baselines, key=lambda plan: plan.second).first / task["neuroshard"].first
            best.append((by_first + by_second) / 2)
    if best:
        spread = f"({len(best)} tasks, {min(best):.3f} to {max(best):.3f})"
        lines.append(f"  {'the best baseline':20} {statistics.mean(best):.3f}  {spread}")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", required=True, help="folder of the results")
    parser.add_argument("--ranks", type=int, nargs="+", default=[2], choices=[2, 4, 8], help="ranks, in turn")
    parser.add_argument("--tasks", type=int, default=5, help="tasks of each number of ranks, at most 100")
    parser.add_argument("--weights", help="weights file of this machine")
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--row-scale", type=float, default=0.05)
    parser.add_argument("--pooling-scale", type=float, default=0.25)
    parser.add_argument("--memory-gb", type=float, default=1.0, help="GiB of a device")
    options = parser.parse_args()
    for ranks in options.ranks:
        text = report([measure_task(options, ranks, index) for index in range(options.tasks)])
        (Path(options.output) / f"ranks_{ranks}" / "report.txt").write_text(text)
        print(f"{ranks} ranks\n\n{text}")


if __name__ == "__main__":
    main()
