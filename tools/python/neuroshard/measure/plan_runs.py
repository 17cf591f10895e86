"""Many plans, run one after the other, round by round."""

import gc
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import torch

from neuroshard._core import Plan, PlanCost, Task
from neuroshard.device_times import CacheFlush, Spread
from neuroshard.errors import Error
from neuroshard.measure.iteration import PHASES, ShardedTables
from neuroshard.measure.task_model import Lookups, TaskModel
from neuroshard.ranks import Ranks

TERMS = {
    "compute_ms": ("update", "lookup"),
    "forward_ms": ("outputs",),
    "backward_ms": ("gradients",),
    "ids_ms": ("ids",),
    "all_reduce_ms": ("all_reduce",),
}
"""Terms of a PlanCost, and the phases that each predicts."""


@dataclass(frozen=True)
class Settings:
    warm_up: int = 5
    iterations: int = 10
    rounds: int = 3
    seed: int = 0
    batch: int | None = None
    """Samples of all devices together; None: the task's."""
    keep_caches: bool = False


class Case(NamedTuple):
    task: Task
    plan: Plan
    name: str
    """For messages and reports."""
    memory_bytes: list[int]
    """The plan takes so much on each device."""
    task_name: str = "task"

    @classmethod
    def of(cls, task: Task, predicted: PlanCost, name: str, task_name: str = "task") -> "Case":
        return cls(task, predicted.plan, name, [int(count) for count in predicted.memory_bytes], task_name)


@dataclass
class DeviceTimes:
    """Milliseconds of each timed iteration, by phase."""

    phases: dict[str, list[float]] = field(default_factory=lambda: {phase: [] for phase in PHASES})

    def of(self, phases: Sequence[str]) -> list[float]:
        """The sum of `phases` in each iteration."""
        return [sum(times) for times in zip(*(self.phases[phase] for phase in phases))]

    def total(self) -> list[float]:
        return self.of(PHASES)


@dataclass
class PlanRun:
    """The times of a plan, or why it was not run."""

    devices: list[DeviceTimes]
    error: str = ""
    round_ms: list[float] = field(default_factory=list)
    """Medians of each round."""

    def costs(self) -> list[float]:
        """An iteration costs what its slowest device takes."""
        return [max(times) for times in zip(*(device.total() for device in self.devices))]

    def cost(self) -> Spread:
        return Spread.of(self.costs())


def measure_plans(
    ranks: Ranks, cases: Sequence[Case], settings: Settings, on_progress: Callable[[str], None] = lambda text: None
) -> list[PlanRun]:
    """All ranks call it alike; all get the results. Plans that TorchRec cannot run, or for which memory lacks, have an
    error. Raises Error, on all ranks, if a task cannot be measured."""
    runs = [PlanRun([DeviceTimes() for _ in range(ranks.size)]) for _ in cases]
    flush = CacheFlush(ranks.device)
    model: TaskModel | None = None
    lookups: dict[str, Lookups] = {}
    for number in range(settings.rounds):
        for case, run in zip(cases, runs):
            if run.error:
                continue
            where = f"round {number + 1} of {settings.rounds}, {case.name}"
            on_progress(where)
            ranks.step(f"{where}: drawing lookups")
            if model is None or model.task is not case.task:
                require_ranks(ranks, case)
                model = TaskModel(case.task, ranks.device, case.task_name)
                lookups = model.lookups(batch_of(case.task, settings), ranks.rank, settings.seed)
            run.error = lack_of_memory(ranks, case)
            if not run.error:
                measure_once(ranks, model, case, run, lookups, settings, flush, where)
    return runs


def require_ranks(ranks: Ranks, case: Case) -> None:
    devices = case.task.devices
    if devices != ranks.size:
        raise Error(
            f"{case.task_name}: devices is {devices}, and there are {ranks.size} ranks; "
            f"give torchrun --nproc-per-node {devices}"
        )


def batch_of(task: Task, settings: Settings) -> int:
    """Samples that all devices together serve: as many each. Raises Error if that is none."""
    batch = settings.batch if settings.batch is not None else task.batch_size
    if batch < task.devices:
        raise Error(f"batch: {batch} samples for {task.devices} devices; give at least one of each")
    return batch - batch % task.devices


def measure_once(
    ranks: Ranks,
    model: TaskModel,
    case: Case,
    run: PlanRun,
    lookups: dict[str, Lookups],
    settings: Settings,
    flush: CacheFlush,
    where: str,
) -> None:
    """Adds a round to `run`."""
    ranks.step(f"{where}: sharding")
    try:
        sharding_plan = model.sharding_plan(case.plan, ranks.local_size)
        tables = ShardedTables(model, sharding_plan, lookups, ranks)
    except Error as error:
        run.error = str(error)
        return
    tables.first()
    own = DeviceTimes()
    for iteration in range(settings.warm_up + settings.iterations):
        begin = f"{where}, iteration {iteration + 1}"
        laps = tables.iterate(
            lambda phase, begin=begin: ranks.step(f"{begin}: {phase}"),  # type: ignore[misc]
            (lambda: None) if settings.keep_caches else flush,
        )
        if iteration >= settings.warm_up:
            for phase, lap in laps.items():
                own.phases[phase].append(lap)
    ranks.step(f"{where}: results")
    of_round = ranks.gather(own)
    for device, times in zip(run.devices, of_round):
        for phase, laps_ms in times.phases.items():
            device.phases[phase] += laps_ms
    run.round_ms.append(PlanRun(of_round).cost().median)
    del tables
    gc.collect()


def lack_of_memory(ranks: Ranks, case: Case) -> str:
    """Names the first device that has less free than the plan takes; empty: all have room."""
    free = free_bytes(ranks)
    needed = case.memory_bytes[ranks.rank]
    if ranks.device.type == "cpu":
        first = ranks.rank // ranks.local_size * ranks.local_size
        needed = sum(case.memory_bytes[first : first + ranks.local_size])
    lacks = ranks.gather((needed, free) if needed > free else None)
    for device, lack in enumerate(lacks):
        if lack is not None:
            needed_gib, free_gib = (f"{count / 2**30:.2f} GiB" for count in lack)
            of_all = " and the others of its machine" if ranks.device.type == "cpu" else ""
            return f"memory: device {device}{of_all}: the plan takes {needed_gib} of {free_gib} that are free"
    return ""


def free_bytes(ranks: Ranks) -> int:
    """Memory of this rank's GPU, or of its machine."""
    if ranks.device.type == "cuda":
        torch.cuda.empty_cache()  # PyTorch keeps what drawing lookups took.
        return int(torch.cuda.mem_get_info(ranks.device)[0])
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                free = int(line.split()[1]) << 10
        # The control group of a container may have less.
        group = Path("/sys/fs/cgroup")
        most = (group / "memory.max").read_text().strip()
        if most != "max":
            free = min(free, int(most) - int((group / "memory.current").read_text()))
    except (OSError, ValueError):
        pass  # Other systems have neither.
    return free
