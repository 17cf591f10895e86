"""plan(), plan_batch() and simulate() without a planner of one's own."""

from collections.abc import Callable, Sequence
from functools import lru_cache

from neuroshard._core import Improvement, Plan, PlanCost, Planner, PlanResult, Task, Weights


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
