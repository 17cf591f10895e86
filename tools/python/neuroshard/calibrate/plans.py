"""A few plans, run by TorchRec and compared with what weights predict."""

import random
from collections.abc import Sequence
from typing import NamedTuple

from neuroshard._core import PlanCost, Planner, Table, Task, Weights
from neuroshard.calibrate.collection import Say
from neuroshard.calibrate.settings import GIB, Settings
from neuroshard.errors import Error
from neuroshard.measure.accuracy import accuracy_of
from neuroshard.measure.plan_runs import TERMS, Case, PlanRun, measure_plans
from neuroshard.measure.plan_runs import Settings as MeasureSettings
from neuroshard.measure.report import MeasuredPlan, Prediction, plan_lines, predicted_ms
from neuroshard.ranks import Ranks

ALGORITHMS = ("neuroshard", "random", "dim_greedy", "size_lookup_greedy")
ROUNDS = MeasureSettings(warm_up=2, iterations=5, rounds=2)
TABLES_PER_DEVICE = (3, 9)
ON_CPUS_BYTES = GIB // 2
"""Most that the tables of a drawn task take on a device: TorchRec fills all of them with numbers."""


class PlanCheck(NamedTuple):
    lines: list[str]
    """Lines of the report."""
    problems: list[str]


def draw_tasks(tables: Sequence[Table], devices: int, settings: Settings, on_cpus: bool, count: int) -> list[Task]:
    """Tasks of tables that fit, each with some of those that samples were drawn from."""
    drawn = random.Random(settings.seed)
    room = devices * (min(ON_CPUS_BYTES, settings.memory_bytes) if on_cpus else settings.memory_bytes)
    tasks: list[Task] = []
    while len(tasks) < count:
        most_bytes = room // (2 * devices)
        fitting = [table for table in tables if table.size_bytes <= most_bytes]
        chosen: list[Table] = []
        for _ in range(devices * drawn.randrange(*TABLES_PER_DEVICE)):
            left = room - sum(table.size_bytes for table in chosen)
            table = drawn.choice(fitting or list(tables))
            if table.size_bytes <= left:
                chosen.append(table)
        if not chosen:
            raise Error(f"--memory-gib: no table has room on {devices} devices to check plans; give more")
        tasks.append(
            Task(chosen, devices=devices, memory_bytes=2 * room, batch_size=settings.batch, name=f"task {len(tasks) + 1}")
        )
    return tasks


def planned(tasks: Sequence[Task], weights: Weights) -> list[tuple[Case, PlanCost]]:
    """Plans of the search and of simple rules, with what they are predicted to cost."""
    cases = []
    for task in tasks:
        for algorithm in ALGORITHMS:
            # TorchRec cuts tables to slices of one width.
            cost = Planner(weights, algorithm=algorithm, equal_widths=True, cuts="columns").plan(task).cost
            if cost is not None:
                cases.append((Case.of(task, cost, f"{task.name or 'the task'}, {algorithm}"), cost))
    return cases


def worst_term(plans: Sequence[MeasuredPlan]) -> str:
    """The one whose predictions are furthest off, of all devices and plans."""
    off = dict.fromkeys(TERMS, 0.0)
    for plan in plans:
        for device, times in enumerate(plan.run.devices):
            predicted = Prediction(plan.predicted, device).terms
            for term, phases in TERMS.items():
                measured = sorted(times.of(phases))
                off[term] += abs(predicted[term] - measured[len(measured) // 2])
    return max(off, key=lambda term: off[term]).removesuffix("_ms")


def check_plans(
    ranks: Ranks, tasks: Sequence[Task], weights: Weights | None, max_error: float, say: Say
) -> PlanCheck:
    """All ranks call it alike; `weights` and `tasks` count on the first, which gets the result."""
    made: list[tuple[Case, PlanCost]] | Error = []
    if weights is not None:
        try:
            made = planned(tasks, weights)
        except Error as error:
            made = error
    made = ranks.from_first(made)
    if isinstance(made, Error):
        raise made
    if not made:
        return PlanCheck([], ["plans: no task that was drawn has one"])
    cases = [case for case, _ in made]
    runs: list[PlanRun] = measure_plans(ranks, cases, ROUNDS, say)
    plans = [MeasuredPlan(case.name, predicted, run) for (case, predicted), run in zip(made, runs)]
    through = [plan for plan in plans if not plan.run.error]
    accuracy = accuracy_of([(plan.run.cost().median, predicted_ms(plan)) for plan in through])
    lines = plan_lines(plans)
    if accuracy is None:
        return PlanCheck(lines, ["plans: fewer than two could be run"])
    lines += ["", f"plans: off by {100 * accuracy.mape:.1f} %, Kendall tau {accuracy.kendall_tau:.3f}"]
    problems = []
    if accuracy.mape > max_error:
        problems.append(
            f"plans: off by {100 * accuracy.mape:.1f} % on {len(through)} that were run, more than "
            f"{100 * max_error:.1f} %, most of it in {worst_term(through)}"
        )
    return PlanCheck(lines, problems)
