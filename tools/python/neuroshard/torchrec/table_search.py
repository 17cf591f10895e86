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

from neuroshard._core import Infeasibility, Plan, Planner, Table, Task
from neuroshard.errors import Error
from neuroshard.placed_slices import PlacedSlice, plan_from_slices
from neuroshard.torchrec.memory import MemoryCounter
from neuroshard.torchrec.model_tables import (
    AccessHistograms,
    Constraints,
    ModelTable,
    Piece,
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
    def cut_rows(self) -> bool:
        return self.any_cuts is not self.by_columns

    @property
    def choose_cuts(self) -> bool:
        """Whether tables are replicated and row-wise where that is cheaper, not only where it must be."""
        return self.cut_rows and self.any_cuts.weights.prices_replicas


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

        `whole_columns`: tables that are not to be cut by columns. Rows are cut if columns alone find no room, and those
        of tables that may be nothing else.
        Raises PlannerError if there is no plan.
        """
        self._infeasible = None
        try:
            chosen = None
            # Row blocks are equal, and so have to be the devices.
            equal = [min(rooms)] * len(rooms)
            by_rows = not all(table.may_be_in_columns() for table in tables)
            if by_rows:
                chosen = self._with_rows_of_some(tables, equal, whole_columns)
            elif self._planners.choose_cuts and any(
                table.may_be_replicated(self._constraints) or table.may_be_row_wise(self._constraints)
                for table in tables
            ):
                chosen = self._search(self._planners.any_cuts, tables, rooms, whole_columns, cut_rows=False)
            if chosen is None and not by_rows:
                chosen = self._search(self._planners.by_columns, tables, rooms, whole_columns, cut_rows=False)
            if chosen is None and self._may_cut_rows(tables):
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

    def _with_rows_of_some(
        self, tables: Sequence[ModelTable], rooms: Sequence[int], whole_columns: Set[str]
    ) -> Chosen | None:
        """Where some tables may be nothing but row blocks. If the library cannot do that, it refuses these."""
        try:
            chosen = self._search(self._planners.any_cuts, tables, rooms, whole_columns, cut_rows=False)
            infeasible = self._infeasible
            if chosen is not None or infeasible is None or infeasible.kind != "rules":
                return chosen
            why = infeasible.message
        except Error as error:  # Cost models that do not know so many devices, say.
            why = str(error)
        self._infeasible = None
        return Chosen(refusals={table.full_name: why for table in tables if not table.may_be_in_columns()})

    def _may_cut_rows(self, tables: Sequence[ModelTable]) -> bool:
        return self._planners.cut_rows and any(table.row_kinds() for table in tables)

    def _search(
        self,
        planner: Planner,
        tables: Sequence[ModelTable],
        rooms: Sequence[int],
        whole_columns: Set[str],
        *,
        cut_rows: bool,
    ) -> Chosen | None:
        """The library counts weights, TorchRec optimizer states, inputs and outputs as well. So a plan is first
        sought that minds weights alone, whose costs are the right ones; if TorchRec's estimates then say that it
        does not fit, one for tables of as many rows as their whole storage would make. Those are the ones of which
        to know if columns suffice, so they come first where rows are cut for want of room."""
        by_cost = planner is not self._planners.by_columns and self._planners.choose_cuts
        as_is = [
            table.table(
                self._constraints,
                self._access_histograms,
                table.rules(
                    self._constraints,
                    replicas=by_cost,
                    row_wise=by_cost,
                    node_blocks=by_cost and planner.weights.prices_node_blocks,
                    # Nothing is gained by cutting the rows of small tables.
                    row_blocks=cut_rows and not self._is_small(table, rooms),
                    whole_columns=table.full_name in whole_columns,
                ),
            )
            for table in tables
        ]
        real = task_of(as_is, rooms, self._topology)
        weighed = self._weighed(tables, as_is) if cut_rows else None
        limits = list(rooms)
        for _ in range(MOST_TRIES_FOR_MEMORY):
            if max(limits) <= 0:
                return None
            sought = real if weighed is None else task_of(weighed, limits, self._topology)
            plan = self._plan(planner, sought)
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
        """Each table on one device, or in row blocks if it must be, with estimates."""
        options = [
            table.sharded([Piece(0, table.columns, 0, 0, table.rows)]) if table.may_be_in_columns() else table.in_rows()
            for table in tables
        ]
        self._enumerator.populate_estimates(options)
        return options


def task_of(tables: Sequence[Table], rooms: Sequence[int], topology: Topology) -> Task:
    """For devices of `rooms` bytes. Devices without room have one byte, since tasks want some."""
    rooms = [max(1, room) for room in rooms]
    return Task(
        tables,
        len(rooms),
        rooms if min(rooms) != max(rooms) else min(rooms),
        name="model",
        devices_per_node=min(topology.intra_group_size, len(rooms)),
    )


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
        node = task.devices_per_node
        nodes_divide = 1 < node < task.devices and task.devices % node == 0
        kinds = real.tables[table].rules.kinds
        within_node = (
            nodes_divide
            and ("table_row" in kinds or "grid" in kinds)
            and min(devices) // node == max(devices) // node
        )
        blocks = node if within_node else task.devices
        first_device = min(devices) // blocks * blocks
        of_block = math.ceil(rows / blocks)
        for block in range(math.ceil(rows / of_block)):
            first_row = block * of_block
            slices.append(
                (first_device + block, table, first_column, columns, first_row, min(of_block, rows - first_row))
            )
    return plan_from_slices(real, slices, plan.replicas)

