"""Plans made cheaper by TorchRec's own estimates.

By these a plan costs what its slowest rank does, and a rank the sum of its shards, wherever else the table is. So all is
known once each way of sharding a table has been estimated, and a descent needs no cost models.
"""

import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy
from numpy.typing import NDArray
from torchrec.distributed.planner.types import Enumerator, Shard, ShardingOption

from neuroshard.torchrec.enumerators import estimate_times
from neuroshard.torchrec.memory import MemoryCounter
from neuroshard.torchrec.model_tables import (
    COLUMN_WISE,
    DATA_PARALLEL,
    DENSE,
    FUSED,
    TABLE_COLUMN_WISE,
    Constraints,
    ModelTable,
    Piece,
    full_name,
    with_shards,
)

MOST_STEPS = 10_000

# A descent ends where no single step helps. So it is begun anew, with this many tables sharded in ways that are drawn.
KICKED = 4

# How often, times the number of tables.
DRAWS = 4_000

# In relation to a sum of times.
ROUNDING = 1e-9

Loads = NDArray[numpy.float64]


class Block(NamedTuple):
    """Shards on ranks side by side, the first of which is a multiple of their number: one shard, row blocks on a node
    or on all ranks, or replicas."""

    shards: list[Shard]
    ms: Loads
    taken: Loads
    """Bytes."""


class Way(NamedTuple):
    """In which a table may be sharded."""

    option: ShardingOption
    blocks: list[Block]


class Placed(NamedTuple):
    way: Way
    first_ranks: list[int]
    """First rank of each block."""


class EstimatedDescent:
    """Descent over plans of the same tables."""

    def __init__(
        self,
        tables: Sequence[ModelTable],
        constraints: Constraints,
        enumerator: Enumerator,
        memory: MemoryCounter,
        rooms: Sequence[int],
    ) -> None:
        """`tables`: those that may be sharded otherwise."""
        self._memory = memory
        self._rooms = numpy.array(rooms, dtype=numpy.float64)
        options = {table.full_name: self._options(table, constraints) for table in tables}
        estimate_times([option for of_table in options.values() for option in of_table], enumerator)
        self._ways = {name: [self._way(option) for option in of_table] for name, of_table in options.items() if of_table}

    def improved(self, start: Sequence[ShardingOption]) -> list[ShardingOption]:
        """`start`, an option with ranks and estimates for each table, or a plan that is estimated to cost less and has
        room. Always the same."""
        plan = [self._placed(option) for option in start]
        ms, taken = numpy.zeros_like(self._rooms), numpy.zeros_like(self._rooms)
        for placed in plan:
            _add(placed, ms, taken, 1.0)
        names = [full_name(option) for option in start]
        self._descend(plan, names, ms, taken)
        free = [table for table, name in enumerate(names) if name in self._ways]
        draw = random.Random(0)
        for _ in range(DRAWS // len(free) if free else 0):
            tried, tried_ms, tried_taken = list(plan), ms.copy(), taken.copy()
            if self._kick(draw.sample(free, min(KICKED, len(free))), draw, tried, names, tried_ms, tried_taken):
                self._descend(tried, names, tried_ms, tried_taken)
                if _is_less(tried_ms, ms):
                    plan, ms, taken = tried, tried_ms, tried_taken
        return [_option(placed) for placed in plan]

    def _descend(self, plan: list[Placed], names: Sequence[str], ms: Loads, taken: Loads) -> None:
        for _ in range(MOST_STEPS):
            if not (self._move(plan, names, ms, taken) or self._swap(plan, names, ms, taken)):
                return

    def _kick(
        self,
        tables: Sequence[int],
        draw: random.Random,
        plan: list[Placed],
        names: Sequence[str],
        ms: Loads,
        taken: Loads,
    ) -> bool:
        """Shards `tables` in ways that are drawn; False if there is no room."""
        for table in tables:
            _add(plan[table], ms, taken, -1.0)
        for table in tables:
            moved = self._place(draw.choice(self._ways[names[table]]), ms, taken)
            if moved is None:
                return False
            plan[table] = moved
        return True

    def _move(self, plan: list[Placed], names: Sequence[str], ms: Loads, taken: Loads) -> bool:
        """Shards tables of the slowest rank otherwise, one after the other; False if that helps nowhere."""
        helped = False
        for table, placed in enumerate(plan):
            if names[table] not in self._ways or not _is_on(placed, int(ms.argmax())):
                continue
            best, best_ms, best_taken = placed, ms, taken
            without_ms, without_taken = ms.copy(), taken.copy()
            _add(placed, without_ms, without_taken, -1.0)
            for way in self._ways[names[table]]:
                new_ms, new_taken = without_ms.copy(), without_taken.copy()
                moved = self._place(way, new_ms, new_taken)
                if moved is not None and _is_less(new_ms, best_ms):
                    best, best_ms, best_taken = moved, new_ms, new_taken
            if best is not placed:
                plan[table], helped = best, True
                ms[:], taken[:] = best_ms, best_taken
        return helped

    def _swap(self, plan: list[Placed], names: Sequence[str], ms: Loads, taken: Loads) -> bool:
        """Swaps a table in one piece of the slowest rank with that of another one; False if that helps nowhere."""
        slowest = int(ms.argmax())
        whole = [
            table
            for table, placed in enumerate(plan)
            if names[table] in self._ways and len(placed.way.blocks) == 1 and len(placed.way.blocks[0].shards) == 1
        ]
        for table in whole:
            if plan[table].first_ranks[0] != slowest:
                continue
            for other in whole:
                rank = plan[other].first_ranks[0]
                less = plan[table].way.blocks[0].ms[0] - plan[other].way.blocks[0].ms[0]
                if not 0.0 < less < ms[slowest] - ms[rank]:
                    continue
                new_ms, new_taken = ms.copy(), taken.copy()
                pair = (plan[table]._replace(first_ranks=[rank]), plan[other]._replace(first_ranks=[slowest]))
                for sign, placements in ((-1.0, (plan[table], plan[other])), (1.0, pair)):
                    for placed in placements:
                        _add(placed, new_ms, new_taken, sign)
                if (new_taken <= self._rooms).all() and _is_less(new_ms, ms):
                    plan[table], plan[other] = pair
                    ms[:], taken[:] = new_ms, new_taken
                    return True
        return False

    def _place(self, way: Way, ms: Loads, taken: Loads) -> Placed | None:
        """On the ranks that are least slow then, added to their loads; None if there is no room."""
        first_ranks = []
        for block in way.blocks:
            size = len(block.shards)
            after = ms.reshape(-1, size) + block.ms
            fits = (taken.reshape(-1, size) + block.taken <= self._rooms.reshape(-1, size)).all(1)
            if not fits.any():
                return None
            first = int(numpy.where(fits, after.max(1), numpy.inf).argmin()) * size
            ms[first : first + size] += block.ms
            taken[first : first + size] += block.taken
            first_ranks.append(first)
        return Placed(way, first_ranks)

    def _placed(self, option: ShardingOption) -> Placed:
        way = self._way(option)
        return Placed(way, [block.shards[0].rank for block in way.blocks])

    def _way(self, option: ShardingOption) -> Way:
        of_columns: dict[int, list[Shard]] = {}
        for shard in option.shards:
            of_columns.setdefault(shard.offset[1], []).append(shard)
        return Way(
            option,
            [
                Block(
                    shards,
                    numpy.array([shard.perf.total for shard in shards]),
                    numpy.array([self._memory.shard_bytes(option, shard) for shard in shards], dtype=numpy.float64),
                )
                for shards in of_columns.values()
            ],
        )

    def _options(self, table: ModelTable, constraints: Constraints) -> list[ShardingOption]:
        """Options that TorchRec's planner chooses from, and columns of other widths. Table-column-wise shards are to be
        on one node, which blocks do not say; and columns of tables that are not pooled must not be cut one by one."""
        if table.is_only_cached():
            return []  # Caches are as the search chose them.
        replicas = table.may_be_replicated(constraints)
        columns = [] if table.is_pooled() else [COLUMN_WISE]
        made = [
            option
            for option in table.safe_options()
            if (option.compute_kernel == FUSED and option.sharding_type not in [TABLE_COLUMN_WISE, *columns])
            or (option.compute_kernel == DENSE and option.sharding_type == DATA_PARALLEL and replicas)
        ]
        if table.may_be_cut_by_columns():
            least = max(4, table.rules(constraints).min_width)
            ranks = len(self._rooms)
            for slices in range(2, ranks + 1):
                width = table.columns // slices
                if width * slices == table.columns and width % 4 == 0 and width >= least:
                    pieces = [Piece(width * place, width, 0, 0, table.rows) for place in range(slices)]
                    made.append(table.sharded(pieces))
        return made


def _option(placed: Placed) -> ShardingOption:
    """With ranks."""
    return with_shards(
        placed.way.option,
        [
            Shard(size=shard.size, offset=shard.offset, storage=shard.storage, perf=shard.perf, rank=rank)
            for block, first in zip(placed.way.blocks, placed.first_ranks)
            for rank, shard in enumerate(block.shards, first)
        ],
    )


def _add(placed: Placed, ms: Loads, taken: Loads, sign: float) -> None:
    for block, first in zip(placed.way.blocks, placed.first_ranks):
        ms[first : first + len(block.shards)] += sign * block.ms
        taken[first : first + len(block.shards)] += sign * block.taken


def _is_on(placed: Placed, rank: int) -> bool:
    blocks = zip(placed.way.blocks, placed.first_ranks)
    return any(first <= rank < first + len(block.shards) for block, first in blocks)


def _is_less(ms: Loads, than: Loads) -> bool:
    """Whether the slowest rank is faster, or just as fast and ranks are more even: by more than rounding."""
    slowest, was_slowest = ms.max(), than.max()
    if slowest < was_slowest * (1.0 - ROUNDING):
        return True
    return bool(slowest <= was_slowest and (ms @ ms) < (than @ than) * (1.0 - ROUNDING))
