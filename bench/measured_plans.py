#!/usr/bin/env python3
"""Plans on this machine's cores: what searches and baselines find with cost models of this machine, really run.

Draws tables and tasks, collects compute costs (cpu, as many processes at once as there will be ranks, each on cores of
its own where there are enough) and communication costs, calibrates the built-in compute model and trains a
communication model on them, plans every task by each algorithm, measures all different plans of a task in turn
(neuroshard measure), twice, and reports how predicted costs agree with measured ones and these with each other, how ours
compare with the best baseline, how much one plan's costs differ in ten measurements, and those of one compute sample in
two.

--exchange local: ranks are threads of one process, each on cores of its own; needs nothing but neuroshard. mpi: needs
neuroshard-mpi beside it, and mpirun. --minutes shares the time out between the steps: as many samples, epochs and tasks
as there is time for. What is done is found in the folder of results, so the same command goes on where it was.
"""

import argparse
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

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


# Shares of --minutes; the rest goes to measuring.
COMPUTE_SHARE = 0.25
COMM_SHARE = 0.15  # Of all numbers of ranks together.
TRAIN_COMPUTE_SHARE = 0.12
TRAIN_COMM_SHARE = 0.06
# Fewer cannot be trained on.
LEAST_SAMPLES = 24
# Of compute costs, measured twice.
SAMPLES_AGAIN = 48
LEAST_SECONDS = 10.0
# Collecting and training end soon after they are told to, a plan that is being measured does not.
SECONDS_TO_STOP = 5.0


class Measured(NamedTuple):
    """Costs of a plan, ms; both measurements are medians of --rounds times the iterations."""

    plan: str
    predicted: float
    first: float
    second: float

    @property
    def mean(self) -> float:
        return (self.first + self.second) / 2


class Bench:
    """Runs the program in the folder of results."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.folder = Path(options.output)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.start = time.monotonic()

    def left(self) -> float:
        """Seconds of --minutes; endless without it."""
        return self.start + 60 * (self.options.minutes or float("inf")) - time.monotonic()

    def share(self, share: float) -> float:
        """Seconds of a step; some even if it is late: too little is of no use."""
        seconds = 60 * share * (self.options.minutes or float("inf"))
        return max(LEAST_SECONDS, min(seconds, self.left() - SECONDS_TO_STOP))

    def command(self, arguments: tuple[object, ...], ranks: int = 0) -> list[str]:
        start = ["mpirun", "-np", str(ranks)] if ranks and self.options.exchange == "mpi" else []
        return [*start, self.options.program, *map(str, arguments)]

    def run_all(
        self, commands: list[list[str]], seconds: float, codes: tuple[int, ...] = (0,), codes_if_told: bool = True
    ) -> None:
        """Commands at once, each on cores of its own if there are several. After `seconds` they are told to stop;
        with codes_if_told=False any exit code of those will do: mpirun has that of the signal."""
        cores = sorted(os.sched_getaffinity(0))
        part = len(cores) // len(commands)
        running = []
        for i, command in enumerate(commands):
            print("+", " ".join(command), flush=True)
            own = cores[i * part : (i + 1) * part] or cores
            # A process begins on the cores of who starts it.
            os.sched_setaffinity(0, own)
            running.append(subprocess.Popen(command, env=os.environ | MPI_SETTINGS))
        os.sched_setaffinity(0, cores)
        end = time.monotonic() + seconds
        told = []
        for process in running:
            try:
                process.wait(None if seconds == float("inf") else max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                told = [late for late in running if late.poll() is None]
                # Not SIGINT, which a shell's background processes ignore.
                for late in told:
                    late.send_signal(signal.SIGTERM)
                break
        for process in running:
            if process.wait() not in codes and (codes_if_told or process not in told):
                sys.exit(f"measured_plans.py: exit code {process.returncode}")

    def run(self, *arguments: object, codes: tuple[int, ...] = (0,)) -> None:
        self.run_all([self.command(arguments)], float("inf"), codes)

    def collect(
        self,
        step: str,
        folders: list[Path],
        samples: int,
        share: float,
        command_for: Callable[[int], list[list[str]]],
    ) -> None:
        """Runs the commands for `samples` samples in `folders` for its share of the time, but collects some."""
        if not self.once(step):
            return
        end = time.monotonic() + self.share(share)
        least = min(samples, LEAST_SAMPLES)
        self.run_all(command_for(least), float("inf"))
        if time.monotonic() < end:
            self.run_all(command_for(samples), end - time.monotonic(), codes_if_told=False)
        there = sum(len((folder / "data.txt").read_text().splitlines()) for folder in folders)
        if there < least:
            sys.exit(f"measured_plans.py: {step} has {there} samples, at least {least} are needed")
        self.done(step)

    def once(self, name: str) -> bool:
        """True if the step has not been done yet; done() says that it has."""
        return not (self.folder / f"{name}.done").exists()

    def done(self, name: str) -> None:
        (self.folder / f"{name}.done").touch()

    @property
    def tables(self) -> Path:
        return self.folder / "tables" / "table_configs.json"

    def draw_tables(self) -> None:
        if self.tables.exists():
            return
        drawn = self.folder / "drawn"
        self.run("generate", "--output", drawn, "--row-scale", ROW_SCALE, "--seed", self.options.seed)
        configs = json.loads((drawn / self.tables.name).read_text())
        for table in configs:
            table["pooling_factor"] *= POOLING_SCALE
        self.tables.parent.mkdir(exist_ok=True)
        # Renamed when it is whole: its presence says that this is done.
        part = self.tables.with_suffix(".part")
        part.write_text(json.dumps(configs))
        part.rename(self.tables)

    def train(self, kind: str, data: list[Path], output: Path, share: float, *more: object) -> None:
        if output.exists():
            return
        part = output.with_suffix(".part.safetensors")
        folders = [word for folder in data for word in ("--data", folder)]
        self.run_all(
            [
                self.command(("train", kind, *folders, "--output", part, *more))
            ],
            self.share(share),
        )
        part.rename(output)


class Ranks:
    """The part of the bench for one number of ranks."""

    def __init__(self, bench: Bench, ranks: int):
        self.bench = bench
        self.options = bench.options
        self.ranks = ranks
        self.folder = bench.folder / f"ranks_{ranks}"
        self.folder.mkdir(exist_ok=True)

    def draw_tasks(self) -> None:
        tasks = self.folder / "tasks.txt"
        if not tasks.exists():
            self.bench.run(
                *("generate", "--tasks", self.options.tasks, "--table-configs", self.bench.tables),
                *("--devices", self.ranks, "--max-tables-per-device", self.options.max_tables),
                *("--memory-gb", self.options.memory_gb * self.ranks * 0.9, "--output", tasks),
                *("--seed", self.options.seed),
            )

    def collect_compute(self) -> list[Path]:
        """As many processes at once as there will be ranks: they share caches, memory and cores as ranks do. Some
        samples are measured twice."""
        collect = (
            *("collect", "compute", "--backend", "cpu", "--threads", 1, "--warm-up", 1, "--iterations", 3),
            *("--memory-gb", self.options.memory_gb, "--max-tables", int(2 * self.options.max_tables)),
            *("--table-configs", self.bench.tables),
        )

        def commands(folders: list[Path], samples: int) -> list[list[str]]:
            each = -(-samples // self.ranks)
            return [
                self.bench.command((*collect, "--samples", each, "--seed", self.options.seed + i, "--output", folder))
                for i, folder in enumerate(folders)
            ]

        for name, samples, share in (
            ("compute", self.options.samples, COMPUTE_SHARE / len(self.options.ranks)),
            ("again", SAMPLES_AGAIN, 0.0),
        ):
            folders = [self.folder / f"{name}_{i}" for i in range(self.ranks)]
            self.bench.collect(
                f"{name}_{self.ranks}", folders, samples, share, lambda count, to=folders: commands(to, count)
            )
        return [self.folder / f"compute_{i}" for i in range(self.ranks)]

    def compute_costs(self, name: str) -> list[list[float]]:
        """Of the samples of each process, in order."""
        files = [self.folder / f"{name}_{i}" / "data.txt" for i in range(self.ranks)]
        return [[float(line.split()[1]) for line in file.read_text().splitlines()] for file in files]

    def compute_noise(self) -> list[float]:
        """Second over first cost of what was measured twice."""
        twice = zip(self.compute_costs("compute"), self.compute_costs("again"), strict=True)
        return [second / first for costs, again in twice for first, second in zip(costs, again, strict=False)]

    def train(self) -> None:
        comm, step = self.folder / "comm", f"comm_{self.ranks}"
        parts = len(self.options.ranks)
        compute = self.folder / "compute.safetensors"
        share = TRAIN_COMPUTE_SHARE / parts
        self.bench.train("compute", self.collect_compute(), compute, share, "--from", "built-in")
        collect = (
            *("collect", "comm", "--backend", self.options.exchange, "--devices", self.ranks),
            *("--warm-up", 1, "--iterations", 3, "--output", comm),
            *("--max-tables-per-device", self.options.max_tables, "--max-start-offset-ms", MAX_START_OFFSET_MS),
        )

        def commands(samples: int) -> list[list[str]]:
            return [self.bench.command((*collect, "--samples", samples), self.ranks)]

        self.bench.collect(step, [comm], self.options.samples, COMM_SHARE / parts, commands)
        weights = self.folder / "weights.safetensors"
        self.bench.train(
            *("comm", [comm], weights, TRAIN_COMM_SHARE / parts, "--base", compute),
            *("--epochs", self.options.epochs, "--loss", "relative", "--batch", 32),
        )

    def task_options(self) -> list[object]:
        return [
            *("--tables", self.bench.tables, "--tasks", self.folder / "tasks.txt"),
            *("--devices", self.ranks, "--memory-gb", self.options.memory_gb),
            *("--weights", self.folder / "weights.safetensors"),
        ]

    def plans_of(self, algorithm: str) -> Path:
        return self.folder / f"{algorithm}.jsonl"

    def plan(self) -> None:
        for algorithm in ALGORITHMS:
            if self.plans_of(algorithm).exists():
                continue
            more = ["--cuts", "columns"] if algorithm == "neuroshard" else []  # No all-reduces were collected.
            self.bench.run(
                *("plan", *self.task_options(), "--algorithm", algorithm, *more),
                *("--format", "jsonl", "--output", self.plans_of(algorithm)),
                codes=(0, 1),
            )

    def measure(self, name: str, plans: list[Path], task: int) -> dict:
        result = self.folder / f"{name}.json"
        if not result.exists():
            measure = (
                *("measure", "--exchange", self.options.exchange, *self.task_options(), "--plans", *plans),
                *("--index", task, "--threads", 1, "--warm-up", 1, "--iterations", 3),
                *("--rounds", self.options.rounds, "--json", result),
            )
            self.bench.run_all([self.bench.command(measure, self.ranks)], float("inf"), codes=(0, 1))
        return json.loads(result.read_text())

    def same_plans(self, task: int) -> dict[str, list[str]]:
        """The algorithms that have the same plan of a task, those without a plan too, by the first of them."""
        first_with: dict[str, str] = {}
        same: dict[str, list[str]] = {}
        for algorithm in ALGORITHMS:
            plan = json.loads(self.plans_of(algorithm).read_text().splitlines()[task])
            key = json.dumps([plan.get("steps"), sorted(sorted(shard) for shard in plan.get("shards", []))])
            same.setdefault(first_with.setdefault(key, algorithm), []).append(algorithm)
        return same

    def measure_tasks(self, end: float) -> dict[str, dict[int, Measured]]:
        """The measured plans of each algorithm, by task; as many tasks as there is time for until `end`."""
        of_algorithm: dict[str, dict[int, Measured]] = {algorithm: {} for algorithm in ALGORITHMS}
        longest = 0.0
        for task in range(self.options.tasks):
            begin = time.monotonic()
            names = [f"measured_{task}", f"measured_{task}_again"]
            done = all((self.folder / f"{name}.json").exists() for name in names)
            if not done and begin + 1.2 * longest > end:
                continue
            same = self.same_plans(task)
            first, second = (self.measure(name, [self.plans_of(name) for name in same], task) for name in names)
            if not done:
                longest = max(longest, time.monotonic() - begin)
            for plan, again in zip(first["plans"], second["plans"], strict=True):
                if "error" in plan or "error" in again:
                    continue
                medians = [measured["measured_ms"]["median"] for measured in (plan, again)]
                for name in same[Path(plan["plan"].split(":")[0]).stem]:
                    of_algorithm[name][task] = Measured(plan["plan"], plan["predicted_ms"], *medians)
        return of_algorithm

    def measure_noise(self) -> list[float]:
        """Medians of ten measurements of the first task's plan."""
        first = self.measure("noise", [self.plans_of("neuroshard")] * 10, 0)
        return [plan["measured_ms"]["median"] for plan in first["plans"] if "error" not in plan]

    def compute_samples(self) -> int:
        return sum(map(len, self.compute_costs("compute")))

    def comm_samples(self) -> int:
        return len((self.folder / "comm" / "data.txt").read_text().splitlines())


def kendall_tau(pairs: list[tuple[float, float]]) -> float:
    """Tau-a: costs in milliseconds have no ties to speak of."""
    score = 0
    for i, (x, y) in enumerate(pairs):
        for other_x, other_y in pairs[:i]:
            product = (x - other_x) * (y - other_y)
            score += (product > 0) - (product < 0)
    return score / (len(pairs) * (len(pairs) - 1) / 2)


def taus(tasks: list[list[tuple[float, float]]]) -> str:
    own = [kendall_tau(pairs) for pairs in tasks if len(pairs) > 1]
    of_tasks = f", mean of the tasks' own {statistics.mean(own):.3f}" if own else ""
    return f"Kendall tau of all {kendall_tau([pair for pairs in tasks for pair in pairs]):.3f}{of_tasks}"


def in_order(tasks: list[list[Measured]], least_ratio: float) -> str:
    """Of two plans of a task whose predicted costs differ by so much, how often the dearer one is so when measured."""
    right = [
        plan.mean > other.mean
        for plans in tasks
        for plan in plans
        for other in plans
        if plan.predicted >= least_ratio * other.predicted
    ]
    return f"{100 * statistics.mean(right):.0f} % of {len(right)} pairs" if right else "no pairs"


def report(of_algorithm: dict[str, dict[int, Measured]], noise: list[float], compute_noise: list[float]) -> str:
    different: dict[int, dict[str, Measured]] = {}
    for plans in of_algorithm.values():
        for task, plan in plans.items():
            different.setdefault(task, {})[plan.plan] = plan
    tasks = [list(of_task.values()) for of_task in different.values()]
    every = [plan for plans in tasks for plan in plans]
    if len(every) < 2:
        return "fewer than two plans were measured\n"
    predicted = [[(plan.mean, plan.predicted) for plan in plans] for plans in tasks]
    repeated = [[(plan.first, plan.second) for plan in plans] for plans in tasks]
    errors = [abs(plan.predicted - plan.mean) / plan.mean for plan in every]
    apart = [abs(plan.second - plan.first) / plan.first for plan in every]
    lines = [
        f"{len(every)} different plans of {len(tasks)} tasks, measured twice",
        f"  measured and predicted: {taus(predicted)}",
        f"  first and second measurement: {taus(repeated)}",
        f"  MAPE of predictions: {100 * statistics.mean(errors):.1f} %; of the first measurement by the second: "
        f"{100 * statistics.mean(apart):.1f} %",
        "  the plan predicted to be dearer is, of plans of a task that are predicted to be at least",
        *(f"    {percent:2} % apart: {in_order(tasks, 1 + percent / 100)}" for percent in (1, 5, 10, 20)),
    ]

    lines += ["", "measured cost, mean over tasks of the ratio to ours (above 1: ours is cheaper)"]
    ours = of_algorithm["neuroshard"]
    for name, plans in of_algorithm.items():
        ratios = [plan.mean / ours[task].mean for task, plan in plans.items() if task in ours]
        if name != "neuroshard" and ratios:
            lines.append(f"  {name:20} {statistics.mean(ratios):.3f}  ({len(ratios)} tasks)")
    # Chosen by one measurement, compared by the other: the cheapest of several by the same is cheap by chance, too.
    best = []
    for task, plan in ours.items():
        baselines = [of_algorithm[name][task] for name in BASELINES if task in of_algorithm[name]]
        if baselines:
            by_second = min(baselines, key=lambda baseline: baseline.first).second / plan.second
            by_first = min(baselines, key=lambda baseline: baseline.second).first / plan.first
            best.append((by_first + by_second) / 2)
    spread = (max(noise) - min(noise)) / statistics.median(noise) if len(noise) > 1 else 0.0
    if best:
        dearer = [sum(1 / ratio - 1 > limit for ratio in best) for limit in (0.0, spread, statistics.mean(apart))]
        lines += [
            f"  {'the best baseline':20} {statistics.mean(best):.3f}  (chosen by one measurement, compared by the other, "
            f"{len(best)} tasks, {min(best):.3f} to {max(best):.3f})",
            f"  ours is dearer than the best baseline in {dearer[0]} tasks; by more than ten measurements of one plan are "
            "apart",
            f"  (below) in {dearer[1]}, by more than two of each plan are on the average in {dearer[2]}",
        ]

    if len(noise) > 1:
        deviation = statistics.stdev(noise) / statistics.mean(noise)
        lines += [
            "",
            f"noise: one plan measured {len(noise)} times: {min(noise):.2f} to {max(noise):.2f} ms "
            f"({100 * spread:.1f} % of the median; standard deviation {100 * deviation:.1f} %)",
        ]
    if compute_noise:
        apart = [abs(ratio - 1) for ratio in compute_noise]
        lines.append(
            f"{len(apart)} samples of compute costs measured twice: {100 * statistics.mean(apart):.1f} % apart on the "
            f"average, {100 * statistics.median(apart):.1f} % half of them"
        )
    return "\n".join(lines) + "\n"


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.machine()


def whole_report(bench: Bench, parts: list[tuple[Ranks, str]]) -> str:
    version = subprocess.run([bench.options.program, "--version"], capture_output=True, text=True, check=True).stdout
    head = [
        "# Plans really run on this machine's cores",
        "",
        f"{processor()}, {len(os.sched_getaffinity(0))} CPUs; exchange {bench.options.exchange}, one thread a rank; "
        f"{version.splitlines()[1]}; {time.strftime('%Y-%m-%d')}",
        "",
        f"`bench/measured_plans.py {' '.join(sys.argv[1:])}`",
    ]
    for part, text in parts:
        more = part.ranks > len(os.sched_getaffinity(0))
        head += [
            *("", f"## {part.ranks} ranks" + (", more than CPUs" if more else ""), ""),
            *(["The system switches between ranks: costs are those of shared cores.", ""] if more else []),
            f"{part.compute_samples()} samples of compute costs, {part.comm_samples()} of communication",
            *("", "```", text.rstrip(), "```"),
        ]
    return "\n".join(head) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", required=True, help="folder of the results")
    parser.add_argument("--program", default=str(ROOT / "build" / "release" / "tools" / "neuroshard"))
    parser.add_argument("--exchange", choices=["local", "mpi"], default="local")
    parser.add_argument("--ranks", default="2", help="numbers of ranks, in turn, with commas between")
    parser.add_argument("--minutes", type=float, help="do as much as there is time for; default: everything")
    parser.add_argument("--tasks", type=int, default=10, help="at most, of each number of ranks")
    parser.add_argument("--samples", type=int, default=120, help="at most, of compute, and of communication")
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--max-tables", type=float, default=8, help="of a device")
    parser.add_argument("--memory-gb", type=float, default=1.0, help="of a device")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.ranks = [int(number) for number in options.ranks.split(",")]
    bench = Bench(options)
    bench.draw_tables()
    all_ranks = [Ranks(bench, ranks) for ranks in options.ranks]
    for part in all_ranks:
        part.draw_tasks()
        part.train()
        part.plan()
    noise = [part.measure_noise() for part in all_ranks]
    texts = []
    for i, part in enumerate(all_ranks):
        # The time that is left goes to the numbers of ranks in equal parts.
        end = time.monotonic() + (bench.left() - SECONDS_TO_STOP) / (len(all_ranks) - i)
        texts.append((part, report(part.measure_tasks(end), noise[i], part.compute_noise())))
    text = whole_report(bench, texts)
    (bench.folder / "report.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
