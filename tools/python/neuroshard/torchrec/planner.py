"""A planner for TorchRec whose plans the library finds."""

import logging
import math
import time
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field

from torch import nn
from torchrec.distributed.planner.planners import (
    EmbeddingPlannerBase,
    EmbeddingShardingPlanner,
    validate_compute_kernels,
    validate_modules_inclusion_in_sharding_plan,
    validate_rank_assignment,
)
from torchrec.distributed.planner.planners import to_sharding_plan as sharding_plan_of_options
from torchrec.distributed.planner.types import (
    Enumerator,
    ParameterConstraints,
    PlanDebugStats,
    PlannerError,
    PlannerErrorType,
    ShardingOption,
    Stats,
    StorageReservation,
    Topology,
)
from torchrec.distributed.types import ModuleSharder, ShardingPlan

from neuroshard._core import Plan, PlanCost, Planner, PlanResult, Table, Task, Weights
from neuroshard.errors import Error
from neuroshard.torchrec.memory import MemoryCounter
from neuroshard.torchrec.model_tables import AccessHistograms, Constraints, ModelTable, Piece, model_tables
from neuroshard.torchrec.sharding_plans import pieces_by_table

logger: logging.Logger = logging.getLogger(__name__)

# Every further one starts from what the estimates of the one before exceed.
MOST_TRIES_FOR_MEMORY = 6

# As the library counts.
BYTES_OF_WEIGHT = 4


class NothingButThese(Enumerator):
    """Makes TorchRec's planner plan some tables of a model."""

    def __init__(self, options: list[ShardingOption], enumerator: Enumerator) -> None:
        self._options = options
        self._enumerator = enumerator

    def enumerate(self, module: nn.Module, sharders: list[ModuleSharder[nn.Module]]) -> list[ShardingOption]:
        return self._options

    def populate_estimates(self, sharding_options: list[ShardingOption]) -> None:
        self._enumerator.populate_estimates(sharding_options)


@dataclass
class Chosen:
    """What a search has chosen, in TorchRec's terms."""

    options: list[ShardingOption] = field(default_factory=list)
    cost: PlanCost | None = None
    refusals: dict[str, str] = field(default_factory=dict)
    """Tables that the plan cuts as their constraints forbid, and why. If there are any, there is nothing else."""


class NeuroShardPlanner(EmbeddingPlannerBase):
    """To use in the place of EmbeddingShardingPlanner.

    Plans pooled tables in device memory, table-wise and column-wise. Tables that it cannot hold (unpooled
    ones; those whose constraints leave only row-wise, data-parallel or cached kinds; ...) are planned by
    EmbeddingShardingPlanner, and a warning names them.

    Arguments up to `timeout_seconds` are those of EmbeddingShardingPlanner. Ours:
      weights: cost models; None for the built-in ones.
      effort: "fast", "default" or "thorough".
      deadline_ms: return the best plan found by then. None: `timeout_seconds`, if that is given.
      equal_widths: cut each table to shards of one width, as TorchRec's load_state_dict needs. Without
        it plans cost somewhat less and train as well.
      threads: for one plan; 0: one per core.
      access_histograms: of tables by name, with or without the path of their module, as Table takes them and
        `neuroshard profile` counts them. Those of other tables follow Zipf's law.
    """

    def __init__(
        self,
        topology: Topology | None = None,
        batch_size: int | None = None,
        enumerator: Enumerator | None = None,
        storage_reservation: StorageReservation | None = None,
        stats: Stats | list[Stats] | None = None,
        constraints: dict[str, ParameterConstraints] | None = None,
        debug: bool = True,
        callbacks: list[Callable[[list[ShardingOption]], list[ShardingOption]]] | None = None,
        timeout_seconds: int | None = None,
        *,
        weights: Weights | None = None,
        effort: str = "default",
        deadline_ms: float | None = None,
        equal_widths: bool = True,
        threads: int = 0,
        access_histograms: AccessHistograms | None = None,
    ) -> None:
        super().__init__(
            topology=topology,
            batch_size=batch_size,
            enumerator=enumerator,
            storage_reservation=storage_reservation,
            stats=stats,
            constraints=constraints,
            debug=debug,
            callbacks=callbacks,
            timeout_seconds=timeout_seconds,
        )
        if deadline_ms is None and timeout_seconds is not None:
            deadline_ms = 1000.0 * timeout_seconds
        self._deadline_ms = deadline_ms
        self._planner = Planner(weights, effort=effort, equal_widths=equal_widths, cuts="columns", threads=threads)
        self._access_histograms = access_histograms or {}
        self._searches = 0
        self._selected: list[ShardingOption] = []
        self._search_space: list[ShardingOption] | None = None
        self._cost: PlanCost | None = None

    def get_selected_options(self) -> list[ShardingOption]:
        """The options of the last plan, with TorchRec's estimates of their storage and time."""
        return self._selected

    def get_search_space(self) -> list[ShardingOption] | None:
        """All that TorchRec's enumerator offered for the last plan."""
        return self._search_space

    @property
    def cost(self) -> PlanCost | None:
        """Predicted cost of the last plan, but for tables that were left to EmbeddingShardingPlanner."""
        return self._cost

    def plan(self, module: nn.Module, sharders: list[ModuleSharder[nn.Module]]) -> ShardingPlan:
        """The plan of lowest predicted cost that was found. Raises PlannerError if there is none."""
        start = time.perf_counter()
        self._searches = 0
        self._selected, self._cost = [], None
        constraints = self._constraints or {}
        memory = MemoryCounter(self._topology, sharders)
        available = self._storage_reservation.reserve(
            topology=self._topology,
            batch_size=self._batch_size,
            module=module,
            sharders=sharders,
            constraints=self._constraints,
        )
        self._search_space = self._enumerator.enumerate(module=module, sharders=sharders)
        tables = model_tables(self._search_space)
        if not tables:
            return ShardingPlan({})
        self._check_access_histograms(tables)
        refusals = {t.full_name: reason for t in tables if (reason := t.refusal(constraints)) is not None}
        while True:
            others = self._plan_others([t for t in tables if t.full_name in refusals], module, sharders, available)
            ours = [t for t in tables if t.full_name not in refusals]
            limit = self._memory_left(memory, available, others)
            chosen = self._search(ours, memory, limit, constraints) if ours else Chosen()
            if not chosen.refusals:
                break
            refusals.update(chosen.refusals)  # Then once more without them.
        for name, reason in refusals.items():
            logger.warning("neuroshard leaves table %s to TorchRec's planner: %s", name, reason)
        uneven = sorted(option.fqn for option in chosen.options if has_unequal_widths(option))
        if uneven:
            logger.warning(
                "neuroshard cuts %s to shards of unequal widths: they train, but TorchRec's load_state_dict cannot "
                "load them",
                ", ".join(uneven),
            )
        selected = [*chosen.options, *others]
        for callback in self._callbacks:
            selected = callback(selected)
        self._selected = selected
        self._cost = chosen.cost
        sharding_plan = sharding_plan_of_options(selected, self._topology)
        self._log(sharding_plan, sharders, time.perf_counter() - start)
        validate_modules_inclusion_in_sharding_plan(sharding_plan, module, sharders)
        validate_rank_assignment(sharding_plan, self._topology)
        validate_compute_kernels(selected)
        return sharding_plan

    def _check_access_histograms(self, tables: Sequence[ModelTable]) -> None:
        """A name that is misspelt would go unnoticed."""
        unknown = set(self._access_histograms) - {table.full_name for table in tables} - {table.name for table in tables}
        if unknown:
            raise PlannerError(
                f"access_histograms: the model has no table {', '.join(sorted(unknown))}; it has "
                + ", ".join(table.full_name for table in tables),
                PlannerErrorType.INPUT_VALIDATION,
            )

    def _plan_others(
        self,
        tables: Sequence[ModelTable],
        module: nn.Module,
        sharders: list[ModuleSharder[nn.Module]],
        available: Topology,
    ) -> list[ShardingOption]:
        """By TorchRec's planner."""
        if not tables:
            return []
        planner = EmbeddingShardingPlanner(
            topology=self._topology,
            batch_size=self._batch_size,
            enumerator=NothingButThese([option for table in tables for option in table.options], self._enumerator),
            storage_reservation=AlreadyReserved(deepcopy(available)),
            stats=[],
            constraints=self._constraints,
            debug=False,
            timeout_seconds=self._timeout_seconds,
        )
        try:
            planner.plan(module, sharders)
        except PlannerError as error:
            # It misses the modules of which all tables are ours.
            if error.error_type != PlannerErrorType.MISSING_MODULE_IN_PLAN:
                raise
        selected: list[ShardingOption] = planner.get_selected_options()
        return selected

    def _memory_left(self, memory: MemoryCounter, available: Topology, others: Sequence[ShardingOption]) -> int:
        """Of the fullest device, since plans are for equal ones."""
        left = [had - used for had, used in zip(memory.available(available), memory.used(others))]
        if max(left) != min(left):
            logger.info("neuroshard plans for devices of %d bytes; the largest has %d", min(left), max(left))
        return min(left)

    def _search(
        self, tables: Sequence[ModelTable], memory: MemoryCounter, memory_bytes: int, constraints: Constraints
    ) -> Chosen:
        """The library counts fp32 weights, TorchRec optimizer states, inputs and outputs as well. So a plan
        is first sought that minds weights alone, whose costs are the right ones; if TorchRec's estimates
        then say that it does not fit, one for tables of as many rows as their whole storage would make."""
        world_size = self._topology.world_size
        try:
            as_is = [table.table(constraints, self._access_histograms) for table in tables]
        except Error as error:
            raise PlannerError(str(error), PlannerErrorType.INPUT_VALIDATION) from error
        weighed = [
            Table(
                rows=max(1, math.ceil(memory.option_bytes(whole) / (BYTES_OF_WEIGHT * table.dim))),
                dim=table.dim,
                pooling_factor=table.pooling_factor,
                access_histogram=table.access_histogram,
                name=table.name,
            )
            for table, whole in zip(as_is, self._whole(tables))
        ]
        limit = memory_bytes
        sought = as_is
        for _ in range(MOST_TRIES_FOR_MEMORY):
            if limit <= 0:
                break
            try:
                result = self._run(Task(sought, world_size, limit, name="model"))
                if result.plan is not None:
                    real = Task(as_is, world_size, memory_bytes, name="model")
                    plan = plan_for_other_rows(result.plan, result.task, real)
                    pieces = pieces_by_table(real, plan)
                    refusals = {
                        table.full_name: reason
                        for table, of_table in zip(tables, pieces)
                        if (reason := table.refusal_of(of_table, constraints)) is not None
                    }
                    if refusals:
                        return Chosen(refusals=refusals)
                    options = [table.sharded(of_table) for table, of_table in zip(tables, pieces)]
                    self._enumerator.populate_estimates(options)
                    excess = max(memory.used(options)) - memory_bytes
                    if excess <= 0:
                        return Chosen(options, self._planner.simulate(real, plan))
            except Error as error:
                raise PlannerError(str(error), PlannerErrorType.INPUT_VALIDATION) from error
            if sought is weighed:
                if result.plan is None:
                    break
                limit -= excess
            sought = weighed
        needed = sum(memory.option_bytes(option) for option in self._whole(tables))
        raise PlannerError(
            f"neuroshard found no plan for {len(tables)} tables: by TorchRec's estimates they need {needed:,} bytes, and "
            f"{world_size} devices have {memory_bytes:,} bytes each after reservations"
            + (f". {result.infeasible.message}" if limit > 0 and result.infeasible is not None else ""),
            PlannerErrorType.INSUFFICIENT_STORAGE,
        )

    def _whole(self, tables: Sequence[ModelTable]) -> list[ShardingOption]:
        """Each table on one device, with estimates."""
        options = [
            table.sharded([Piece(0, int(table.options[0].tensor.shape[1]), 0, 0, table.rows)]) for table in tables
        ]
        self._enumerator.populate_estimates(options)
        return options

    def _run(self, task: Task) -> PlanResult:
        self._searches += 1
        return self._planner.plan(task, deadline_ms=self._deadline_ms)

    def _log(
        self, sharding_plan: ShardingPlan, sharders: list[ModuleSharder[nn.Module]], seconds: float
    ) -> None:
        """In TorchRec's format and in ours."""
        for stats in self._stats:
            stats.log(
                sharding_plan=sharding_plan,
                topology=self._topology,
                batch_size=self._batch_size,
                storage_reservation=self._storage_reservation,
                num_proposals=self._searches,
                num_plans=self._searches,
                run_time=seconds,
                best_plan=self._selected,
                constraints=self._constraints,
                enumerator=self._enumerator,
                sharders=sharders,
                debug=self._debug,
                debug_stats=PlanDebugStats(
                    planner_type=type(self).__name__, timeout_seconds=self._timeout_seconds
                ),
            )
        if self._cost is not None:
            logger.info("%s", self._cost)


class AlreadyReserved(StorageReservation):
    """Memory that a reservation has left."""

    def __init__(self, available: Topology) -> None:
        self._available = available

    def reserve(
        self,
        topology: Topology,
        batch_size: int,
        module: nn.Module,
        sharders: list[ModuleSharder[nn.Module]],
        constraints: dict[str, ParameterConstraints] | None = None,
    ) -> Topology:
        return self._available

    @property
    def last_reserved_topology(self) -> Topology | None:
        return self._available


def plan_for_other_rows(plan: Plan, task: Task, real: Task) -> Plan:
    """`plan`, which the search found for `task`, for `real`, whose tables have other rows."""
    column_splits = plan.column_splits(task)
    assert column_splits is not None
    return Plan.from_column_splits(real, column_splits, plan.shards)


def has_unequal_widths(option: ShardingOption) -> bool:
    return len({shard.size[1] for shard in option.shards}) > 1
