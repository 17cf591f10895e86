#!/usr/bin/env python3
"""Plans on this machine's cores: what searches and baselines find with cost models of this machine, really run.

Draws tables and tasks, collects compute costs (cpu) and communication costs (mpi), trains on them, plans every task by
each algorithm, measures all plans in turn (neuroshard measure --exchange mpi), and reports how predicted costs agree
with measured ones, how ours compare with the best baseline, and how much one plan's costs differ in ten measurements.

Needs neuroshard, neuroshard-mpi beside it, and mpirun. The defaults are meant to take 20 minutes on two quiet cores,
one for each rank (estimated from small runs on a busy machine). Work that is done already is found in the folder of
results, so an interrupted run goes on.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
BASELINES = ["uniform", "random", "dim_greedy", "size_greedy", "lookup_greedy", "size_lookup_greedy"]
ALGORITHMS = ["neuroshard", "published", *BASELINES]

# Published tables are looked up by batches that keep two cores busy for minutes.
ROW_SCALE = 0.05
POOLING_SCALE = 1 / 16
# Devices of unbalanced plans wait longer than GPUs would.
MAX_START_OFFSET_MS = 100

# Open MPI: ranks may be as many as there are hardware threads, and root may start them.
MPI_SETTINGS = {
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}


class Bench:
    """Runs the program in the folder of results."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.folder = Path(options.output)
        self.folder.mkdir(parents=True, exist_ok=True)

    def run(self, *arguments: object, ranks: int = 0, codes: tuple[int, ...] = (0,)) -> None:
        command = ["mpirun", "-np", str(ranks)] if ranks else []
        command += [self.options.program, *map(str, arguments)]
        print("+", " ".join(command), flush=True)
        done = subprocess.run(command, env=os.environ | MPI_SETTINGS, check=False)
        if done.returncode not in codes:
            sys.exit(f"measured_plans.py: exit code {done.returncode}")

    def draw(self) -> None:
        tables = self.folder / "tables" / "table_configs.json"
        if not tables.exists():
            self.run("generate", "--output", tables.parent, "--row-scale", ROW_SCALE, "--seed", self.options.seed)
            configs = json.loads(tables.read_text())
            for table in configs:
                table["pooling_factor"] *= POOLING_SCALE
            # Renamed when it is whole: its presence says that this is done.
            part = tables.with_suffix(".part")
            part.write_text(json.dumps(configs))
            part.rename(tables)
        tasks = self.folder / "tasks.txt"
        if not tasks.exists():
            self.run(
                *("generate", "--tasks", self.options.tasks, "--table-configs", tables, "--seed", self.options.seed),
                *("--devices", self.options.ranks, "--max-tables-per-device", self.options.max_tables),
                *("--memory-gb", self.options.memory_gb * self.options.ranks * 0.9, "--output", tasks),
            )

    def train(self) -> None:
        compute, comm = self.folder / "compute", self.folder / "comm"
        few = ["--warm-up", 1, "--iterations", 3]
        self.run(
            *("collect", "compute", "--backend", "cpu", "--threads", 1, "--samples", self.options.samples, *few),
            *("--table-configs", self.folder / "tables" / "table_configs.json", "--output", compute),
            *("--memory-gb", self.options.memory_gb, "--max-tables", int(2 * self.options.max_tables)),
        )
        self.run(
            *("collect", "comm", "--backend", "mpi", "--samples", self.options.samples, *few, "--output", comm),
            *("--max-tables-per-device", self.options.max_tables, "--max-start-offset-ms", MAX_START_OFFSET_MS),
            ranks=self.options.ranks,
        )
        weights = self.folder / "weights.safetensors"
        if weights.exists():
            return
        part = self.folder / "weights.part.safetensors"
        epochs = ["--epochs", self.options.epochs, "--loss", "relative", "--batch", 32]
        self.run("train", "compute", "--data", compute, "--features", "traffic", "--output", part, *epochs)
        self.run("train", "comm", "--data", comm, "--base", part, "--output", part, *epochs)
        part.rename(weights)

    def task_options(self) -> list[object]:
        return [
            *("--tables", self.folder / "tables" / "table_configs.json", "--tasks", self.folder / "tasks.txt"),
            *("--devices", self.options.ranks, "--memory-gb", self.options.memory_gb),
            *("--weights", self.folder / "weights.safetensors"),
        ]

    def plans_of(self, algorithm: str) -> Path:
        return self.folder / f"{algorithm}.jsonl"

    def plan(self) -> None:
        for algorithm in ALGORITHMS:
            more = ["--cuts", "columns"] if algorithm == "neuroshard" else []  # No all-reduces were collected.
            self.run(
                *("plan", *self.task_options(), "--algorithm", algorithm, *more),
                *("--format", "jsonl", "--output", self.plans_of(algorithm)),
                codes=(0, 1),
            )

    def measure(self, name: str, plans: list[Path], *more: object) -> dict:
        result = self.folder / f"{name}.json"
        if not result.exists():
            self.run(
                *("measure", "--exchange", "mpi", *self.task_options(), "--plans", *plans, *more),
                *("--threads", 1, "--warm-up", 1, "--iterations", 3, "--rounds", self.options.rounds),
                *("--json", result),
                ranks=self.options.ranks,
                codes=(0, 1),
            )
        return json.loads(result.read_text())

    def measure_all(self) -> dict[str, dict[int, dict]]:
        """The measured plans of each algorithm, by task."""
        measured = self.measure("measured", [self.plans_of(algorithm) for algorithm in ALGORITHMS])
        of_algorithm: dict[str, dict[int, dict]] = {algorithm: {} for algorithm in ALGORITHMS}
        for plan in measured["plans"]:
            if "error" not in plan:
                algorithm = Path(plan["plan"].split(":")[0]).stem
                of_algorithm[algorithm][plan["task"]] = plan
        return of_algorithm

    def measure_noise(self) -> list[float]:
        """Medians of ten measurements of the first task's plan."""
        ours = self.plans_of("neuroshard")
        first = self.measure("noise", [ours] * 10, "--index", 0)
        return [plan["measured_ms"]["median"] for plan in first["plans"] if "error" not in plan]


def kendall_tau(pairs: list[tuple[float, float]]) -> float:
    """Tau-a: costs in milliseconds have no ties to speak of."""
    score = 0
    for i, (x, y) in enumerate(pairs):
        for other_x, other_y in pairs[:i]:
            product = (x - other_x) * (y - other_y)
            score += (product > 0) - (product < 0)
    return score / (len(pairs) * (len(pairs) - 1) / 2)


def report(of_algorithm: dict[str, dict[int, dict]], noise: list[float]) -> str:
    pairs: dict[int, list[tuple[float, float]]] = {}
    for plans in of_algorithm.values():
        for task, plan in plans.items():
            pairs.setdefault(task, []).append((plan["measured_ms"]["median"], plan["predicted_ms"]))
    all_pairs = [pair for of_task in pairs.values() for pair in of_task]
    if len(all_pairs) < 2:
        sys.exit("measured_plans.py: fewer than two plans were measured")
    lines = [
        f"{len(all_pairs)} plans of {len(pairs)} tasks, measured and predicted",
        f"  Kendall tau of all: {kendall_tau(all_pairs):.3f}",
    ]
    taus = [kendall_tau(of_task) for of_task in pairs.values() if len(of_task) > 1]
    if taus:
        lines.append(f"  mean of the tasks' own: {statistics.mean(taus):.3f}")
    errors = [abs(predicted - measured) / measured for measured, predicted in all_pairs]
    lines.append(f"  MAPE: {100 * statistics.mean(errors):.1f} %")

    lines += ["", "measured cost, mean over tasks of the ratio to ours (above 1: ours is cheaper)"]
    ours = {task: plan["measured_ms"]["median"] for task, plan in of_algorithm["neuroshard"].items()}
    others = {name: plans for name, plans in of_algorithm.items() if name != "neuroshard"}
    for name, plans in others.items():
        ratios = [plan["measured_ms"]["median"] / ours[task] for task, plan in plans.items() if task in ours]
        if ratios:
            lines.append(f"  {name:20} {statistics.mean(ratios):.3f}  ({len(ratios)} tasks)")
    best = []
    for task, cost in ours.items():
        of_baselines = [
            of_algorithm[name][task]["measured_ms"]["median"] for name in BASELINES if task in of_algorithm[name]
        ]
        if of_baselines:
            best.append(min(of_baselines) / cost)
    if best:
        lines.append(f"  {'the best baseline':20} {statistics.mean(best):.3f}  (by measuring, {len(best)} tasks)")

    if len(noise) > 1:
        spread = (max(noise) - min(noise)) / statistics.median(noise)
        deviation = statistics.stdev(noise) / statistics.mean(noise)
        lines += [
            "",
            f"noise: one plan measured {len(noise)} times: {min(noise):.2f} to {max(noise):.2f} ms "
            f"({100 * spread:.1f} % of the median; standard deviation {100 * deviation:.1f} %)",
        ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", required=True, help="folder of the results")
    parser.add_argument("--program", default=str(ROOT / "build" / "release" / "tools" / "neuroshard"))
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--tasks", type=int, default=10)
    parser.add_argument("--samples", type=int, default=120, help="of compute, and of communication")
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--max-tables", type=float, default=8, help="of a device")
    parser.add_argument("--memory-gb", type=float, default=1.0, help="of a device")
    parser.add_argument("--seed", type=int, default=0)
    bench = Bench(parser.parse_args())
    bench.draw()
    bench.train()
    bench.plan()
    text = report(bench.measure_all(), bench.measure_noise())
    (bench.folder / "report.txt").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
