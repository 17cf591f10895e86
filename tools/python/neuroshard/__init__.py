"""Plans how embedding tables of recommendation models are spread over accelerators.

    import neuroshard

    tables = [neuroshard.Table(rows=1_000_000, dim=64, pooling_factor=5.0) for _ in range(8)]
    task = neuroshard.Task(tables, devices=2, memory_bytes=neuroshard.bytes_from_gib(4))
    print(neuroshard.plan(task))

`neuroshard.torchrec` plans TorchRec models. docs/python.md says more.
"""

from neuroshard._core import (
    ChangedCost,
    CutExplanation,
    Device,
    ExchangeTypes,
    Hardware,
    Improvement,
    Infeasibility,
    NodeLinks,
    Overlap,
    Plan,
    PlanCost,
    PlanExplanation,
    Planner,
    PlanProblem,
    PlanResult,
    ReplanResult,
    RuleCost,
    SearchStats,
    SliceExplanation,
    Table,
    TableColumns,
    TableGroup,
    TableMove,
    TableRules,
    TableSlice,
    Task,
    Weights,
    analytic_cost,
    backends,
    bytes_from_gib,
    check,
    load_plan,
    load_task,
    parse_plan,
    parse_task,
    slices_by_device,
    zipf_histogram,
)
from neuroshard._core import version as __version__
from neuroshard.errors import Error
from neuroshard.placed_slices import plan_from_slices
from neuroshard.shared_planner import explain, plan, plan_batch, plan_variants, replan, simulate

__all__ = [
    "ChangedCost",
    "CutExplanation",
    "Device",
    "Error",
    "ExchangeTypes",
    "Hardware",
    "Improvement",
    "Infeasibility",
    "NodeLinks",
    "Overlap",
    "Plan",
    "PlanCost",
    "PlanExplanation",
    "PlanProblem",
    "PlanResult",
    "Planner",
    "ReplanResult",
    "RuleCost",
    "SearchStats",
    "SliceExplanation",
    "Table",
    "TableColumns",
    "TableGroup",
    "TableMove",
    "TableRules",
    "TableSlice",
    "Task",
    "Weights",
    "__version__",
    "analytic_cost",
    "backends",
    "bytes_from_gib",
    "check",
    "explain",
    "load_plan",
    "load_task",
    "parse_plan",
    "parse_task",
    "plan",
    "plan_batch",
    "plan_from_slices",
    "plan_variants",
    "replan",
    "simulate",
    "slices_by_device",
    "zipf_histogram",
]
