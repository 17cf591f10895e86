"""Functions of a Planner, without one of one's own."""

from collections.abc import Callable, Sequence
from functools import lru_cache

from neuroshard._core import (
    Improvement,
    Plan,
    PlanCost,
    PlanExplanation,
    Planner,
    PlanResult,
    ReplanResult,
    Task,
    Weights,
)


@lru_cache(maxsize=8)
def shared_planner(
    weights: Weights | None, algorithm: str, effort: str, backend: str, equal_widths: bool, cuts: str | None
) -> Planner:
    """One planner for all calls that ask for the same, since making one takes some milliseconds."""
    return Planner(weights, algorithm=algorithm, effort=effort, backend=backend, equal_widths=equal_widths, cuts=cuts)


def plan(
    task: Task,
    *,
    weights: Weights | None = None,
    algorithm: str = "neuroshard",
    effort: str = "default",
    backend: str = "auto",
    equal_widths: bool = False,
    cuts: str | None = None,
    deadline_ms: float | None = None,
    alternatives: int = 0,
    on_improvement: Callable[[Improvement], None] | None = None,
) -> PlanResult:
    """The plan of lowest predicted cost that was found: Planner(...).plan(...)."""
    planner = shared_planner(weights, algorithm, effort, backend, equal_widths, cuts)
    return planner.plan(task, deadline_ms=deadline_ms, alternatives=alternatives, on_improvement=on_improvement)


def plan_batch(
    tasks: Sequence[Task],
    *,
    weights: Weights | None = None,
    algorithm: str = "neuroshard",
    effort: str = "default",
    backend: str = "auto",
    equal_widths: bool = False,
    cuts: str | None = None,
    deadline_ms: float | None = None,
    alternatives: int = 0,
) -> list[PlanResult | Exception]:
    """Many tasks at once: Planner(...).plan_batch(...)."""
    planner = shared_planner(weights, algorithm, effort, backend, equal_widths, cuts)
    return planner.plan_batch(tasks, deadline_ms=deadline_ms, alternatives=alternatives)


def simulate(task: Task, plan: Plan, *, weights: Weights | None = None, backend: str = "auto") -> PlanCost:
    """Predicted cost of any plan for `task`: Planner(...).simulate(...)."""
    return shared_planner(weights, "neuroshard", "default", backend, False, None).simulate(task, plan)


def replan(
    task: Task,
    running_task: Task,
    running_plan: Plan,
    *,
    lost_devices: Sequence[int] = (),
    regrouped: str | None = None,
    move_budget_bytes: int | None = None,
    unspent_bytes: int | None = None,
    small_moves_share: float | None = None,
    small_moves_bytes: int | None = None,
    ms_per_moved_gib: float = 0.0,
    weights: Weights | None = None,
    effort: str = "default",
    backend: str = "auto",
    equal_widths: bool = False,
    cuts: str | None = None,
    deadline_ms: float | None = None,
) -> ReplanResult:
    """A plan for `task` near to one that runs: Planner(...).replan(...). None: what that has by default."""
    planner = shared_planner(weights, "neuroshard", effort, backend, equal_widths, cuts)
    limits = {"small_moves_share": small_moves_share, "small_moves_bytes": small_moves_bytes}
    return planner.replan(
        task,
        running_task,
        running_plan,
        lost_devices=lost_devices,
        regrouped=regrouped,
        move_budget_bytes=move_budget_bytes,
        unspent_bytes=unspent_bytes,
        ms_per_moved_gib=ms_per_moved_gib,
        deadline_ms=deadline_ms,
        **{name: limit for name, limit in limits.items() if limit is not None},  # type: ignore[arg-type]
    )


def plan_variants(
    task: Task,
    variants: Sequence[tuple[int, int] | tuple[int, int, int]],
    *,
    weights: Weights | None = None,
    effort: str = "default",
    backend: str = "auto",
    equal_widths: bool = False,
    cuts: str | None = None,
    deadline_ms: float | None = None,
) -> list[PlanResult | Exception]:
    """Plans `task` on other (devices, bytes of one device[, bytes of host]): Planner(...).plan_variants(...)."""
    planner = shared_planner(weights, "neuroshard", effort, backend, equal_widths, cuts)
    return planner.plan_variants(task, variants, deadline_ms=deadline_ms)


def explain(
    task: Task,
    plan: Plan | None = None,
    *,
    rules: bool = False,
    weights: Weights | None = None,
    effort: str = "default",
    backend: str = "auto",
    equal_widths: bool = False,
    cuts: str | None = None,
    deadline_ms: float | None = None,
) -> PlanExplanation:
    """Why `plan`, or the one that is found, costs what it does: Planner(...).explain(...)."""
    planner = shared_planner(weights, "neuroshard", effort, backend, equal_widths, cuts)
    return planner.explain(task, plan, rules=rules, deadline_ms=deadline_ms)
