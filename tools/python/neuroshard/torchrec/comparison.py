"""A plan of the library beside TorchRec's own, by the prices of both."""

from typing import NamedTuple

from torchrec.distributed.types import ShardingPlan

from neuroshard._core import PlanCost
from neuroshard.errors import Error


class PricedPlan(NamedTuple):
    """A plan, and what it costs."""

    plan: ShardingPlan
    cost_ms: float | None
    """By the library's cost models; times of tables that these do not know are TorchRec's estimates. None: they know
    none."""
    estimated_ms: float
    """By TorchRec's estimates: of the slowest rank."""
    cost: PlanCost | None = None
    """By the library's cost models, of each rank."""

    def __str__(self) -> str:
        cost = "no price" if self.cost_ms is None else f"{self.cost_ms:.3f} ms"
        return f"{cost} by cost models, {self.estimated_ms:.3f} ms by TorchRec's estimates"


class PlanComparison(NamedTuple):
    ours: PricedPlan
    theirs: PricedPlan | None = None
    """The one of EmbeddingShardingPlanner, or another to compare with. None: it was not asked for, or found none."""

    def to_html(self, name: str = "TorchRec's plan") -> str:
        """A page for browsers: our plan with the other one beside, which is called `name`, by the costs of both. Raises Error
        if cost models know nothing of one of them."""
        if self.theirs is None or self.ours.cost is None or self.theirs.cost is None:
            raise Error("comparison: there are no two plans with predicted costs; plan with compare=True")
        estimates = [f"{plan.estimated_ms:.3f} ms" for plan in (self.ours, self.theirs)]
        return self.ours.cost.to_html(self.theirs.cost, name, [("TorchRec's estimate", *estimates)])

    def __str__(self) -> str:
        text = f"neuroshard's plan: {self.ours}"
        return text if self.theirs is None else f"{text}\nTorchRec's plan: {self.theirs}"
