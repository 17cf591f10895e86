"""What a TorchRec model asks of a plan: its tables, as TorchRec's own enumerator finds them."""

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import NamedTuple

from torchrec.distributed.embedding_types import EmbeddingComputeKernel
from torchrec.distributed.planner.types import ParameterConstraints, Shard, ShardingOption
from torchrec.distributed.types import ShardingType
from torchrec.modules.embedding_modules import EmbeddingBagCollectionInterface

from neuroshard._core import Table

TABLE_WISE = ShardingType.TABLE_WISE.value
COLUMN_WISE = ShardingType.COLUMN_WISE.value
ROW_WISE = ShardingType.ROW_WISE.value
TABLE_ROW_WISE = ShardingType.TABLE_ROW_WISE.value

# The one that keeps a shard where its rank computes and updates it in the backward pass, as cost models have it.
FUSED = EmbeddingComputeKernel.FUSED.value

Constraints = Mapping[str, ParameterConstraints]

# By path of the module, a dot, name of the table; or by the latter, for all tables of this name.
AccessHistograms = Mapping[str, Sequence[float]]


class Piece(NamedTuple):
    """A slice of a table, and who holds it."""

    first_column: int
    columns: int
    rank: int
    first_row: int
    rows: int


@dataclass
class ModelTable:
    """An embedding table of a model and the ways in which TorchRec could shard it."""

    path: str
    """Of its module in the model."""
    name: str
    options: list[ShardingOption] = field(default_factory=list)

    @property
    def full_name(self) -> str:
        return f"{self.path}.{self.name}" if self.path else self.name

    def option(self, sharding_type: str) -> ShardingOption | None:
        """The one by the fused kernel, if there is one."""
        for option in self.options:
            if option.sharding_type == sharding_type and option.compute_kernel == FUSED:
                return option
        return None

    def refusal(self, constraints: Constraints) -> str | None:
        """Why plans cannot hold this table; None if they can."""
        first = self.options[0]
        constraint = constraints.get(self.name)
        if not first.is_pooled:
            return "it is not pooled, and cost models know pooled embeddings"
        if constraint is not None and (constraint.key_value_params is not None or constraint.use_virtual_table):
            return "it is kept in a key-value store"
        if first.dependency is not None:
            return "it is part of an embedding tower"
        if self.option(TABLE_WISE) is None and self.option(COLUMN_WISE) is None:
            offered = sorted({f"{option.sharding_type} by {option.compute_kernel}" for option in self.options})
            return "its sharder and constraints allow only " + ", ".join(offered)
        if first.tensor.shape[1] % 4 != 0:
            return f"it has {first.tensor.shape[1]} columns, not a multiple of 4"
        return None

    def refusal_of(self, pieces: list[Piece], constraints: Constraints) -> str | None:
        """Why this table cannot be cut into `pieces`; None if it can."""
        if len(pieces) == 1:
            return None
        if any(piece.rows != self.rows for piece in pieces):
            return None if self.by_rows(pieces) is not None else self.refusal_of_rows(pieces)
        if self.option(COLUMN_WISE) is None:
            return "its sharder and constraints forbid column-wise sharding, and the best plan splits it"
        constraint = constraints.get(self.name)
        least = constraint.min_partition if constraint is not None else None
        narrowest = min(piece.columns for piece in pieces)
        if least is not None and narrowest < least:
            return f"min_partition is {least}, and the best plan has shards of {narrowest} columns"
        return None

    @property
    def rows(self) -> int:
        return int(self.options[0].tensor.shape[0])

    def by_rows(self, pieces: list[Piece]) -> ShardingOption | None:
        """The option that cuts the table into row blocks `pieces`, on their ranks; None if there is none.

        TorchRec's runtime looks rows up by the size of a block, so the blocks have to be those of its own
        enumerator: row-wise over all ranks in order, or table-row-wise over those of one node.
        """
        columns = int(self.options[0].tensor.shape[1])
        for sharding_type in (ROW_WISE, TABLE_ROW_WISE):
            option = self.option(sharding_type)
            if option is None:
                continue
            # Where rows do not suffice, the last shards are empty, and no pieces.
            blocks = [(shard.offset[0], shard.size[0]) for shard in option.shards]
            in_order = sorted(pieces, key=lambda piece: piece.first_row)
            if [(p.first_row, p.rows) for p in in_order] != [block for block in blocks if block[1] > 0]:
                continue
            if any(piece.first_column != 0 or piece.columns != columns for piece in pieces):
                continue
            first_rank = 0 if sharding_type == ROW_WISE else in_order[0].rank // len(blocks) * len(blocks)
            if [piece.rank for piece in in_order] != list(range(first_rank, first_rank + len(in_order))):
                continue
            chosen = deepcopy(option)
            for rank, shard in enumerate(chosen.shards, first_rank):
                shard.rank = rank
            return chosen
        return None

    def refusal_of_rows(self, pieces: list[Piece]) -> str:
        """Why by_rows() has none for `pieces`."""
        columns = int(self.options[0].tensor.shape[1])
        if any(piece.columns != columns for piece in pieces):
            return "the plan cuts it by rows and columns, and only one of them can be handed over"
        offered = [kind for kind in (ROW_WISE, TABLE_ROW_WISE) if self.option(kind) is not None]
        if not offered:
            return "its sharder and constraints forbid row-wise and table-row-wise sharding, and the plan cuts its rows"
        return (
            "TorchRec cuts rows in equal blocks, one on each rank in order (row_wise) or on each rank of one node "
            f"(table_row_wise), and the plan cuts them otherwise; allowed here: {', '.join(offered)}"
        )

    def lookups_per_sample(self, constraints: Constraints) -> float:
        """Of all features together: the pooling factor of the table."""
        lengths = self.options[0].input_lengths
        constraint = constraints.get(self.name)
        poolings = constraint.num_poolings if constraint is not None else None
        lookups = sum(length * times for length, times in zip(lengths, poolings or [1.0] * len(lengths)))
        # One figure for several features is that of each.
        return float(lookups * (self.features() if len(lengths) == 1 else 1))

    def features(self) -> int:
        """How many features are looked up in the table, as its module says; 1 if it does not."""
        module = self.options[0].module[1]
        if isinstance(module, EmbeddingBagCollectionInterface):
            for config in module.embedding_bag_configs():
                if config.name == self.name:
                    return max(1, len(config.feature_names))
        return 1

    def table(self, constraints: Constraints, access_histograms: AccessHistograms) -> Table:
        """As the search sees it."""
        shape = self.options[0].tensor.shape
        return Table(
            rows=int(shape[0]),
            dim=int(shape[1]),
            pooling_factor=self.lookups_per_sample(constraints),
            access_histogram=access_histograms.get(self.full_name, access_histograms.get(self.name)),
            name=self.full_name,
        )

    def sharded(self, pieces: list[Piece]) -> ShardingOption:
        """The option that cuts the table into `pieces`, which it may be (refusal_of), without estimates."""
        by_rows = self.by_rows(pieces) if any(piece.rows != self.rows for piece in pieces) else None
        if by_rows is not None:
            return by_rows
        pieces = sorted(pieces)
        # Whole tables may be allowed as columns only.
        option = (self.option(TABLE_WISE) if len(pieces) == 1 else None) or self.option(COLUMN_WISE)
        assert option is not None
        rows = int(option.tensor.shape[0])
        chosen = deepcopy(option)
        chosen.shards = [
            Shard(size=[rows, piece.columns], offset=[0, piece.first_column], rank=piece.rank) for piece in pieces
        ]
        return chosen


def model_tables(options: Iterable[ShardingOption]) -> list[ModelTable]:
    """The tables of which `options`, what an enumerator returned, speak: in order."""
    tables: dict[tuple[str, str], ModelTable] = {}
    for option in options:
        key = (option.path, option.name)
        tables.setdefault(key, ModelTable(*key)).options.append(option)
    return list(tables.values())
