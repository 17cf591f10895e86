"""The library's search for the tables of a TorchRec model."""

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from torchrec.distributed.planner.perf_models import NoopPerfModel
from torchrec.distributed.planner.types import (
    Enumerator,
    PlannerError,
    PlannerErrorType,
    ShardingOption,
    Topology,
)

from neuroshard._core import (
    Device,
    ExchangeTypes,
    HostMemory,
    Infeasibility,
    NodeLinks,
    Overlap,
    Plan,
    Planner,
    PlanResult,
    ReplanResult,
    Table,
    TableGroup,
    Task,
)
from neuroshard.errors import Error
from neuroshard.torchrec.given_rules import GivenRules
from neuroshard.torchrec.memory import MemoryCounter, sized
from neuroshard.torchrec.model_tables import (
    CACHED,
    TABLE_WISE,
    AccessHistograms,
    Constraints,
    ModelTable,
    Piece,
    cached,
    with_ranks,
)
from neuroshard.torchrec.sharding_plans import cache_load_factors, pieces_by_table, plan_of_options, store_of

# Tries of a choice of kinds. Every further one starts from what the estimates of the one before exceed.
MOST_TRIES_FOR_MEMORY = 6

# Plans that are predicted to cost more than the best one times this are not estimated: models that are trained on these
# estimates are not that wrong, and plans of narrow slices take long.
MOST_OF_BEST = 1.1

# So many of them find room on one rank: their rows need no cuts.
SMALL_TABLES = 16

# So much of all memory is filled by choice: whole tables leave gaps.
MOST_OF_ROOM = 0.9

# As the library counts.
BYTES_OF_WEIGHT = 4


@dataclass
class Chosen:
    """Plan that a search has chosen, in TorchRec's terms."""

    options: list[ShardingOption] = field(default_factory=list)
    refusals: dict[str, str] = field(default_factory=dict)
    """Tables that the plan cuts as TorchRec cannot, and why. If there are any, there is nothing else."""
    grids: set[str] = field(default_factory=set)
    """Tables among them that it cuts by rows and columns."""
    result: PlanResult | None = None
    """Result of the search that came across it."""
    complete: bool = True
    """False: a deadline ended a search."""
    replanned: ReplanResult | None = None
    """Moves, if a plan was sought that is near to a running one."""


class Running(NamedTuple):
    """A plan that new ones are to be near to."""

    options: Sequence[ShardingOption]
    """One for each table, with ranks."""
    move_budget_bytes: int | None
    """As Planner.replan() takes it."""


class Found(NamedTuple):
    """TorchRec's estimates of the plans that a search came across."""

    used: list[int]
    """Bytes of each rank by the search's best plan; none if that has refusals."""
    chosen: Chosen | None = None
    """The best one that fits, or refusals."""
    estimated_ms: float = math.inf
    """Time of the one that is chosen, if several were to be compared."""


class Planners(NamedTuple):
    by_columns: Planner
    any_cuts: Planner
    """Which may cut rows and replicate tables. It is `by_columns` if neither is to be done."""

    @property
    def cut_rows(self) -> bool:
        return self.any_cuts is not self.by_columns

    @property
    def choose_cuts(self) -> bool:
        """Whether tables are replicated and row-wise where that is cheaper, not only where it must be."""
        return self.cut_rows and self.any_cuts.weights.prices_replicas


class Kinds(NamedTuple):
    """Kinds that a search may use beside columns, in tables that TorchRec offers the kind of sharding for."""

    replicas: bool = False
    """Where that costs less."""
    rows: bool = False
    """Row blocks where these cost less, on all devices and on those of a node."""
    for_room: bool = False
    """Row blocks for want of memory, whatever they cost."""
    cached: bool = False
    """Rows in host memory, cached in HBM, for want of memory."""
    in_hbm: frozenset[str] = frozenset()
    """Tables that are not cached for all that, by full name."""
    stored: bool = False
    """Rows of cached tables on SSDs, if the tables may be there."""
    narrow: bool = False
    """Columns of any width that constraints allow, for want of memory."""


class Iteration(NamedTuple):
    """Conditions of costs, beside tables and memory."""

    devices_per_node: int
    batch_size: int | None = None
    """Samples of all ranks; None: those of the library."""
    links: NodeLinks | None = None
    speed: float = 1.0
    """Speed of all devices, as Device has it."""
    exchange: ExchangeTypes = ExchangeTypes()
    overlap: Overlap = Overlap()
    host_memory: HostMemory | None = None
    """For tables that may be cached, where HBM has no room. None: there are no caches."""
    with_ssd: HostMemory | None = None
    """The same with an SSD, for tables that may be in a store there, where neither has room. None: there is none."""


class TableSearch:
    """Searches for one model. TorchRec's estimates decide what fits."""

    def __init__(
        self,
        planners: Planners,
        deadline_ms: float | None,
        topology: Topology,
        enumerator: Enumerator,
        memory: MemoryCounter,
        constraints: Constraints,
        access_histograms: AccessHistograms,
        iteration: Iteration,
        candidates: int,
        given_rules: GivenRules = GivenRules(),
    ) -> None:
        self._planners = planners
        self._deadline_ms = deadline_ms
        self._topology = topology
        self._enumerator = enumerator
        self._memory = memory
        self._constraints = constraints
        self._access_histograms = access_histograms
        self._iteration = iteration
        self._candidates = candidates
        self._given_rules = given_rules
        self._others: Sequence[ShardingOption] = ()
        self._base_ms: Sequence[float] = ()
        self._infeasible: Infeasibility | None = None
        self._complete = True
        self._running: Running | None = None
        self._known: dict[tuple[str, tuple[Piece, ...], float | None], ShardingOption] = {}
        self.runs = 0

    def choose(
        self,
        tables: Sequence[ModelTable],
        rooms: Sequence[int],
        whole_columns: Set[str],
        others: Sequence[ShardingOption] = (),
    ) -> Chosen:
        """The plan of lowest predicted cost that was found, in `rooms` bytes of each rank.

        `whole_columns`: tables that are not to be cut by columns. Rows are cut if columns alone find no room, and those
        of tables that may be nothing else. `others`: what the ranks do besides, by TorchRec's estimates.
        Raises PlannerError if there is no plan.
        """
        self._infeasible = None
        self._others = others
        self._base_ms = loads_of(others, self._topology.world_size)
        try:
            chosen = None
            any_cuts = self._planners.any_cuts
            cheaper = self._cheaper_kinds(tables)
            # Row blocks are equal, and so have to be the devices.
            equal = [min(rooms)] * len(rooms)
            by_rows = not all(table.may_be_in_columns() for table in tables)
            if by_rows:
                chosen = self._with_rows_of_some(tables, equal, whole_columns, [*cheaper, Kinds()])
            else:
                chosen = self._first_of(cheaper, any_cuts, tables, rooms, whole_columns)
                chosen = chosen or self._search(self._planners.by_columns, tables, rooms, whole_columns, Kinds())
            if chosen is None and self._may_cut_rows(tables):
                for_room = [kinds._replace(for_room=True) for kinds in [*cheaper, Kinds()]]
                chosen = self._first_of(for_room, any_cuts, tables, equal, whole_columns)
            if chosen is None and not by_rows:
                chosen = self._search(self._planners.by_columns, tables, rooms, whole_columns, Kinds(narrow=True))
            if chosen is None and self._iteration.host_memory and any(table.may_be_cached() for table in tables):
                in_hbm = self._in_hbm(tables, rooms)
                for_caches = [
                    kinds._replace(cached=True, in_hbm=kept)
                    for kept in dict.fromkeys((in_hbm, frozenset[str]()))
                    for kinds in [*cheaper, Kinds()]
                ]
                chosen = self._first_of(for_caches, any_cuts, tables, equal, whole_columns)
            if chosen is None and self._may_use_ssds(tables):
                for_ssds = [kinds._replace(cached=True, stored=True) for kinds in [*cheaper, Kinds()]]
                chosen = self._first_of(for_ssds, any_cuts, tables, equal, whole_columns)
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

    def task(self, tables: Sequence[ModelTable], rooms: Sequence[int], *, all_kinds: bool) -> Task:
        """All of `tables`, which take what TorchRec takes them to need whole. `all_kinds`: whether the search may choose
        replicas and row blocks, too."""
        as_is = tables_as_are(tables, self._constraints, self._access_histograms, all_kinds=all_kinds)
        groups = self._given_rules.groups(tables)
        return task_of(self._sized(tables, as_is), rooms, self._iteration, (), groups)

    def choose_near(
        self,
        tables: Sequence[ModelTable],
        rooms: Sequence[int],
        running: Running,
        others: Sequence[ShardingOption] = (),
    ) -> Chosen:
        """As choose(), but near to `running`: tables that run in one piece stay so, others may be cut by columns
        otherwise."""
        self._infeasible = None
        self._running = running
        self._others = others
        self._base_ms = loads_of(others, self._topology.world_size)
        whole = {t.full_name for t, option in zip(tables, running.options) if option.sharding_type == TABLE_WISE}
        try:
            chosen = self._search(self._planners.by_columns, tables, rooms, whole, Kinds())
        except Error as error:
            raise PlannerError(str(error), PlannerErrorType.INPUT_VALIDATION) from error
        if chosen is None:
            raise PlannerError(
                f"neuroshard found no plan near to the running one for {len(tables)} tables"
                + (f": {self._infeasible.message}" if self._infeasible is not None else ""),
                PlannerErrorType.INSUFFICIENT_STORAGE,
            )
        chosen.complete = self._complete
        return chosen

    def _cheaper_kinds(self, tables: Sequence[ModelTable]) -> list[Kinds]:
        """Which kinds to look for where they cost less than columns, the most first. Replicas take most memory, so it
        is these that are given up first."""
        if not self._planners.choose_cuts:
            return []
        rows = any(table.row_kinds() for table in tables)
        kinds = [Kinds(rows=True)] if rows else []
        if any(table.may_be_replicated(self._constraints) for table in tables):
            kinds.insert(0, Kinds(replicas=True, rows=rows))
        return kinds

    def _first_of(
        self,
        choices: Sequence[Kinds],
        planner: Planner,
        tables: Sequence[ModelTable],
        rooms: Sequence[int],
        whole_columns: Set[str],
    ) -> Chosen | None:
        """By the first of `choices` that leads to a plan."""
        for kinds in choices:
            chosen = self._search(planner, tables, rooms, whole_columns, kinds)
            if chosen is not None:
                return chosen
        return None

    def _with_rows_of_some(
        self, tables: Sequence[ModelTable], rooms: Sequence[int], whole_columns: Set[str], choices: Sequence[Kinds]
    ) -> Chosen | None:
        """Where some tables may be nothing but row blocks. If the library cannot do that, it refuses these."""
        try:
            chosen = self._first_of(choices, self._planners.any_cuts, tables, rooms, whole_columns)
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

    def _may_use_ssds(self, tables: Sequence[ModelTable]) -> bool:
        """Not beside tables that have to wait in host memory: the library would put their rows on SSDs, too."""
        return (
            self._iteration.with_ssd is not None
            and any(table.may_wait_on_ssd() for table in tables)
            and all(
                table.may_wait_on_ssd() or table.load_factor is not None
                for table in tables
                if table.is_only_cached()
            )
        )

    def _search(
        self,
        planner: Planner,
        tables: Sequence[ModelTable],
        rooms: Sequence[int],
        whole_columns: Set[str],
        kinds: Kinds,
    ) -> Chosen | None:
        """The library counts weights, TorchRec optimizer states, inputs and outputs as well. So a plan is first
        sought that minds weights alone; if TorchRec's estimates then say that it does not fit, one for tables that
        take, by the library's own terms, what TorchRec takes them to need. Where these still differ, what a plan
        lacked is reserved on all devices for the next one. Where rows are cut for want of room, the second kind of
        tables comes first, since it decides whether columns suffice."""
        with_caches = kinds.cached or any(table.is_only_cached() for table in tables)
        host_memory = None
        if with_caches:
            host_memory = self._iteration.with_ssd if kinds.stored else self._iteration.host_memory
        as_is = [
            table.table(
                self._constraints,
                self._access_histograms,
                table.rules(
                    self._constraints,
                    replicas=kinds.replicas,
                    # For room, nothing is gained by cutting the rows of small tables.
                    row_blocks=kinds.rows or (kinds.for_room and not self._is_small(table, rooms)),
                    whole_columns=table.full_name in whole_columns,
                    narrow=kinds.narrow,
                    hosted=host_memory is not None,
                    cached=kinds.cached and table.full_name not in kinds.in_hbm,
                    stored=kinds.stored,
                ),
            )
            for table in tables
        ]
        # Tables that are moved have states, too.
        are_sized = kinds.for_room or with_caches or self._running is not None
        sought = self._sized(tables, as_is, host_memory) if are_sized else as_is
        groups = self._given_rules.groups(tables)
        best: Chosen | None = None
        least_ms = math.inf
        reserved, too_little, too_much = 0, 0, None
        for _ in range(MOST_TRIES_FOR_MEMORY):
            limits = [room - reserved for room in rooms]
            result, replanned = None, None
            if max(limits) > 0:
                result, replanned = self._plan(planner, task_of(sought, limits, self._iteration, self._base_ms, groups, host_memory))
            if result is None or result.plan is None or result.cost is None:
                if reserved == 0:
                    break
                too_much = reserved
                reserved = (too_little + too_much) // 2
                continue
            found = self._best_of(result, tables, rooms)
            if best is not None and found.chosen is not None and found.chosen.refusals:
                break
            if found.chosen is not None and found.estimated_ms < least_ms:
                best, least_ms = found.chosen, found.estimated_ms
                best.replanned = replanned
            # The library took each device to hold `counted`; TorchRec says `used`.
            lacking = [
                used - int(counted)
                for used, counted, room in zip(found.used, result.cost.memory_bytes, rooms)
                if used > room
            ]
            if not lacking:
                break
            if are_sized:
                too_little, reserved = reserved, max(lacking)
                if too_much is not None and reserved >= too_much:
                    reserved = (too_little + too_much) // 2
            else:
                are_sized, sought = True, self._sized(tables, as_is, host_memory)
        return best

    def _best_of(self, result: PlanResult, tables: Sequence[ModelTable], rooms: Sequence[int]) -> Found:
        """The cheapest plan of a search that fits by TorchRec's estimates; of several candidates, by those of time."""
        assert result.plan is not None and result.cost is not None
        most_ms = MOST_OF_BEST * result.cost.cost_ms
        found: Found | None = None
        for plan in [result.plan, *(other.plan for other in result.alternatives if other.cost_ms <= most_ms)]:
            pieces = pieces_by_table(result.task, plan)
            refusals = {
                table.full_name: reason
                for table, of_table in zip(tables, pieces)
                if (reason := self._refusal_of(table, of_table)) is not None
            }
            if refusals:
                if found is not None:
                    continue
                grids = {t.full_name for t, of_table in zip(tables, pieces) if t.is_grid(of_table)}
                return Found([], Chosen(refusals=refusals, grids=grids & set(refusals)), 0.0)
            options = self._estimated(tables, pieces, cache_load_factors(result.task, plan, self._topology))
            used = self._memory.used(options)
            found = found or Found(used)
            if any(taken > room for taken, room in zip(used, rooms)):
                continue
            estimated_ms = 0.0
            if self._candidates > 1:
                estimated_ms = float(NoopPerfModel(self._topology).rate([*options, *self._others]))
            if estimated_ms < found.estimated_ms:
                options = self._stored(tables, options, result.task, plan)
                found = found._replace(chosen=Chosen(options, result=result), estimated_ms=estimated_ms)
        assert found is not None
        return found

    def _estimated(
        self, tables: Sequence[ModelTable], pieces: Sequence[list[Piece]], load_factors: Mapping[int, float]
    ) -> list[ShardingOption]:
        """The options of a plan, with estimates. These do not depend on ranks, and plans have most shards in common."""
        options: list[ShardingOption] = []
        new: list[ShardingOption] = []
        for place, (table, of_table) in enumerate(zip(tables, pieces)):
            load_factor = table.load_factor_for(load_factors.get(place))
            key = (table.full_name, tuple(piece._replace(rank=0) for piece in of_table), load_factor)
            # Row blocks are those of their ranks.
            in_blocks = table.has_row_blocks(of_table) or not table.may_be_in_columns()
            known = None if in_blocks else self._known.get(key)
            if known is None:
                known = table.sharded(of_table) if of_table else table.replicated()
                known = known if load_factor is None else cached(known, load_factor)
                self._known[key] = known
                new.append(known)
                options.append(known)
            elif of_table:
                options.append(with_ranks(known, [piece.rank for piece in of_table]))
            else:
                options.append(known)
        self._enumerator.populate_estimates(new)
        return options

    def _stored(
        self, tables: Sequence[ModelTable], options: list[ShardingOption], task: Task, plan: Plan
    ) -> list[ShardingOption]:
        """`options` with the tables in stores that may wait on the SSDs of `task`."""
        if task.host_memory is None or task.host_memory.ssd_bytes == 0:
            return options
        places = {
            place
            for place, (table, option) in enumerate(zip(tables, options))
            if option.compute_kernel == CACHED and table.may_wait_on_ssd()
        }
        store = store_of(task, plan, places)
        made = list(options)
        for place in places:
            option = options[place]
            assert option.cache_load_factor is not None
            in_store = cached(option, option.cache_load_factor, tables[place].with_given_store(store))
            made[place] = with_ranks(in_store, [shard.rank for shard in option.shards])
        self._enumerator.populate_estimates([made[place] for place in places])
        for place in places:
            for shard, in_host in zip(made[place].shards, options[place].shards):
                # TorchRec counts no HBM for caches above SSDs.
                shard.storage = replace(shard.storage, hbm=in_host.storage.hbm)
        return made

    def _in_hbm(self, tables: Sequence[ModelTable], rooms: Sequence[int]) -> frozenset[str]:
        """Tables that need not be cached where a cache has the size that the user gave it: those of most lookups a row, as
        far as HBM has room beside the caches of the others."""
        whole = [self._memory.option_bytes(option) for option in self._whole(tables)]
        shares = [table.load_factor if table.may_be_cached() else None for table in tables]
        left = MOST_OF_ROOM * sum(rooms) - sum(size * (share or 1.0) for size, share in zip(whole, shares))
        kept = set()
        for _, size, share, name in sorted(
            (-table.lookups_per_sample(self._constraints) / table.rows, size, share, table.full_name)
            for table, size, share in zip(tables, whole, shares)
            if share is not None and not table.is_only_cached()
        ):
            if size * (1.0 - share) <= left:
                left -= size * (1.0 - share)
                kept.add(name)
        return frozenset(kept)

    def _is_small(self, table: ModelTable, rooms: Sequence[int]) -> bool:
        """Compares with `rooms`, what each rank has."""
        return table.rows * table.columns * BYTES_OF_WEIGHT * SMALL_TABLES <= min(rooms)

    def _refusal_of(self, table: ModelTable, pieces: list[Piece]) -> str | None:
        """Refusal of the table; one without pieces is replicated."""
        return table.refusal_of(pieces, self._constraints) if pieces else table.refusal_of_replicas()

    def _plan(self, planner: Planner, task: Task) -> tuple[PlanResult, ReplanResult | None]:
        self.runs += 1
        replanned = None
        if self._running is None:
            result = planner.plan(task, deadline_ms=self._deadline_ms, alternatives=self._candidates - 1)
        else:
            replanned = planner.replan(
                task,
                task,
                plan_of_options(self._running.options, task),
                move_budget_bytes=self._running.move_budget_bytes,
                deadline_ms=self._deadline_ms,
            )
            result = replanned.result
        # The reason is that of the first search that failed: by columns, without rules on rows.
        self._infeasible = self._infeasible or result.infeasible
        self._complete = self._complete and result.complete
        return result, replanned

    def _sized(
        self, tables: Sequence[ModelTable], as_is: Sequence[Table], host_memory: HostMemory | None = None
    ) -> list[Table]:
        """Tables that take as much memory as TorchRec takes them to need."""

        def task_of_batch(table: Table, samples: int) -> Task:
            ranks = self._topology.world_size
            return Task(
                [table],
                devices=ranks,
                memory_bytes=1,
                batch_size=samples,
                devices_per_node=min(self._iteration.devices_per_node, ranks),
                host_memory=host_memory,
            )

        made = []
        # Buffers do not depend on rows.
        for table, whole, row in zip(as_is, self._whole(tables), self._whole(tables, most_rows=1)):
            blocks = [shard.size[0] for shard in whole.shards if shard.size[0] > 0]
            all_bytes, of_row = self._memory.option_bytes(whole), self._memory.option_bytes(row)
            row_bytes = (all_bytes - of_row) / max(1, sum(blocks) - len(blocks))
            made.append(sized(table, row_bytes, all_bytes - row_bytes * sum(blocks), len(blocks), task_of_batch))
        return made

    def _whole(self, tables: Sequence[ModelTable], most_rows: int | None = None) -> list[ShardingOption]:
        """Each table on one device, or in row blocks if it must be, with estimates; of `most_rows` of each shard."""
        options = [
            table.sharded([Piece(0, table.columns, 0, 0, table.rows)]) if table.may_be_in_columns() else table.in_rows()
            for table in tables
        ]
        for shard in (shard for option in options for shard in option.shards):
            shard.size = [min(shard.size[0], most_rows or shard.size[0]), shard.size[1]]
        self._enumerator.populate_estimates(options)
        return options


def loads_of(options: Sequence[ShardingOption], ranks: int) -> list[float]:
    """Milliseconds that `options`, with ranks, take on each by TorchRec's estimates."""
    loads = [0.0] * ranks
    for option in options:
        for shard in option.shards:
            loads[shard.rank] += shard.perf.total
    return loads


def tables_as_are(
    tables: Sequence[ModelTable],
    constraints: Constraints,
    access_histograms: AccessHistograms,
    *,
    all_kinds: bool,
    load_factors: Mapping[str, float] = {},
    hosted: bool = False,
) -> list[Table]:
    """Tables of a task. `all_kinds`: they may be replicated and in row blocks, as far as TorchRec offers it.
    `load_factors`: of those that are cached, by full name. `hosted`: the others may wait in host memory as well, where
    TorchRec offers it and the user gives the cache no size."""
    made = []
    for table in tables:
        load_factor = load_factors.get(table.full_name)
        rules = table.rules(
            constraints,
            replicas=all_kinds,
            row_blocks=all_kinds,
            hosted=hosted or bool(load_factors),
            cached=load_factor is not None or (hosted and table.load_factor is None),
            load_factor=load_factor,
        )
        made.append(table.table(constraints, access_histograms, rules))
    return made


def task_of(
    tables: Sequence[Table],
    rooms: Sequence[int],
    iteration: Iteration,
    base_ms: Sequence[float] = (),
    groups: Sequence[TableGroup] = (),
    host_memory: HostMemory | None = None,
) -> Task:
    """For devices of `rooms` bytes, which have something to do already. Devices without room have one byte, since tasks
    want some."""
    rooms = [max(1, room) for room in rooms]
    devices: int | list[Device] = len(rooms)
    memory: int | list[int] | None = rooms if min(rooms) != max(rooms) else min(rooms)
    if any(base_ms) or iteration.speed != 1.0:
        loads = base_ms or [0.0] * len(rooms)
        devices = [Device(room, speed=iteration.speed, base_ms=ms) for room, ms in zip(rooms, loads)]
        memory = None
    return Task(
        tables,
        devices,
        memory,
        name="model",
        batch_size=iteration.batch_size,
        # Tables say what batch takes their memory, see memory.sized().
        count_buffers=False,
        devices_per_node=min(iteration.devices_per_node, len(rooms)),
        links=iteration.links,
        exchange=iteration.exchange,
        overlap=iteration.overlap,
        host_memory=host_memory,
        groups=groups,
    )
