"""Reads what a TorchRec model asks of a plan: its tables, as TorchRec's own enumerator finds them."""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from torch import nn
from torchrec.distributed.embedding_types import EmbeddingComputeKernel
from torchrec.distributed.planner.types import ParameterConstraints, Shard, ShardingOption
from torchrec.distributed.types import CacheAlgorithm, CacheParams, KeyValueParams, ShardingType
from torchrec.modules.embedding_configs import BaseEmbeddingConfig, DataType, EmbeddingBagConfig, PoolingType

from neuroshard._core import Table, TableRules
from neuroshard.errors import Error
from neuroshard.torchrec.wrappers import configs_in

TABLE_WISE = ShardingType.TABLE_WISE.value
COLUMN_WISE = ShardingType.COLUMN_WISE.value
ROW_WISE = ShardingType.ROW_WISE.value
TABLE_COLUMN_WISE = ShardingType.TABLE_COLUMN_WISE.value
TABLE_ROW_WISE = ShardingType.TABLE_ROW_WISE.value
GRID = ShardingType.GRID_SHARD.value
DATA_PARALLEL = ShardingType.DATA_PARALLEL.value

# The one that keeps a shard where its rank computes and updates it in the backward pass, as cost models have it.
FUSED = EmbeddingComputeKernel.FUSED.value

# The kernel of tables in host memory, whose rows are cached on the device.
CACHED = EmbeddingComputeKernel.FUSED_UVM_CACHING.value

# The kernel of tables on SSDs, with a cache in host memory and one on the device.
STORED = EmbeddingComputeKernel.KEY_VALUE.value

# Load factors of caches that TorchRec takes are over 0 and below 1.
LEAST_LOAD_FACTOR, MOST_LOAD_FACTOR = 1e-6, 0.999

# That of replicas, whose gradients are summed over the ranks.
DENSE = EmbeddingComputeKernel.DENSE.value

# The library's names.
WEIGHT_TYPES: Mapping[DataType, str] = {DataType.FP16: "fp16", DataType.BF16: "bf16", DataType.INT8: "int8"}

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
    """Path of its module in the model."""
    name: str
    collection: nn.Module
    """That the table is in: its module, or what that wraps."""
    config: BaseEmbeddingConfig | None
    """As the collection has it; None if it does not say."""
    min_partition: int = 0
    """Least width of its shards, unless constraints give one."""
    one_node: bool = False
    """Whether all ranks share one, so that table-column-wise sharding is column-wise sharding."""
    options: list[ShardingOption] = field(default_factory=list)
    given_rules: TableRules | None = None
    """On where it may be, by the user."""
    is_grouped: bool = False
    """Whether the user keeps it together with other tables, or apart from them."""
    load_factor: float | None = None
    """Share of its rows that its cache has room for, by the user. None: the search chooses."""

    @property
    def full_name(self) -> str:
        return f"{self.path}.{self.name}" if self.path else self.name

    def option(self, sharding_type: str) -> ShardingOption | None:
        """The one by the fused kernel, if there is one, or else a cached one as if all its rows were in HBM: cached()
        makes it one with a cache again."""
        of_type = {option.compute_kernel: option for option in self.options if option.sharding_type == sharding_type}
        if FUSED in of_type or CACHED not in of_type:
            return of_type.get(FUSED)
        in_hbm = copy(of_type[CACHED])
        in_hbm.compute_kernel = FUSED
        return in_hbm

    def safe_options(self) -> list[ShardingOption]:
        """Options whose outputs TorchRec computes right; all, if there is none."""
        by_rows = (ROW_WISE, TABLE_ROW_WISE, GRID) if self.pools_by_mean() else ()
        return [option for option in self.options if option.sharding_type not in by_rows] or self.options

    def refusal(self, constraints: Constraints, *, row_blocks: bool) -> str | None:
        """Why plans, with `row_blocks` or without, cannot hold this table; None if they can."""
        first = self.options[0]
        constraint = constraints.get(self.name)
        in_store = constraint is not None and (
            constraint.use_virtual_table or (constraint.key_value_params is not None and not self.may_be_stored())
        )
        config = self.config
        if in_store or (config is not None and config.use_virtual_table):
            return "it is kept in a key-value store (key_value_params, use_virtual_table)"
        if first.dependency is not None:
            return "it is part of an embedding tower"
        if not self.may_be_in_columns() and not (row_blocks and self.row_kinds()):
            offered = sorted({f"{option.sharding_type} by {option.compute_kernel}" for option in self.options})
            return "its sharder and constraints allow only " + ", ".join(offered)
        if self.columns % 4 != 0:
            return f"it has {self.columns} columns, not a multiple of 4"
        return None

    def column_option(self) -> ShardingOption | None:
        """The one that cuts it by columns, if there is one."""
        return self.option(COLUMN_WISE) or (self.option(TABLE_COLUMN_WISE) if self.one_node else None)

    def may_be_in_columns(self) -> bool:
        """Whether it may be whole, or in slices of columns."""
        return self.option(TABLE_WISE) is not None or self.column_option() is not None

    def may_be_cut_by_columns(self) -> bool:
        """Not what is not pooled: TorchRec's runtime cuts all such tables of a module to shards of one width, and whether
        it does is not for one table to say."""
        return self.is_pooled() and self.column_option() is not None

    def rules(
        self,
        constraints: Constraints,
        *,
        replicas: bool = False,
        row_blocks: bool = False,
        whole_columns: bool = False,
        narrow: bool = False,
        hosted: bool = False,
        cached: bool = False,
        stored: bool = False,
        load_factor: float | None = None,
    ) -> TableRules:
        """Rules for the search, whose plans TorchRec's kinds of sharding can then execute.

        `replicas`, `row_blocks`: whether the search may choose them. A table that may only be cut by rows has row blocks
        all the same.
        `whole_columns`: columns of this table are not cut. `narrow`: to any width that constraints allow.
        `hosted`: whether the task has host memory. There the rows of a table that may be nothing but cached may wait, and
        with `cached` those of others for which TorchRec offers that. `stored`: it has SSDs as well. `load_factor`: the
        share of them that a cache has room for; None: the one of the user.
        """
        in_host_alone = not stored or self.load_factor is not None
        may_wait = self.may_be_cached() if in_host_alone else self.may_wait_on_ssd()
        waits = hosted and (self.is_only_cached() or (cached and may_wait))
        hbm_share = (load_factor or self.load_factor or 0.0) if waits else 0.0
        kinds = ["table"] if self.may_be_in_columns() else []
        if self.may_be_cut_by_columns() and not whole_columns:
            kinds.append("column")
        if replicas and hbm_share == 0.0 and self.may_be_replicated(constraints):
            kinds.append("replicate")
        if row_blocks or not self.may_be_in_columns():
            kinds += [kind for kind in self.row_kinds() if not (kind == "grid" and whole_columns)]
        constraint = constraints.get(self.name)
        given_width = constraint.min_partition if constraint is not None else None
        width = given_width or (0 if narrow else self.min_partition)
        given = self.given_rules or TableRules()
        return TableRules(
            no_split=given.no_split,
            min_width=min(width, self.columns),
            max_slices=given.max_slices,
            devices=given.devices,
            not_devices=given.not_devices,
            nodes=given.nodes,
            not_nodes=given.not_nodes,
            kinds=[kind for kind in kinds if kind not in self._kinds_against_rules()],
            keep_in_hbm=given.keep_in_hbm or (hosted and not waits),
            hbm_share=0.0 if given.keep_in_hbm else hbm_share,
        )

    def is_ruled(self) -> bool:
        return self.is_grouped or self.given_rules is not None

    def argument_of_rules(self) -> str:
        """The planner's, for messages."""
        return "rules" if self.given_rules is not None else "keep_together, keep_apart"

    def _kinds_against_rules(self) -> set[str]:
        """Kinds that TorchRec executes on more ranks than the user's rules and groups allow."""
        given = self.given_rules or TableRules()
        if self.is_grouped or given.no_split or given.devices or given.not_devices:
            return {"row", "table_row", "grid", "replicate"}
        return {"row", "replicate"} if given.nodes or given.not_nodes else set()

    def may_be_replicated(self, constraints: Constraints) -> bool:
        """Whether the search may. A table that is not pooled only if constraints say so: FBGEMM 1.9's dense kernel for
        CPUs pools it all the same."""
        named = self.is_named(DATA_PARALLEL, constraints)
        return self._replica_option() is not None and (self.is_pooled() or named)

    def may_be_cached(self) -> bool:
        """Whether its rows may wait in host memory."""
        return any(option.compute_kernel == CACHED for option in self.options)

    def may_be_stored(self) -> bool:
        """Whether they may be in a store on an SSD."""
        return any(option.compute_kernel == STORED for option in self.options)

    def may_wait_on_ssd(self) -> bool:
        """Whether a search may put them there: rows of a cache whose size is given wait in host memory alone."""
        return self.may_be_stored() and self.load_factor is None

    def with_given_store(self, store: KeyValueParams) -> KeyValueParams:
        """`store` as the user wants it."""
        given = self.options[0].key_value_params or KeyValueParams()
        return replace(given, l2_cache_size=given.l2_cache_size or store.l2_cache_size)

    def is_only_cached(self) -> bool:
        """Whether they may be nowhere else."""
        kernels = {option.compute_kernel for option in self.options}
        return CACHED in kernels and not kernels & {FUSED, DENSE}

    def load_factor_for(self, hbm_share: float | None) -> float | None:
        """The load factor of its cache where HBM has room for `hbm_share` of its rows, or for all of them (None). None: it
        needs no cache."""
        if hbm_share is None and not self.is_only_cached():
            return None
        share = self.load_factor or (MOST_LOAD_FACTOR if hbm_share is None else hbm_share)
        return min(max(share, LEAST_LOAD_FACTOR), MOST_LOAD_FACTOR)

    def is_named(self, sharding_type: str, constraints: Constraints) -> bool:
        """Whether the table's constraints name this kind of sharding."""
        constraint = constraints.get(self.name)
        return sharding_type in ((constraint.sharding_types if constraint is not None else None) or [])

    def row_kinds(self) -> list[str]:
        """The library's names of the kinds by which TorchRec could execute row blocks."""
        if self.pools_by_mean():
            return []
        names = {ROW_WISE: "row", TABLE_ROW_WISE: "table_row", GRID: "grid"}
        return [name for kind, name in names.items() if self.option(kind) is not None]

    def refusal_of(self, pieces: list[Piece], constraints: Constraints) -> str | None:
        """Why this table cannot be cut into `pieces`; None if it can."""
        if len(pieces) == 1 and self.may_be_in_columns():
            return None
        if self.has_row_blocks(pieces) or not self.may_be_in_columns():
            if self.by_rows(pieces) is not None and not self.pools_by_mean():
                return None
            if not self.has_row_blocks(pieces):
                return "its sharder and constraints let its rows be cut only, and the plan does not cut them"
            return self._refusal_of_rows(pieces)
        if not self.may_be_cut_by_columns():
            why = "its sharder and constraints forbid column-wise sharding" if self.is_pooled() else "it is not pooled"
            return f"{why}, and the plan splits it"
        constraint = constraints.get(self.name)
        least = constraint.min_partition if constraint is not None else None
        narrowest = min(piece.columns for piece in pieces)
        if least is not None and narrowest < least:
            return f"min_partition is {least}, and the plan has shards of {narrowest} columns"
        return None

    @property
    def rows(self) -> int:
        return int(self.options[0].tensor.shape[0])

    @property
    def columns(self) -> int:
        return int(self.options[0].tensor.shape[1])

    def has_row_blocks(self, pieces: list[Piece]) -> bool:
        return any(piece.rows != self.rows for piece in pieces)

    def by_rows(self, pieces: list[Piece]) -> ShardingOption | None:
        """The option that cuts the table into row blocks `pieces`, on their ranks; None if there is none.

        TorchRec's runtime looks rows up by the size of a block, so the blocks have to be those of its own
        enumerator: row-wise over all ranks in order, or table-row-wise over those of one node; or a grid, in which
        nodes hold slices of columns in such blocks.
        """
        of_columns: dict[tuple[int, int], list[Piece]] = {}
        for piece in sorted(pieces):
            of_columns.setdefault((piece.first_column, piece.columns), []).append(piece)
        kinds = (ROW_WISE, TABLE_ROW_WISE, GRID) if len(of_columns) == 1 else (GRID,)
        for sharding_type in kinds:
            option = self.option(sharding_type)
            if option is None:
                continue
            # Blocks of a grid are the same in each slice of columns. The last may be empty, and no pieces.
            blocks = [(shard.offset[0], shard.size[0]) for shard in option.shards if shard.offset[1] == 0]
            shards: list[Shard] = []
            for (first_column, columns), of_slice in of_columns.items():
                in_order = sorted(of_slice, key=lambda piece: piece.first_row)
                if [(piece.first_row, piece.rows) for piece in in_order] != [block for block in blocks if block[1] > 0]:
                    break
                first_rank = 0 if sharding_type == ROW_WISE else in_order[0].rank // len(blocks) * len(blocks)
                if [piece.rank for piece in in_order] != list(range(first_rank, first_rank + len(in_order))):
                    break
                shards += [
                    Shard(size=[rows, columns], offset=[first_row, first_column], rank=rank)
                    for rank, (first_row, rows) in enumerate(blocks, first_rank)
                ]
            else:
                return with_shards(option, shards)
        return None

    def in_rows(self) -> ShardingOption:
        """Option of a table that may only be in row blocks: in some, on no ranks, without estimates."""
        option = self.option(ROW_WISE) or self.option(TABLE_ROW_WISE) or self.option(GRID)
        assert option is not None
        return with_shards(option, [Shard(size=shard.size, offset=shard.offset) for shard in option.shards])

    def refusal_of_replicas(self) -> str | None:
        """Why the table cannot be on every rank; None if it can."""
        if self._replica_option() is not None:
            return None
        return "its sharder and constraints forbid data-parallel, and the plan replicates it"

    def replicated(self) -> ShardingOption:
        """The option that puts the table on every rank, which it may be (refusal_of_replicas), without estimates."""
        option = self._replica_option()
        assert option is not None
        return with_shards(
            option,
            [Shard(size=[self.rows, self.columns], offset=[0, 0], rank=rank) for rank in range(len(option.shards))],
        )

    def _replica_option(self) -> ShardingOption | None:
        for option in self.options:
            if option.sharding_type == DATA_PARALLEL and option.compute_kernel == DENSE:
                return option
        return None

    def is_grid(self, pieces: list[Piece]) -> bool:
        """Whether `pieces` cut rows and columns."""
        return self.has_row_blocks(pieces) and any(piece.columns != self.columns for piece in pieces)

    def _refusal_of_rows(self, pieces: list[Piece]) -> str:
        """Why TorchRec cannot cut the table into the row blocks `pieces`."""
        if self.pools_by_mean():
            return "it pools by mean, which TorchRec computes wrongly of rows on several ranks"
        offered = [kind for kind in (ROW_WISE, TABLE_ROW_WISE, GRID) if self.option(kind) is not None]
        if self.is_grid(pieces) and GRID not in offered:
            return "the plan cuts it by rows and columns, and its sharder and constraints forbid grid_shard"
        if not offered:
            return "its sharder and constraints forbid row-wise and table-row-wise sharding, and the plan cuts its rows"
        return (
            "TorchRec cuts rows in equal blocks, one on each rank in order (row_wise) or on each rank of one node "
            "(table_row_wise, and grid_shard for each slice of columns), and the plan cuts them otherwise; "
            f"allowed here: {', '.join(offered)}"
        )

    def lookups_per_sample(self, constraints: Constraints) -> float:
        """Lookups of all features together: the pooling factor of the table."""
        lengths = self._of_features("pooling_factors", self.options[0].input_lengths)
        return sum(length * bags for length, bags in zip(lengths, self._bags_of_features(constraints)))

    def bags(self, constraints: Constraints) -> float:
        """Per sample: one for each pooling of each feature."""
        return sum(self._bags_of_features(constraints))

    def _bags_of_features(self, constraints: Constraints) -> list[float]:
        """Poolings of each feature per sample of the model's batch: features of larger batches have more."""
        constraint = constraints.get(self.name)
        batch = self.options[0].batch_size
        poolings = constraint.num_poolings if constraint is not None else None
        batches = constraint.batch_sizes if constraint is not None else None
        return [
            poolings_of_one * batch_of_one / batch
            for poolings_of_one, batch_of_one in zip(
                self._of_features("num_poolings", poolings or [1.0]), self._of_features("batch_sizes", batches or [batch])
            )
        ]

    def _of_features(self, setting: str, figures: Sequence[float]) -> list[float]:
        """One figure for several features is that of each. Tables whose module says nothing of features have as many
        as they have pooling factors."""
        features = self.features() if self.config is not None else len(self.options[0].input_lengths)
        if len(figures) == 1:
            return list(figures) * features
        if len(figures) != features:
            raise Error(
                f"constraints: {setting} of table {self.full_name} has {len(figures)} numbers for {features} features; "
                "give one for each, or one for all"
            )
        return list(figures)

    def features(self) -> int:
        """How many features are looked up in the table, as its module says; 1 if it does not."""
        config = self.config
        return 1 if config is None else max(1, len(config.feature_names))

    def is_pooled(self) -> bool:
        return bool(self.options[0].is_pooled)

    def pools_by_mean(self) -> bool:
        config = self.config
        return isinstance(config, EmbeddingBagConfig) and config.pooling == PoolingType.MEAN

    def is_weighted(self, constraints: Constraints) -> bool:
        """Whether numbers come with its ids by which rows are multiplied: as its collection says, else constraints."""
        if not self.is_pooled():
            return False
        constraint = constraints.get(self.name)
        says = getattr(self.collection, "is_weighted", None)
        of_module = says() if callable(says) else constraint is not None and constraint.is_weighted
        return bool(of_module or self.options[0].has_feature_processor)

    def table(
        self, constraints: Constraints, access_histograms: AccessHistograms, rules: TableRules | None = None
    ) -> Table:
        """As the search sees it."""
        return Table(
            rows=self.rows,
            dim=self.columns,
            pooling_factor=self.lookups_per_sample(constraints),
            features=self.bags(constraints),
            pooling="mean" if self.pools_by_mean() else "sum" if self.is_pooled() else "none",
            weighted=self.is_weighted(constraints),
            access_histogram=access_histograms.get(self.full_name, access_histograms.get(self.name)),
            name=self.full_name,
            weight_type=self._weight_type(),
            rules=rules,
        )

    def _weight_type(self) -> str:
        """Weight type; other types than the library's count as fp32, which takes no less."""
        config = self.config
        return WEIGHT_TYPES.get(config.data_type, "fp32") if config is not None else "fp32"

    def sharded(self, pieces: list[Piece]) -> ShardingOption:
        """The option that cuts the table into `pieces`, which it may be (refusal_of), without estimates."""
        in_blocks = self.has_row_blocks(pieces) or not self.may_be_in_columns()
        by_rows = self.by_rows(pieces) if in_blocks else None
        if by_rows is not None:
            return by_rows
        # Whole tables may be allowed as columns only.
        option = (self.option(TABLE_WISE) if len(pieces) == 1 else None) or self.column_option()
        assert option is not None
        return with_shards(
            option,
            [
                Shard(size=[self.rows, piece.columns], offset=[0, piece.first_column], rank=piece.rank)
                for piece in sorted(pieces)
            ],
        )


def cached(option: ShardingOption, load_factor: float, store: KeyValueParams | None = None) -> ShardingOption:
    """`option`, without estimates, with its rows in host memory, or in a `store` on an SSD, and so large a share of them
    in a cache."""
    made = copy(option)
    made.compute_kernel = CACHED if store is None else STORED
    made.key_value_params = store
    given = option.cache_params or CacheParams()
    made.cache_params = replace(given, algorithm=given.algorithm or CacheAlgorithm.LRU, load_factor=load_factor)
    return made


def wrong_means(options: Iterable[ShardingOption], tables: Iterable[ModelTable]) -> list[str]:
    """Tables of which TorchRec's runtime (1.9) computes wrong means if sharded by `options`.

    It sums the row blocks of tables that pool by mean and then divides all outputs of the module by their numbers of
    lookups, those of other kinds of sharding as well; and of grids it sums means of blocks.
    """
    by_mean = {(table.path, table.name) for table in tables if table.pools_by_mean()}
    of_module: dict[str, list[ShardingOption]] = {}
    for option in options:
        of_module.setdefault(option.path, []).append(option)
    wrong: list[str] = []
    for of_path in of_module.values():
        divided = any(o.sharding_type in (ROW_WISE, TABLE_ROW_WISE) and (o.path, o.name) in by_mean for o in of_path)
        for option in of_path:
            in_blocks = option.sharding_type in (ROW_WISE, TABLE_ROW_WISE)
            grid = option.sharding_type == GRID and (option.path, option.name) in by_mean
            if grid or (divided and not in_blocks):
                wrong.append(option.fqn)
    return sorted(wrong)


def full_name(option: ShardingOption) -> str:
    """The one that ModelTable.full_name has."""
    return f"{option.path}.{option.name}" if option.path else option.name


def with_shards(option: ShardingOption, shards: list[Shard]) -> ShardingOption:
    """A copy of `option` that has these shards. Its own may be many, and are not copied."""
    copied = copy(option)
    copied.shards = []
    copied = deepcopy(copied)
    copied.shards = shards
    return copied


def with_ranks(option: ShardingOption, ranks: Sequence[int]) -> ShardingOption:
    """`option` with its estimates, but shards on other ranks."""
    moved = copy(option)
    moved.shards = [
        Shard(size=shard.size, offset=shard.offset, storage=shard.storage, perf=shard.perf, rank=rank)
        for shard, rank in zip(option.shards, ranks)
    ]
    return moved


def model_tables(
    options: Iterable[ShardingOption], *, min_partition: int = 0, one_node: bool = False
) -> list[ModelTable]:
    """The tables of which `options`, what an enumerator returned, speak: in order."""
    tables: dict[tuple[str, str], ModelTable] = {}
    configs: dict[str, dict[str, tuple[nn.Module, BaseEmbeddingConfig]]] = {}
    for option in options:
        key = (option.path, option.name)
        if key not in tables:
            module = option.module[1]
            if option.path not in configs:
                configs[option.path] = configs_in(module)
            collection, config = configs[option.path].get(option.name, (module, None))
            tables[key] = ModelTable(
                *key, collection, config, min_partition, one_node, load_factor=option.cache_load_factor
            )
        tables[key].options.append(option)
    return list(tables.values())
