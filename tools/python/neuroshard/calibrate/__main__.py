"""The command `python -m neuroshard.calibrate`; under torchrun, a rank of it."""

import argparse
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import fbgemm_gpu
import torch

from neuroshard._core import (
    MAX_PRICED_BATCH,
    MIN_PRICED_BATCH,
    USUAL_MAX_ERROR,
    FittedWeights,
    Table,
    Task,
    augment_dims,
    draw_tables,
    fit_weights,
    load_task,
)
from neuroshard.calibrate.collection import Collection, Say
from neuroshard.calibrate.operators import require_timed
from neuroshard.calibrate.plans import ALGORITHMS, check_plans, draw_tasks
from neuroshard.calibrate.settings import GIB, Settings, usual_settings
from neuroshard.errors import Error
from neuroshard.measure.report import write_report
from neuroshard.ranks import Ranks, add_rank_options, print_error, run_on_ranks

EXIT_REFUSED = 1
PROGRESS_S = 30.0
PUBLISHED_TABLES = 856
MAX_DIM = 128
EXAMPLES = """Examples:
  From 8 GPUs to weights, for tables of published statistics
  torchrun --nproc-per-node 8 -m neuroshard.calibrate --out weights.safetensors
  For one's own tables
  torchrun --nproc-per-node 8 -m neuroshard.calibrate --task my_model.json --out weights.safetensors

If it was killed, the same command goes on. What is timed and how weights are made of it: docs/training.md.
Exit codes: 0 the weights are written; 1 they are refused, since a term is off; 2 bad input, or a rank that hangs."""


def parser() -> argparse.ArgumentParser:
    described = "Time what is trained on the ranks of torchrun, and make cost models of it"
    made = argparse.ArgumentParser(
        "python -m neuroshard.calibrate", description=described, epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--out", required=True, metavar="FILE", help="weights file to write (.safetensors)")
    made.add_argument(
        "--data", metavar="DIR", help="folder of the samples, which are kept (default: --out, with .samples at its end)"
    )
    made.add_argument("--task", metavar="FILE", help="task to draw tables from; default: tables of published statistics")
    made.add_argument("--batch", type=int, metavar="N", help="samples of an iteration, on all ranks together; default: "
                      "the task's, or 65536 on GPUs and 2048 on CPUs")  # fmt: skip
    without_task = made.add_argument_group("without a task")
    without_task.add_argument(
        "--optimizer", default="rowwise_adagrad", help="optimizer of all tables (default: %(default)s)"
    )
    without_task.add_argument("--weight-type", default="fp32", help="weights: fp32 or fp16 (default: %(default)s)")
    without_task.add_argument("--pooling", default="sum", help="pooling: sum or mean (default: %(default)s)")
    made.add_argument("--samples", type=int, metavar="N", help="operators to time, and a third as many of slices; "
                      "default: 400 on GPUs, 160 on CPUs")  # fmt: skip
    made.add_argument("--comm-samples", type=int, metavar="N", help="all-to-alls to time")
    made.add_argument("--all-reduce-samples", type=int, metavar="N", help="all-reduces to time")
    made.add_argument("--id-samples", type=int, metavar="N", help="exchanges of ids to time")
    made.add_argument(
        "--check-tasks", type=int, default=3, metavar="N",
        help=f"tasks to draw from the same tables; for each, and for --task, {len(ALGORITHMS)} plans are run and "
        "compared; 0: none (default: %(default)s)",
    )
    made.add_argument("--memory-gib", type=float, metavar="GIB", help="most that the weights of an operator take")
    made.add_argument("--seed", type=int, default=0, metavar="N", help="decides what is drawn")
    made.add_argument("--from", dest="from_", default="", metavar="WEIGHTS",
                      help="weights that recipes begin with; default: the built-in ones that are nearest")  # fmt: skip
    made.add_argument(
        "--max-error", type=float, default=USUAL_MAX_ERROR, metavar="SHARE",
        help="refuse weights with a larger mean error on samples held back (default: %(default)g)",
    )
    add_rank_options(made)
    return made


def settings_of(options: argparse.Namespace, ranks: Ranks, task_batch: int | None) -> Settings:
    settings = usual_settings(ranks.device)
    given = {
        "batch": options.batch if options.batch is not None else task_batch,
        "compute_samples": options.samples,
        "slice_samples": None if options.samples is None else max(1, options.samples // 3),
        "comm_samples": options.comm_samples,
        "all_reduce_samples": options.all_reduce_samples,
        "id_samples": options.id_samples,
        "memory_bytes": None if options.memory_gib is None else int(options.memory_gib * GIB),
        "seed": options.seed,
    }
    settings = replace(settings, **{name: value for name, value in given.items() if value is not None})
    if not MIN_PRICED_BATCH <= settings.batch <= MAX_PRICED_BATCH:
        predicted = f"{MIN_PRICED_BATCH:,} to {MAX_PRICED_BATCH:,}"
        raise Error(f"--batch is {settings.batch}; costs can be predicted for {predicted} samples")
    for option, count, least in (
        ("samples", settings.compute_samples, 1),
        ("comm-samples", settings.comm_samples, 1),
        ("all-reduce-samples", settings.all_reduce_samples, 1),
        ("id-samples", settings.id_samples, 1),
        ("memory-gib", settings.memory_bytes, 1),
        ("seed", settings.seed, 0),
        ("check-tasks", options.check_tasks, 0),
    ):
        if count < least:
            raise Error(f"--{option} is {count}; give at least {least}")
    return settings


def inputs_of(options: argparse.Namespace) -> tuple[list[Table], Task | None]:
    """Tables that samples are drawn from, and the task if there is one."""
    if not options.task:
        kind = {"weight_type": options.weight_type, "optimizer": options.optimizer, "pooling": options.pooling}
        return augment_dims(draw_tables(PUBLISHED_TABLES, options.seed, **kind), MAX_DIM), None
    task = load_task(options.task)
    return augment_dims(task.tables, max(table.dim for table in task.tables)), task


def hardware_of_all(ranks: Ranks) -> str:
    """Raises Error if ranks are on devices of several names: one model learns the costs of one."""
    places = ranks.gather((ranks.hardware(), socket.gethostname()))
    for rank, (name, host) in enumerate(places):
        if name != places[0][0]:
            raise Error(f"rank {rank} on {host} has {name}, and rank 0 on {places[0][1]} has {places[0][0]}; "
                        "calibrate for each alone")  # fmt: skip
    return places[0][0]


def on_first(ranks: Ranks, what: str, work: Callable[[], None]) -> None:
    """Runs `work` on the first rank. The others wait; nobody takes that for hanging."""
    failures: list[Exception] = []

    def run() -> None:
        try:
            work()
        except Exception as error:  # Raised below.
            failures.append(error)

    thread = threading.Thread(target=run, daemon=True)
    if ranks.rank == 0:
        thread.start()
    while ranks.from_first(thread.is_alive()):
        ranks.step(what)
        if ranks.rank == 0:
            thread.join(0.2)
    if failures:
        raise failures[0]


def run(options: argparse.Namespace, ranks: Ranks, say: Say) -> int:
    """Returns an exit code. Raises Error; of several ranks' that of any ends the run."""
    tables, task = inputs_of(options)
    settings = settings_of(options, ranks, task.batch_size if task is not None else None)
    require_timed(tables, ranks.device)
    hardware = hardware_of_all(ranks)
    backend = "NCCL" if ranks.device.type == "cuda" else "gloo"
    source = f"measured: PyTorch {torch.__version__}, FBGEMM {fbgemm_gpu.__version__}, {backend}"
    about = {"source": source, "hardware": hardware, "ranks": str(ranks.size)}
    out = Path(options.out)
    if not out.absolute().parent.is_dir():
        raise Error(f"{out}: cannot be written: there is no such folder", "io")
    collection = Collection(ranks, settings, tables, about, say)
    folders = collection.collect(Path(options.data or f"{out}.samples"))
    notes = collection.notes()

    fitted: list[FittedWeights] = []
    say("fitting")
    on_first(ranks, "fitting", lambda: fitted.append(fit_weights(folders, from_=options.from_, seed=options.seed)))
    problems, plan_lines = [], []
    if ranks.rank == 0:
        problems = collection.slowness.problems() + fitted[0].terms_off(options.max_error)
    # Plans say nothing of weights that are off.
    if options.check_tasks > 0 and not ranks.from_first(problems):
        tasks = draw_tasks(tables, ranks.size, settings, ranks.device.type == "cpu", options.check_tasks)
        if task is not None and (task.devices, task.batch_size) == (ranks.size, settings.batch):
            tasks.insert(0, task)
        check = check_plans(ranks, tasks, fitted[0].weights if fitted else None, options.max_error, say)
        problems, plan_lines = check.problems, [*check.lines, ""]
    if ranks.rank == 0:
        lines = [f"{hardware}, {ranks.size} ranks; {source}; batch {settings.batch}", "", fitted[0].page, *plan_lines]
        if ranks.size == 1:
            notes.append("There is one rank: what ranks exchange is as in the weights that recipes begin with.")
        lines += [f"note: {note}" for note in notes]
        lines += [f"refused: {problem}" for problem in problems]
        text = "\n".join(lines).rstrip() + "\n"
        write_report(str(out.with_suffix(".txt")), text)
        write_report(str(out.with_suffix(".html")), fitted[0].html(f"Calibration: {out.name}", text))
        print(text, end="")
        if problems:
            print_error(f"{out} is not written: {'; '.join(problems)}. The samples are kept in {folders[0].parent}")
        else:
            fitted[0].save(out)
            print(f"wrote {out}, {out.with_suffix('.txt')} and {out.with_suffix('.html')}")
    return EXIT_REFUSED if ranks.from_first(bool(problems)) else 0


def main() -> int:
    return run_on_ranks(parser().parse_args(), run, progress_s=PROGRESS_S)


if __name__ == "__main__":
    sys.exit(main())
