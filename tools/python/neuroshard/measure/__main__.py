"""The command `python -m neuroshard.measure`; under torchrun, a rank of it."""

import argparse
import json
import socket
import sys
from pathlib import Path
from typing import NamedTuple

import torch

from neuroshard._core import PlanCost, Task, Weights, load_plan, load_task
from neuroshard.errors import Error
from neuroshard.measure.plan_runs import Case, Settings, batch_of, measure_plans, require_ranks
from neuroshard.measure.report import Machine, MeasuredPlan, Report, write_report
from neuroshard.ranks import Progress, Ranks, add_rank_options, run_on_ranks
from neuroshard.shared_planner import simulate

EXIT_NOT_ALL = 1
"""Plans were left out."""
EXAMPLES = """Examples:
  A plan for 2 devices, run by 2 processes
  torchrun --nproc-per-node 2 -m neuroshard.measure --task my_model.json --plan plan.json
  Several, in turn, so that all see the same machine
  torchrun --nproc-per-node 8 -m neuroshard.measure --task my_model.json --plan a.json b.json --json measured.json

What is run and how it is timed: docs/measuring.md.
Exit codes: 0 every plan was measured; 1 TorchRec cannot run a plan, or the machine lacks memory for it; 2 bad input,
or a rank that hangs."""


class Inputs(NamedTuple):
    cases: list[Case]
    predicted: list[PlanCost]
    weights: str


def parser() -> argparse.ArgumentParser:
    described = "Run plans by TorchRec over all ranks of torchrun, and compare with the prediction"
    made = argparse.ArgumentParser(
        "python -m neuroshard.measure", description=described, epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    settings = Settings()
    made.add_argument("--task", required=True, metavar="FILE", help="task file (docs/task_format.md)")
    made.add_argument(
        "--plan", "--plans", nargs="+", action="extend", required=True, metavar="FILE", dest="plans",
        help="plan files, as written by neuroshard plan --format json",
    )
    made.add_argument("--weights", metavar="FILE", help="weights file; default: built-in weights")
    made.add_argument(
        "--hardware", default="a100", metavar="NAME", help="hardware of built-in weights (default: %(default)s)"
    )
    made.add_argument("--batch", type=int, metavar="N", help="samples of all devices together; default: the task's")
    made.add_argument("--seed", type=int, default=settings.seed, metavar="N", help="decides which lookups are drawn")
    made.add_argument(
        "--warm-up", type=int, default=settings.warm_up, metavar="N",
        help="iterations before the timed ones, of each round (default: %(default)s)",
    )
    made.add_argument(
        "--iterations", type=int, default=settings.iterations, metavar="N",
        help="timed iterations of each round (default: %(default)s)",
    )
    made.add_argument(
        "--rounds", type=int, default=settings.rounds, metavar="N",
        help="times that all plans are measured, one after the other (default: %(default)s)",
    )
    made.add_argument("--threads", type=int, metavar="N", help="threads of a rank on CPUs; default: cores / ranks")
    made.add_argument(
        "--keep-caches", action="store_true", help="do not overwrite the last-level cache before each iteration"
    )
    add_rank_options(made)
    made.add_argument("--json", metavar="FILE", help="also write a JSON document; -: instead of the page")
    return made


def require_options(options: argparse.Namespace) -> None:
    for name, least in (("warm_up", 0), ("iterations", 1), ("rounds", 1), ("threads", 1), ("batch", 1), ("seed", 0)):
        value = getattr(options, name)
        if value is not None and value < least:
            raise Error(f"--{name.replace('_', '-')} is {value}; give at least {least}")
    if options.json and options.json != "-" and not Path(options.json).absolute().parent.is_dir():
        raise Error(f"{options.json}: cannot be written: there is no such folder", "io")


def load_inputs(options: argparse.Namespace, ranks: Ranks) -> Inputs:
    task = load_task(options.task)
    weights = Weights.load(options.weights) if options.weights else Weights.builtin(options.hardware)
    predicted = [simulate(task, load_plan(path, task), weights=weights) for path in options.plans]
    cases = [Case.of(task, cost, path, options.task) for cost, path in zip(predicted, options.plans)]
    require_ranks(ranks, cases[0])
    return Inputs(cases, predicted, weights.origin)


def notes_of(task: Task) -> list[str]:
    notes = list(task.notes)
    if task.overlap.ids or task.overlap.dense_ms or task.overlap.host_ms:
        notes.append("The task's overlap is left out: all runs one after the other, without a dense part.")
    if any(device.base_ms for device in task.device_list):
        notes.append("Base loads of devices are left out.")
    if any(table.replica_gradients == "touched" for table in task.tables):
        notes.append("TorchRec reduces dense gradients of replicas: those of touched rows alone are only predicted.")
    return notes


def run(options: argparse.Namespace, ranks: Ranks, progress: Progress) -> int:
    """Returns an exit code. Raises Error, on all ranks."""
    if options.threads:
        torch.set_num_threads(options.threads)
    inputs: Inputs | Error
    try:
        inputs = load_inputs(options, ranks) if ranks.rank == 0 else Error("")
    except Error as error:
        inputs = error
    inputs = ranks.from_first(inputs)
    if isinstance(inputs, Error):
        raise inputs
    settings = Settings(
        options.warm_up, options.iterations, options.rounds, options.seed, options.batch, options.keep_caches
    )
    task = inputs.cases[0].task
    runs = measure_plans(ranks, inputs.cases, settings, progress)
    hosts = ranks.gather(socket.gethostname())
    if ranks.rank == 0:
        progress.end()
        hardware, threads = ranks.hardware(), torch.get_num_threads()
        machine = Machine(ranks.size, len(set(hosts)), ranks.device.type, hardware, threads, torch.__version__)
        plans = [
            MeasuredPlan(case.name, predicted, run)
            for case, predicted, run in zip(inputs.cases, inputs.predicted, runs)
        ]
        report = Report(machine, settings, batch_of(task, settings), inputs.weights, notes_of(task), plans)
        document = json.dumps(report.document(), indent=2) + "\n"
        print(document if options.json == "-" else report.text(), end="")
        if options.json and options.json != "-":
            write_report(options.json, document)
    return EXIT_NOT_ALL if any(run.error for run in runs) else 0


def main() -> int:
    return run_on_ranks(parser().parse_args(), run, check=require_options)


if __name__ == "__main__":
    sys.exit(main())
