"""The library's search for the tables of a TorchRec model."""

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from torchrec.distributed.planner.types import (
    Enumerator,
    PlannerError,
    PlannerErrorType,
    ShardingOption,
    Topology,
)

from neuroshard._core import Infeasibility, Plan, Planner, Table, TableRules, Task
from neuroshard.errors import Error
from neuroshard.placed_slices import PlacedSlice, plan_from_slices
from neuroshard.torchrec.memory import MemoryCounter
from neuroshard.torchrec.model_tables import (
    NODE_OF_SEARCH,
    AccessHistograms,
    Constraints,
    ModelTable,
    Piece,
    may_have_node_blocks,
)
from neuroshard.torchrec.sharding_plans import pieces_by_table

# Every further one starts from what the estimates of the one before exceed.
MOST_TRIES_FOR_MEMORY = 6

# So many of them find room on one rank: their rows need no cuts.
SMALL_TABLES = 16

# As the library counts.
BYTES_OF_WEIGHT = 4


@dataclass
class Chosen:
    """What a search has chosen, in TorchRec's terms."""

    options: list[ShardingOption] = field(default_factory=list)
    refusals: dict[str, str] = field(default_factory=dict)
    """Tables that the plan cuts as TorchRec cannot, and why. If there are any, there is nothing else."""
    grids: set[str] = field(default_factory=set)
    """Those of them that it cuts by rows and columns."""
    complete: bool = True
    """False: a deadline ended a search."""


class Planners(NamedTuple):
    by_columns: Planner
    any_cuts: Planner
    """Which may cut rows and replicate tables. The same one if neither is to be done."""

    @property
    def replicate(self) -> bool:
        return self.any_cuts is not self.by_columns and self.any_cuts.weights.prices_replicas


class TableSearch:
    """Searches for one model. What fits is decided by TorchRec's estimates."""

    def __init__(
        self,
        planners: Planners,
        deadline_ms: float | None,
        topology: Topology,
        enumerator: Enumerator,
        memory: MemoryCounter,
        constraints: Constraints,
        access_histograms: AccessHistograms,
    ) -> None:
        self._planners = planners
        self._deadline_ms = deadline_ms
        self._topology = topology
        self._enumerator = enumerator
        self._memory = memory
        self._constraints = constraints
        self._access_histograms = access_histograms
        self._infeasible: Infeasibility | None = None
        self._complete = True
        self.runs = 0

    def choose(self, tables: Sequence[ModelTable], rooms: Sequence[int], whole_columns: Set[str]) -> Chosen:
        """The plan of lowest predicted cost that was found, in `rooms` bytes of each rank.

        `whole_columns`: tables that are not to be cut by columns. Rows are cut if columns alone find no room.
        Raises PlannerError if there is no plan.
        """
        self._infeasible = None
        try:
            chosen = None
            if self._planners.replicate and any(table.may_be_replicated(self._constraints) for table in tables):
                chosen = self._search(self._planners.any_cuts, tables, rooms, whole_columns, cut_rows=False)
            if chosen is None:
                chosen = self._search(self._planners.by_columns, tables, rooms, whole_columns, cut_rows=False)
            if chosen is None and self._may_cut_rows(tables):
                # Row blocks are equal, and so have to be the devices.
                equal = [min(rooms)] * len(rooms)
                chosen = self._search(self._planners.any_cuts, tables, equal, whole_columns, cut_rows=True)
        except Error as error:
            raise PlannerError(str(error), PlannerErrorType.INPUT_VALIDATION) from error
        if chosen is None:
            needed = sum(self._memory.option_bytes(option) for option in self._whole(tables))
            raise PlannerError(
                f"neuroshard found no plan for {len(tables)} tables: by TorchRec's estimates they need {needed:,} bytes, "
                f"and {len(rooms)} devices have {min(rooms):,} bytes each after reservations"
                + (f". {self._infeasible.message}" if self._infeasible is not None else ""),
                PlannerErrorType.INSUFFICIENT_STORAGE,
            )
        chosen.complete = self._complete
        return chosen

    def _may_cut_rows(self, tables: Sequence[ModelTable]) -> bool:
        return self._planners.any_cuts is not self._planners.by_columns and any(
            table.may_be_cut_by_rows(self._topology) for table in tables
        )

    def _search(
        self,
        planner: Planner,
        tables: Sequence[ModelTable],
        rooms: Sequence[int],
        whole_columns: Set[str],
        *,
        cut_rows: bool,
    ) -> Chosen | None:
        """The library counts fp32 weights, TorchRec optimizer states, inputs and outputs as well. So a plan
        is first sought that minds weights alone, whose costs are the right ones; if TorchRec's estimates
        then say that it does not fit, one for tables of as many rows as their whole storage would make. Those
        are the ones of which to know if columns suffice, so they come first where rows are cut."""
        replicate = planner is not self._planners.by_columns and not cut_rows
        as_is = [
            table.table(
                self._constraints,
                self._access_histograms,
                self._rules(table, rooms, whole_columns, cut_rows, replicate),
            )
            for table in tables
        ]
        real = task_of(as_is, rooms)
        weighed = self._weighed(tables, as_is) if cut_rows else None
        limits = list(rooms)
        for _ in range(MOST_TRIES_FOR_MEMORY):
            if max(limits) <= 0:
                return None
            sought = real if weighed is None else task_of(weighed, limits)
            plan = self._plan(planner, sought)
            if plan is not None and not cut_rows and has_row_blocks(plan, sought):
                plan = None  # Columns find no room for weights as they are; what is weighed decides that.
            excess = 0
            if plan is not None:
                pieces = pieces_by_table(real, plan_for_other_rows(plan, sought, real))
                refusals = {
                    table.full_name: reason
                    for table, of_table in zip(tables, pieces)
                    if (reason := self._refusal_of(table, of_table)) is not None
                }
                if refusals:
                    grids = {t.full_name for t, of_table in zip(tables, pieces) if t.is_grid(of_table)}
                    return Chosen(refusals=refusals, grids=grids & set(refusals))
                options = [
                    table.sharded(of_table) if of_table else table.replicated()
                    for table, of_table in zip(tables, pieces)
                ]
                self._enumerator.populate_estimates(options)
                excess = max(used - room for used, room in zip(self._memory.used(options), rooms))
                if excess <= 0:
                    return Chosen(options)
            elif weighed is not None:
                return None
            if weighed is None:
                weighed = self._weighed(tables, as_is)
            else:
                limits = [limit - excess for limit in limits]
        return None

    def _rules(
        self, table: ModelTable, rooms: Sequence[int], whole_columns: Set[str], cut_rows: bool, replicate: bool
    ) -> TableRules:
        whole = table.full_name in whole_columns
        if replicate:
            return table.rules_with_replicas(self._constraints, self._topology.world_size, whole_columns=whole)
        if cut_rows and self._is_small(table, rooms) and not table.may_be_replicated(self._constraints):
            # Nothing is gained by cutting its rows, and such tables the search might replicate.
            return table.rules_with_replicas(self._constraints, self._topology.world_size, whole_columns=whole)
        return table.rules(self._constraints, self._topology if cut_rows else None, whole_columns=whole)

    def _is_small(self, table: ModelTable, rooms: Sequence[int]) -> bool:
        """Of `rooms`, what a rank has."""
        return table.rows * table.columns * BYTES_OF_WEIGHT * SMALL_TABLES <= min(rooms)

    def _refusal_of(self, table: ModelTable, pieces: list[Piece]) -> str | None:
        """Of a table without pieces: replicated."""
        return table.refusal_of(pieces, self._constraints) if pieces else table.refusal_of_replicas()

    def _plan(self, planner: Planner, task: Task) -> Plan | None:
        self.runs += 1
        result = planner.plan(task, deadline_ms=self._deadline_ms)
        # Of the first search that failed: by columns, without rules on rows.
        self._infeasible = self._infeasible or result.infeasible
        self._complete = self._complete and result.complete
        return result.plan

    def _weighed(self, tables: Sequence[ModelTable], as_is: Sequence[Table]) -> list[Table]:
        """The same tables with as many rows as their storage would make."""
        return [
            Table(
                rows=max(1, math.ceil(self._memory.option_bytes(whole) / (BYTES_OF_WEIGHT * table.dim))),
                dim=table.dim,
                pooling_factor=table.pooling_factor,
                access_histogram=table.access_histogram,
                name=table.name,
                rules=table.rules,
            )
            for table, whole in zip(as_is, self._whole(tables))
        ]

    def _whole(self, tables: Sequence[ModelTable]) -> list[ShardingOption]:
        """Each table on one device, with estimates."""
        options = [table.sharded([Piece(0, table.columns, 0, 0, table.rows)]) for table in tables]
        self._enumerator.populate_estimates(options)
        return options


def task_of(tables: Sequence[Table], rooms: Sequence[int]) -> Task:
    """For devices of `rooms` bytes. Devices without room have one byte, since tasks want some."""
    rooms = [max(1, room) for room in rooms]
    return Task(tables, len(rooms), rooms if min(rooms) != max(rooms) else min(rooms), name="model")


def plan_for_other_rows(plan: Plan, task: Task, real: Task) -> Plan:
    """`plan`, which the search found for `task`, for `real`, whose tables have other rows."""
    slices: list[PlacedSlice] = []
    of_blocks: dict[tuple[int, int, int], list[int]] = {}  # Table and columns: the devices of row blocks.
    for device, shard in enumerate(plan.shards):
        for piece in (plan.slices[index] for index in shard):
            if piece.rows == task.tables[piece.table].rows:
                slices.append((device, piece.table, piece.first_column, piece.dim))
            else:
                of_blocks.setdefault((piece.table, piece.first_column, piece.dim), []).append(device)
    for (table, first_column, columns), devices in of_blocks.items():
        rows = real.tables[table].rows
        within_node = may_have_node_blocks(task.devices) and (
            min(devices) // NODE_OF_SEARCH == max(devices) // NODE_OF_SEARCH
        )
        blocks = NODE_OF_SEARCH if within_node else task.devices
        first_device = min(devices) // blocks * blocks
        of_block = math.ceil(rows / blocks)
        for block in range(math.ceil(rows / of_block)):
            first_row = block * of_block
            slices.append(
                (first_device + block, table, first_column, columns, first_row, min(of_block, rows - first_row))
            )
    return plan_from_slices(real, slices, plan.replicas)


def has_row_blocks(plan: Plan, task: Task) -> bool:
    return any(piece.rows != task.tables[piece.table].rows for piece in plan.slices)
