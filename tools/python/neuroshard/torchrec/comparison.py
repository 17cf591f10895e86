"""A plan of the library beside TorchRec's own, by the prices of both."""

from typing import NamedTuple

from torchrec.distributed.types import ShardingPlan


class PricedPlan(NamedTuple):
    """A plan, and what it costs."""

    plan: ShardingPlan
    cost_ms: float | None
    """By the library's cost models; times of tables that these do not know are TorchRec's estimates. None: they know
    none."""
    estimated_ms: float
    """By TorchRec's estimates: of the slowest rank."""

    def __str__(self) -> str:
        cost = "no price" if self.cost_ms is None else f"{self.cost_ms:.3f} ms"
        return f"{cost} by cost models, {self.estimated_ms:.3f} ms by TorchRec's estimates"


class PlanComparison(NamedTuple):
    ours: PricedPlan
    theirs: PricedPlan | None = None
    """The one of EmbeddingShardingPlanner. None: it was not asked for, or found none."""

    def __str__(self) -> str:
        text = f"neuroshard's plan: {self.ours}"
        return text if self.theirs is None else f"{text}\nTorchRec's plan: {self.theirs}"
