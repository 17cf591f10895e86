"""Prices of plans, by the library's cost models and by TorchRec's estimates."""

import logging
from collections.abc import Sequence

from torchrec.distributed.planner.constants import UVM_CACHING_RATIO
from torchrec.distributed.planner.perf_models import NoopPerfModel
from torchrec.distributed.planner.planners import to_sharding_plan as sharding_plan_of_options
from torchrec.distributed.planner.types import ShardingOption, Topology
from torchrec.distributed.types import ShardingPlan

from neuroshard._core import PlanCost, Task
from neuroshard.errors import Error
from neuroshard.torchrec.comparison import PricedPlan
from neuroshard.torchrec.given_rules import GivenRules
from neuroshard.torchrec.model_tables import (
    CACHED,
    DATA_PARALLEL,
    FUSED,
    AccessHistograms,
    Constraints,
    ModelTable,
    full_name,
)
from neuroshard.torchrec.sharding_plans import plan_of_options
from neuroshard.torchrec.table_search import Iteration, Planners, loads_of, tables_as_are, task_of

logger: logging.Logger = logging.getLogger(__name__)


class Prices:
    """Prices for one model and topology."""

    def __init__(
        self,
        planners: Planners,
        topology: Topology,
        constraints: Constraints,
        access_histograms: AccessHistograms,
        given_rules: GivenRules,
        iteration: Iteration,
    ) -> None:
        self._planners = planners
        self._topology = topology
        self._constraints = constraints
        self._access_histograms = access_histograms
        self._given_rules = given_rules
        self._iteration = iteration

    def price(
        self,
        options: Sequence[ShardingOption],
        tables: Sequence[ModelTable],
        rooms: list[int],
        with_caches: Task | None = None,
    ) -> tuple[Task | None, PlanCost | None]:
        """The task of `options` and what they cost in it. `with_caches`: the task of a search that put rows into host
        memory, where the memory that tables take decides what is fetched."""
        try:
            if with_caches is not None:
                of_name = {full_name(option): option for option in options}
                plan = plan_of_options([of_name[table.name] for table in with_caches.tables], with_caches)
                return with_caches, self._planners.by_columns.simulate(with_caches, plan)
            task = self.task_of(options, tables, rooms)
            if task is None:
                return None, None
            plan = plan_of_options([option for option in options if self._may_be_priced(option)], task)
            return task, self._planners.by_columns.simulate(task, plan)
        except Error as error:
            # Plans may be TorchRec's alone, on more devices than cost models know, say.
            logger.warning("neuroshard cannot predict what the plan costs: %s", error)
            return None, None

    def priced(
        self, options: Sequence[ShardingOption], cost: PlanCost | None, plan: ShardingPlan | None = None
    ) -> PricedPlan:
        """`plan` is that of `options`; None: it is made of them."""
        plan = sharding_plan_of_options(list(options), self._topology) if plan is None else plan
        return PricedPlan(plan, None if cost is None else cost.cost_ms, self.estimated_ms(options), cost)

    def estimated_ms(self, options: Sequence[ShardingOption]) -> float:
        """Time of the slowest rank."""
        return float(NoopPerfModel(self._topology).rate(list(options)))

    def task_of(
        self, options: Sequence[ShardingOption], tables: Sequence[ModelTable], rooms: list[int], *, hosted: bool = False
    ) -> Task | None:
        """The tables that cost models know, whoever planned them, in the order of `options`. The others' load is that of
        the devices. None: they know none. `hosted`: with the host memory of the topology, if it is known what caches
        fetch, though no table needs it."""
        by_name = {table.full_name: table for table in tables}
        known = [option for option in options if self._may_be_priced(option)]
        if not known:
            return None
        load_factors = {full_name(option): load_factor_of(option) for option in known if option.compute_kernel == CACHED}
        hosted = hosted and self._knows_caches()
        priced = [by_name[full_name(option)] for option in known]
        of_model = tables_as_are(
            priced,
            self._constraints,
            self._access_histograms,
            all_kinds=self._planners.choose_cuts,
            load_factors=load_factors,
            hosted=hosted,
        )
        others = [option for option in options if not self._may_be_priced(option)]
        groups = self._given_rules.groups(priced)
        host_memory = self._iteration.host_memory if load_factors or hosted else None
        return task_of(of_model, rooms, self._iteration, loads_of(others, len(rooms)), groups, host_memory)

    def _may_be_priced(self, option: ShardingOption) -> bool:
        if option.compute_kernel == CACHED and not self._knows_caches():
            return False
        return may_be_priced(option, self._planners.by_columns.weights.prices_replicas)

    def _knows_caches(self) -> bool:
        """Whether there is host memory, and what caches fetch from it is known."""
        exchange = self._iteration.exchange
        unknown = exchange.deduplicate_ids or exchange.deduplicate_by_table or exchange.hot_rows
        return self._iteration.host_memory is not None and not unknown


def load_factor_of(option: ShardingOption) -> float:
    """That of a cache, for which TorchRec has a default."""
    return float(option.cache_load_factor or UVM_CACHING_RATIO)


def may_be_priced(option: ShardingOption, replicas: bool) -> bool:
    """Whether cost models know such shards: ranks compute and update them, or have copies and the models know
    `replicas`."""
    known = replicas if option.sharding_type == DATA_PARALLEL else option.compute_kernel in (FUSED, CACHED)
    return known and all(shard.size[1] % 4 == 0 for shard in option.shards)
