"""A planner for TorchRec whose plans the library finds."""

import logging
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch.distributed as dist
from torch import nn
from torchrec.distributed.planner.constants import HBM_TO_DDR_MEM_BW, MIN_CW_DIM, SSD_MEM_BW
from torchrec.distributed.planner.planners import (
    EmbeddingPlannerBase,
    validate_compute_kernels,
    validate_modules_inclusion_in_sharding_plan,
    validate_rank_assignment,
)
from torchrec.distributed.planner.planners import to_sharding_plan as sharding_plan_of_options
from torchrec.distributed.planner.types import (
    Enumerator,
    ParameterConstraints,
    Partitioner,
    PerfModel,
    PlanDebugStats,
    PlanLoader,
    PlannerContextFingerprintError,
    PlannerError,
    PlannerErrorType,
    Proposer,
    ShardingOption,
    Stats,
    StorageReservation,
    Topology,
)
from torchrec.distributed.sharding_plan import get_default_sharders
from torchrec.distributed.types import ModuleSharder, ShardingPlan

from neuroshard._core import (
    ExchangeTypes,
    Overlap,
    PlanCost,
    PlanExplanation,
    Planner,
    PlanResult,
    ReplanResult,
    Task,
    Weights,
)
from neuroshard.errors import Error
from neuroshard.torchrec.comparison import PlanComparison
from neuroshard.torchrec.enumerators import QuickEnumerator, constraints_of, estimate_times
from neuroshard.torchrec.estimated_descent import EstimatedDescent
from neuroshard.torchrec.first_rank import on_first_rank
from neuroshard.torchrec.given_rules import GivenRules, Rules
from neuroshard.torchrec.memory import MemoryCounter
from neuroshard.torchrec.model_iteration import iteration_of
from neuroshard.torchrec.model_tables import (
    CACHED,
    DATA_PARALLEL,
    STORED,
    AccessHistograms,
    ModelTable,
    full_name,
    model_tables,
    with_shards,
    wrong_means,
)
from neuroshard.torchrec.plan_store import PlanStore, fingerprint_of, options_of, stored_plan
from neuroshard.torchrec.prices import Prices
from neuroshard.torchrec.resharding import Resharding, changes, refusal_to_move, running_options
from neuroshard.torchrec.settings import check_lengths, unknown_tables, unplanned_settings, unplanned_topology
from neuroshard.torchrec.table_search import Chosen, Planners, Running, TableSearch, tables_as_are, task_of
from neuroshard.torchrec.torchrec_plans import plan_by_torchrec
from neuroshard.torchrec.warned_once import WarnedOnce

logger: logging.Logger = logging.getLogger(__name__)

# The best plan and the alternatives that the library keeps.
MOST_CANDIDATES = 1001

# How weights that are trained on TorchRec's estimates say so (tools/examples/torchrec/price_samples.py), and how many
# plans are estimated then.
SOURCE_OF_ESTIMATES = "torchrec:"
CANDIDATES_OF_ESTIMATES = 32

# Plans are to be cheap by these: the weights, or TorchRec's estimates.
COSTS = ("weights", "torchrec")


class Model(NamedTuple):
    """Tables and settings to be planned, as the planner reads them."""

    module: nn.Module
    sharders: list[ModuleSharder[nn.Module]]
    tables: list[ModelTable]
    memory: MemoryCounter
    available: Topology
    """Memory that reservations leave."""
    rooms: list[int]
    """Bytes of each rank of it."""


class NeuroShardPlanner(EmbeddingPlannerBase):
    """To use in the place of EmbeddingShardingPlanner.

    Plans tables in the cheapest of the kinds of sharding that TorchRec offers for them: constraints
    narrow these. Row blocks and replicas are chosen by cost if the weights price them, and else row blocks where columns
    find no room. Tables that are not pooled are replicated only if their constraints name it. Tables are cached in HBM
    if constraints leave nothing else, or HBM has no room for all. Tables that it cannot hold (those whose constraints leave
    only data-parallel kinds or fused_uvm; ...) are planned by EmbeddingShardingPlanner, and a warning names them.

    Arguments up to `plan_loader` are those of EmbeddingShardingPlanner; `proposer`, `partitioner`, `performance_model` and
    `plan_loader`, parts of its search, are not used. Settings that neither plans nor costs depend on are named in a
    warning, once. Ours:
      weights: cost models; None for the built-in ones.
      effort: "fast", "default" or "thorough".
      deadline_ms: each search returns the best plan found by then; there are several if TorchRec's estimates
        of storage refuse a plan. None: `timeout_seconds`, if that is given.
      equal_widths: cut each table to shards of one width, as TorchRec's load_state_dict needs. Without
        it plans cost somewhat less and train as well.
      threads: for one plan; 0: one per core.
      access_histograms: of tables by name, with or without the path of their module, as Table takes them and
        `neuroshard profile` counts them. Histograms of other tables follow Zipf's law.
      cuts: "any", "columns", or None, as Planner takes it.
      plan_store: where plans are looked for before they are sought, and kept.
      candidates: how many of the plans of lowest predicted cost are estimated by TorchRec, 1 to 1,001: the one is
        taken that costs least by its estimates. None: 32 if the weights are trained on these, else 1.
      min_partition: least width of shards of tables whose constraints give none. None: 128, as in TorchRec; less
        makes cheaper plans, of more shards.
      compare: let EmbeddingShardingPlanner plan as well, for `comparison`. It takes much longer than the search.
      exchange: how values and ids are sent. None: as the sharders' codecs (QCommsConfig) and use_index_dedup say.
      overlap: what runs beside what. None: nothing, all is added up. TrainPipelineSparseDist hides ids:
        Overlap(ids=True).
      rules: where tables may be, by their names, with or without the path of their module: TableRules of `devices`,
        `not_devices`, `nodes`, `not_nodes`, `no_split`, `max_slices`, `keep_in_hbm`.
      costs: "weights", or "torchrec": the plan is the cheapest by TorchRec's estimates. EmbeddingShardingPlanner plans as
        well, and both plans are improved by these estimates, so that none is dearer than its own.
      keep_together, keep_apart: lists of groups, each of names of tables that one rank has all of, or of which no rank
        has two.
    """

    def __init__(
        self,
        topology: Topology | None = None,
        batch_size: int | None = None,
        enumerator: Enumerator | None = None,
        storage_reservation: StorageReservation | None = None,
        proposer: Proposer | list[Proposer] | None = None,
        partitioner: Partitioner | None = None,
        performance_model: PerfModel | None = None,
        stats: Stats | list[Stats] | None = None,
        constraints: dict[str, ParameterConstraints] | None = None,
        debug: bool = True,
        callbacks: list[Callable[[list[ShardingOption]], list[ShardingOption]]] | None = None,
        timeout_seconds: int | None = None,
        plan_loader: PlanLoader | None = None,
        *,
        weights: Weights | None = None,
        effort: str = "default",
        deadline_ms: float | None = None,
        equal_widths: bool = True,
        threads: int = 0,
        access_histograms: AccessHistograms | None = None,
        cuts: str | None = None,
        plan_store: PlanStore | None = None,
        candidates: int | None = None,
        min_partition: int | None = None,
        compare: bool = False,
        exchange: ExchangeTypes | None = None,
        overlap: Overlap | None = None,
        costs: str = "weights",
        rules: Rules | None = None,
        keep_together: Sequence[Sequence[str]] = (),
        keep_apart: Sequence[Sequence[str]] = (),
    ) -> None:
        constraints = constraints_of(enumerator, constraints)
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
        if enumerator is None:
            self._enumerator = QuickEnumerator(self._topology, self._batch_size, constraints)
        if deadline_ms is None and timeout_seconds is not None:
            deadline_ms = 1000.0 * timeout_seconds
        self._deadline_ms = deadline_ms
        if candidates is not None and not 1 <= candidates <= MOST_CANDIDATES:
            raise Error(f"candidates is {candidates}; give a number between 1 and {MOST_CANDIDATES:,}, or None")

        if costs not in COSTS:
            raise Error(f"costs is {costs!r}; give one of {', '.join(COSTS)}")
        self._by_estimates = costs == "torchrec"
        if plan_store is not None and not isinstance(plan_store, PlanStore):
            raise Error(f"plan_store is {plan_store!r}; give PlanStore(folder), or None")

        def planner(cuts: str | None) -> Planner:
            return Planner(weights, effort=effort, equal_widths=equal_widths, cuts=cuts, threads=threads)

        by_columns = planner("columns")
        self._planners = Planners(by_columns, by_columns if cuts == "columns" else planner(cuts))
        self._like_torchrec = by_columns.weights.metadata.get("source", "").startswith(SOURCE_OF_ESTIMATES)
        if candidates is None:
            candidates = CANDIDATES_OF_ESTIMATES if self._like_torchrec or self._by_estimates else 1
        self._candidates = candidates
        self._access_histograms = access_histograms or {}
        self._plan_store = plan_store
        self._given_exchange = exchange
        self._given_rules = GivenRules(rules or {}, keep_together, keep_apart)
        self._given_rules.check()
        self._compare = compare
        self._given_batch_size = batch_size
        self._min_partition = MIN_CW_DIM if min_partition is None else min_partition
        self._overlap = overlap or Overlap()
        self._warned = WarnedOnce(logger)
        self._forget()
        parts = {
            "proposer": proposer,
            "partitioner": partitioner,
            "performance_model": performance_model,
            "plan_loader": plan_loader,
        }
        self._warned.unused(name for name, given in parts.items() if given is not None)
        self._warned.unused(unplanned_topology(self._topology))

    def _forget(self) -> None:
        """The last plan."""
        self._searches = 0
        self._selected: list[ShardingOption] = []
        self._search_space: list[ShardingOption] | None = None
        self._task: Task | None = None
        self._result: PlanResult | None = None
        self._cost: PlanCost | None = None
        self._comparison: PlanComparison | None = None
        self._fingerprint: str | None = None
        self._theirs: list[ShardingOption] | None = None
        self._replanned: ReplanResult | None = None
        self._with_caches: Task | None = None
        self._model: Model | None = None

    def get_selected_options(self) -> list[ShardingOption]:
        """The options of the last plan, with TorchRec's estimates of their storage and time."""
        return self._selected

    def get_search_space(self) -> list[ShardingOption] | None:
        """All that TorchRec's enumerator offered for the last plan."""
        if self._search_space:
            estimate_times(self._search_space, self._enumerator)
        return self._search_space

    @property
    def cost(self) -> PlanCost | None:
        """Predicted cost of the last plan, of the tables that cost models know: in device memory; of replicas if
        the weights price them."""
        return self._cost

    @property
    def task(self) -> Task | None:
        """The task that `cost` is of: the tables that cost models know, with their rules, in the memory that
        reservations leave. Times of the other tables, by TorchRec's estimates, are base loads of the devices."""
        return self._task

    @property
    def result(self) -> PlanResult | None:
        """The result of the library's search whose plan, or an alternative of it, was taken; its tables take the memory
        that TorchRec estimates. None if there was no search: the plan is a stored one, or TorchRec's alone."""
        return self._result

    @property
    def comparison(self) -> PlanComparison | None:
        """Compares the last plan's cost by the library's cost models and by TorchRec's estimates, and with `compare`
        that of TorchRec's own plan."""
        return self._comparison

    @property
    def library(self) -> Planner:
        """The library's planner, with the weights and options of this one."""
        return self._planners.any_cuts

    def read_task(self, module: nn.Module, sharders: list[ModuleSharder[nn.Module]]) -> Task:
        """The tables of `module` as the search has them where memory is scarce, without a plan: with their rules, of the
        memory that TorchRec estimates for each as a whole. Forgets the last plan."""
        model = self._read(module, sharders)
        return self._search_of(model).task(model.tables, model.rooms, all_kinds=self._planners.choose_cuts)

    def explain(self, *, rules: bool = False, deadline_ms: float | None = None) -> PlanExplanation:
        """Why the last plan costs what it does, as Planner.explain() says it."""
        task, cost = self._planned()
        return self.library.explain(task, cost.plan, rules=rules, deadline_ms=deadline_ms)

    def what_if(
        self, variants: Sequence[tuple[int, int] | tuple[int, int, int]], *, deadline_ms: float | None = None
    ) -> list[PlanResult | Exception]:
        """Plans the tables of the last plan on other devices: a result for each (ranks, bytes of one) or (ranks,
        bytes of one, bytes of its host). Tables that may be cached are, where HBM has no room; if not stated, hosts have
        the memory of the topology. Memory is that of weights, by the library's formulas."""
        task = self._planned()[0]
        if task.host_memory is None and self._model is not None:
            task = self._prices.task_of(self._selected, self._model.tables, self._model.rooms, hosted=True) or task
        return self.library.plan_variants(task, variants, deadline_ms=deadline_ms)

    def to_html(self) -> str:
        """The last plan as a page for browsers, by ranks and tables (docs/plan_format.md); with `compare`, TorchRec's own
        plan beside it; of replan(), what is moved of the tables that may be."""
        cost = self._planned()[1]
        if self._replanned is not None:
            return self._replanned.to_html()
        compared = self._comparison
        if compared is not None and compared.theirs is not None and compared.theirs.cost is not None:
            return compared.to_html()
        return cost.to_html()

    def compare_with(self, sharding_plan: ShardingPlan) -> PlanComparison:
        """The last plan beside `sharding_plan`, one of the same model that runs, say. Raises Error if that is of other
        tables or ranks, or shards a table as its sharder and constraints do not allow."""
        if self._model is None or self._comparison is None:
            raise Error("planner: there is no plan; call plan() or collective_plan() first")
        options = running_options(sharding_plan, self._model.tables, len(self._model.rooms))
        self._enumerator.populate_estimates(options)
        cost = self._prices.price(options, self._model.tables, self._model.rooms)[1]
        return PlanComparison(self._comparison.ours, self._prices.priced(options, cost, sharding_plan))

    def _planned(self) -> tuple[Task, PlanCost]:
        if self._task is None or self._cost is None:
            raise Error("planner: there is no plan with a predicted cost; call plan() or collective_plan() first")
        return self._task, self._cost

    @property
    def fingerprint(self) -> str | None:
        """Fingerprint of what decided the last plan, by which the plan store has it. None without a store."""
        return self._fingerprint

    def collective_plan(
        self,
        module: nn.Module,
        sharders: list[ModuleSharder[nn.Module]] | None = None,
        pg: dist.ProcessGroup | None = None,
    ) -> ShardingPlan:
        """The first rank of the group plans for all. If it finds no plan, all of them raise PlannerError: in TorchRec the
        others would wait for a plan for ever."""
        return on_first_rank(pg, lambda: self.plan(module, get_default_sharders() if sharders is None else sharders))

    def collective_replan(
        self,
        module: nn.Module,
        sharders: list[ModuleSharder[nn.Module]],
        running_plan: ShardingPlan,
        move_budget_bytes: int | None = None,
        pg: dist.ProcessGroup | None = None,
    ) -> Resharding:
        """replan() by the first rank of the group, for all."""
        return on_first_rank(pg, lambda: self.replan(module, sharders, running_plan, move_budget_bytes))

    def plan(self, module: nn.Module, sharders: list[ModuleSharder[nn.Module]]) -> ShardingPlan:
        """The plan of lowest predicted cost that was found. Raises PlannerError if there is none."""
        start = time.perf_counter()
        model = self._read(module, sharders)
        if not model.tables:
            return ShardingPlan({})
        selected = self._stored(model.tables, model.memory, model.rooms)
        if selected is None:
            selected, complete = self._find(model)
            if self._by_estimates:
                selected = self._cheapest_by_estimates(selected, model)
                self._with_caches = None
            if complete:
                self._keep(selected, model.tables)
        return self._decide(selected, model, start)

    def replan(
        self,
        module: nn.Module,
        sharders: list[ModuleSharder[nn.Module]],
        running_plan: ShardingPlan,
        move_budget_bytes: int | None = None,
    ) -> Resharding:
        """A plan near to `running_plan`, by which the unsharded `module` was sharded: for other pooling factors, memory or
        rules, say. Ranks are sent `move_budget_bytes` at most; None: as Planner.replan() says. Tables go on in their kind
        of sharding, and stay where they are if TorchRec cannot reshard them live. Raises PlannerError if there is none."""
        start = time.perf_counter()
        model = self._read(module, sharders)
        if not model.tables:
            return Resharding(ShardingPlan({}), {}, 0)
        try:
            options = running_options(running_plan, model.tables, len(model.rooms))
        except Error as error:
            raise PlannerError(str(error), PlannerErrorType.INPUT_VALIDATION) from error
        self._enumerator.populate_estimates(options)
        selected, moved = self._find_near(model, options, move_budget_bytes)
        new_plan = self._decide(selected, model, start)
        return Resharding(new_plan, changes(running_plan, new_plan, moved), sum(moved.values()))

    def _read(self, module: nn.Module, sharders: list[ModuleSharder[nn.Module]]) -> Model:
        """Checks settings as well. The next plan takes the place of the last one."""
        self._forget()
        memory = MemoryCounter(self._topology, sharders)
        available = self._storage_reservation.reserve(
            topology=self._topology,
            batch_size=self._batch_size,
            module=module,
            sharders=sharders,
            constraints=self._constraints,
        )
        constraints = self._constraints or {}
        check_lengths(constraints)
        self._search_space = self._enumerator.enumerate(module=module, sharders=sharders)
        tables = model_tables(
            self._search_space,
            min_partition=self._min_partition,
            one_node=self._topology.intra_group_size >= self._topology.world_size,
        )
        model = Model(module, sharders, tables, memory, available, memory.available(available))
        if not tables:
            return model
        for table in tables:
            table.load_factor = table.load_factor or memory.load_factor_of(table.options[0])
        self._check_access_histograms(tables)
        try:
            self._given_rules.give(tables, constraints)
        except Error as error:
            raise PlannerError(str(error), PlannerErrorType.INPUT_VALIDATION) from error
        self._warned.unused(unplanned_settings(tables, sharders, constraints))
        self._warned.unused(
            f"constraints of {name} (the model has no such table)"
            for name in unknown_tables(self._search_space, constraints)
        )
        self._iteration = iteration_of(
            tables,
            sharders,
            topology=self._topology,
            constraints=constraints,
            weights=self._planners.by_columns.weights,
            batch_size=self._given_batch_size,
            exchange=self._given_exchange,
            overlap=self._overlap,
            fixed=self._like_torchrec,
            warned=self._warned,
        )
        self._prices = Prices(
            self._planners, self._topology, constraints, self._access_histograms, self._given_rules, self._iteration
        )
        return model

    def _decide(self, selected: list[ShardingOption], model: Model, start: float) -> ShardingPlan:
        """Prices, logs and returns the plan of `selected`, an option for each table."""
        self._model = model
        for callback in self._callbacks:
            selected = callback(selected)
        wrong = wrong_means(selected, model.tables)
        if wrong:
            raise PlannerError(
                f"TorchRec would compute wrong outputs of {', '.join(wrong)}: they are in a module with tables that pool "
                "by mean and are sharded by rows; give these tables sharding_types that keep rows together",
                PlannerErrorType.INPUT_VALIDATION,
            )
        self._selected = selected
        self._task, self._cost = self._prices.price(selected, model.tables, model.rooms, self._with_caches)
        host = self._with_caches.host_memory if self._with_caches is not None else None
        if host is None and self._topology.hbm_to_ddr_mem_bw != HBM_TO_DDR_MEM_BW:
            self._warned.unused(["topology.hbm_to_ddr_mem_bw (no table is in host memory)"])
        if (host is None or host.ssd_bytes == 0) and self._topology.ssd_mem_bw != SSD_MEM_BW:
            self._warned.unused(["topology.ssd_mem_bw (no table is on SSDs)"])
        sharding_plan = sharding_plan_of_options(selected, self._topology)
        seconds = time.perf_counter() - start
        if self._compare and self._theirs is None:
            self._theirs = self._plan_by_torchrec(model)
        theirs = None
        if self._theirs is not None:
            theirs = self._prices.priced(self._theirs, self._prices.price(self._theirs, model.tables, model.rooms)[1])
        self._comparison = PlanComparison(self._prices.priced(selected, self._cost, sharding_plan), theirs)
        self._log(sharding_plan, model.sharders, seconds)
        validate_modules_inclusion_in_sharding_plan(sharding_plan, model.module, model.sharders)
        validate_rank_assignment(sharding_plan, self._topology)
        validate_compute_kernels(selected)
        return sharding_plan

    def _find_near(
        self, model: Model, running: Sequence[ShardingOption], move_budget_bytes: int | None
    ) -> tuple[list[ShardingOption], dict[tuple[str, str], int]]:
        """An option for each table, and bytes that are moved, by path and name of table."""
        staying = {
            table.full_name: reason
            for table, option in zip(model.tables, running)
            if (reason := self._refusal(table) or refusal_to_move(option, running, model.sharders, model.memory))
        }
        search = self._search_of(model)
        while True:
            for table in model.tables:
                if table.is_ruled() and table.full_name in staying:
                    raise PlannerError(
                        f"{table.argument_of_rules()}: table {table.full_name} stays where it is: "
                        + staying[table.full_name],
                        PlannerErrorType.INPUT_VALIDATION,
                    )
            for name, reason in staying.items():
                self._warned.warn(f"neuroshard leaves table {name} where it is, since TorchRec cannot reshard it: {reason}")
            others = [option for t, option in zip(model.tables, running) if t.full_name in staying]
            ours = [(t, option) for t, option in zip(model.tables, running) if t.full_name not in staying]
            if not ours:
                return list(running), {}
            rooms = [had - used for had, used in zip(model.rooms, model.memory.used(others))]
            tables = [table for table, _ in ours]
            chosen = search.choose_near(tables, rooms, Running([o for _, o in ours], move_budget_bytes), others)
            self._searches, self._result, self._replanned = search.runs, chosen.result, chosen.replanned
            refused = dict(chosen.refusals)
            for table, option in zip(tables, chosen.options):
                ranks = [shard.rank for shard in option.shards]
                if len(set(ranks)) < len(ranks):
                    refused[table.full_name] = "a rank would have two of its shards"
            if not refused:
                break
            staying.update(refused)
        moved: dict[tuple[str, str], int] = {}
        assert chosen.replanned is not None
        for move in chosen.replanned.moves:
            table = tables[move.columns.table]
            moved[table.path, table.name] = moved.get((table.path, table.name), 0) + move.bytes
        # In one piece, tables of columns stay tables of columns.
        new = [with_shards(option, found.shards) for (_, option), found in zip(ours, chosen.options)]
        for (table, before), after in zip(ours, new):
            if model.memory.states_of(before)[1] and len(before.shards) != len(after.shards):
                self._warned.warn(
                    f"neuroshard cuts the columns of table {table.full_name} other than they run: TorchRec goes on "
                    "with the row-wise state of one of the old shards"
                )
        return [*new, *others], moved

    def _search_of(self, model: Model) -> TableSearch:
        return TableSearch(
            self._planners,
            self._deadline_ms,
            self._topology,
            self._enumerator,
            model.memory,
            self._constraints or {},
            self._access_histograms,
            self._iteration,
            self._candidates,
            self._given_rules,
        )

    def _find(self, model: Model) -> tuple[list[ShardingOption], bool]:
        """An option for each table, and whether no deadline ended the search."""
        tables = model.tables
        search = self._search_of(model)
        refusals = {t.full_name: reason for t in tables if (reason := self._refusal(t)) is not None}
        whole_columns: set[str] = set()
        while True:
            for table in tables:
                if table.is_ruled() and table.full_name in refusals:
                    raise PlannerError(
                        f"{table.argument_of_rules()}: table {table.full_name} would be left to TorchRec's planner, which "
                        f"has no such rules: {refusals[table.full_name]}",
                        PlannerErrorType.INPUT_VALIDATION,
                    )
            others = self._plan_others([t for t in tables if t.full_name in refusals], model)
            ours = [t for t in tables if t.full_name not in refusals]
            rooms = [had - used for had, used in zip(model.rooms, model.memory.used(others))]
            chosen = search.choose(ours, rooms, whole_columns, others) if ours else Chosen()
            self._searches, self._result = search.runs, chosen.result
            if not chosen.refusals:
                break
            # Once more: with rows of these cut, but no columns; or, if that has been tried, without them.
            new_grids = chosen.grids - whole_columns
            whole_columns |= new_grids
            refusals.update({name: reason for name, reason in chosen.refusals.items() if name not in new_grids})
        for name, reason in refusals.items():
            self._warned.warn(f"neuroshard leaves table {name} to TorchRec's planner: {reason}")
        in_host = sorted(full_name(option) for option in chosen.options if option.compute_kernel == CACHED)
        on_ssds = sorted(full_name(option) for option in chosen.options if option.compute_kernel == STORED)
        if on_ssds:
            self._warned.warn(
                f"neuroshard keeps {', '.join(on_ssds)} on SSDs, cached in host memory and on the devices (key_value), since "
                "neither HBM nor host memory has room for all tables"
            )
        if in_host or on_ssds:
            assert chosen.result is not None
            self._with_caches = chosen.result.task
        by_constraints = {table.full_name for table in tables if table.is_only_cached()}
        by_choice = [name for name in in_host if name not in by_constraints]
        if by_choice:
            self._warned.warn(
                f"neuroshard keeps {', '.join(by_choice)} in host memory, cached on the devices (fused_uvm_caching), since "
                "HBM has no room for all tables"
            )
        host = self._iteration.host_memory
        if in_host and host is not None and not host.prefetch:
            beyond = model.memory.beyond_own_width(chosen.options)
            lacking = [more + used - room for more, used, room in zip(beyond, model.memory.used(chosen.options), rooms)]
            most = max(range(len(lacking)), key=lacking.__getitem__)
            if lacking[most] > 0:
                self._warned.warn(
                    f"rank {most} lacks {lacking[most] / 2**30:.2f} GiB of HBM: FBGEMM gives all rows of a cache the room of "
                    "its widest table; fused_params with prefetch_pipeline keep tables of different widths apart"
                )
        unasked = {t.full_name for t in tables if not t.is_named(DATA_PARALLEL, self._constraints or {})}
        replicated = sorted(
            name
            for option in chosen.options
            if option.sharding_type == DATA_PARALLEL and (name := full_name(option)) in unasked
        )
        if replicated:
            self._warned.warn(
                f"neuroshard replicates {', '.join(replicated)}: fused_params of sharders do not reach data-parallel tables, "
                "so the job's dense optimizer has to update them; sharding_types of constraints can rule that out"
            )
        uneven = sorted(option.fqn for option in chosen.options if has_unequal_widths(option))
        if uneven:
            logger.warning(
                "neuroshard cuts %s to shards of unequal widths: they train, but TorchRec's load_state_dict cannot "
                "load them",
                ", ".join(uneven),
            )
        # Files of the plan store say nothing of caches.
        return [*chosen.options, *others], chosen.complete and not in_host and not on_ssds

    def _refusal(self, table: ModelTable) -> str | None:
        """Why the search cannot have the table; None if it can."""
        reason = table.refusal(self._constraints or {}, row_blocks=self._planners.cut_rows)
        if reason is not None or not table.is_only_cached():
            return reason
        if self._iteration.host_memory is None:
            return "it may be nothing but cached, and the topology has no host memory for GPUs (ddr_cap)"
        exchange = self._iteration.exchange
        if exchange.deduplicate_ids or exchange.deduplicate_by_table:
            return "it may be nothing but cached, and what a cache fetches is not known where ids are deduplicated"
        return None

    def _stored(
        self, tables: Sequence[ModelTable], memory: MemoryCounter, rooms: list[int]
    ) -> list[ShardingOption] | None:
        """The options that the plan store has for such tables; None if it has none, or there is no store."""
        if self._plan_store is None:
            return None
        constraints = self._constraints or {}
        try:
            context = self.hash_planner_context_inputs_str()
        except (AssertionError, PlannerContextFingerprintError) as error:
            logger.warning("neuroshard keeps no plan, since TorchRec has no fingerprint of its inputs: %s", error)
            return None
        ours = [table for table in tables if self._refusal(table) is None]
        by_search = ""
        try:
            of_model = tables_as_are(ours, constraints, self._access_histograms, all_kinds=False)
            if ours:
                task = task_of(of_model, rooms, self._iteration, groups=self._given_rules.groups(ours))
                by_search = f"{self.library.fingerprint(task):016x}"
        except Error as error:
            raise PlannerError(str(error), PlannerErrorType.INPUT_VALIDATION) from error
        option_bytes = [memory.option_bytes(option) for table in tables for option in table.options]
        self._fingerprint = fingerprint_of(
            by_search, context, rooms, option_bytes, self._candidates, by_estimates=self._by_estimates
        )
        try:
            stored = self._plan_store.load(self._fingerprint)
            return None if stored is None else options_of(stored, tables, len(rooms))
        except Error as error:
            raise PlannerError(str(error), PlannerErrorType.PLAN_LOADING_FAILED) from error

    def _keep(self, selected: Sequence[ShardingOption], tables: Sequence[ModelTable]) -> None:
        """In the plan store, if there is one. A job can go on without."""
        if self._plan_store is None or self._fingerprint is None:
            return
        context = self.hash_planner_context_inputs_str()
        try:
            self._plan_store.save(stored_plan(self._fingerprint, context, selected, tables))
        except Error as error:
            logger.warning("neuroshard could not keep the plan: %s", error)

    def _check_access_histograms(self, tables: Sequence[ModelTable]) -> None:
        """A name that is misspelt would go unnoticed."""
        unknown = set(self._access_histograms) - {table.full_name for table in tables} - {table.name for table in tables}
        if unknown:
            raise PlannerError(
                f"access_histograms: the model has no table {', '.join(sorted(unknown))}; it has "
                + ", ".join(table.full_name for table in tables),
                PlannerErrorType.INPUT_VALIDATION,
            )

    def _plan_others(self, tables: Sequence[ModelTable], model: Model) -> list[ShardingOption]:
        return plan_by_torchrec(
            tables,
            model.sharders,
            topology=self._topology,
            available=model.available,
            batch_size=self._batch_size,
            enumerator=self._enumerator,
            constraints=self._constraints,
            timeout_seconds=self._timeout_seconds,
        )

    def _plan_by_torchrec(self, model: Model) -> list[ShardingOption] | None:
        """All tables; None if TorchRec's planner finds no plan."""
        try:
            return self._plan_others(model.tables, model)
        except PlannerError as error:
            logger.warning("neuroshard compares its plan with none, since TorchRec's planner has none: %s", error)
            return None

    def _cheapest_by_estimates(self, selected: Sequence[ShardingOption], model: Model) -> list[ShardingOption]:
        """The cheaper of `selected` and TorchRec's own plan, each improved by TorchRec's estimates. Tables with rules,
        which TorchRec's planner does not know, and those that it planned in any case stay as selected."""
        free = [table for table in model.tables if self._refusal(table) is None and not table.is_ruled()]
        descent = EstimatedDescent(free, self._constraints or {}, self._enumerator, model.memory, model.rooms)
        plans = [list(selected)]
        if not any(table.is_ruled() for table in model.tables):
            self._theirs = self._plan_by_torchrec(model)
            # TorchRec does not count states that fused_params name.
            if self._theirs is not None and all(
                taken <= room for taken, room in zip(model.memory.used(self._theirs), model.rooms)
            ):
                plans.append(self._theirs)
        return min(map(descent.improved, plans), key=self._prices.estimated_ms)

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
        logger.info("%s", self._comparison)


def has_unequal_widths(option: ShardingOption) -> bool:
    return len({shard.size[1] for shard in option.shards}) > 1
