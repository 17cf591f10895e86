"""Plans of the library as plans of TorchRec, and back."""

from collections.abc import Sequence, Set

from torch import nn
from torchrec.distributed.planner.enumerators import EmbeddingEnumerator
from torchrec.distributed.planner.planners import to_sharding_plan as sharding_plan_of_options
from torchrec.distributed.planner.types import ShardingOption, Topology
from torchrec.distributed.sharding_plan import get_default_sharders
from torchrec.distributed.types import EnumerableShardingSpec, KeyValueParams, ModuleSharder, ShardingPlan

from neuroshard._core import Plan, Task, TableSlice, hbm_shares, slices_by_device, ssd_shares
from neuroshard.errors import Error
from neuroshard.placed_slices import PlacedSlice, plan_from_slices
from neuroshard.torchrec.model_tables import (
    DATA_PARALLEL,
    FUSED,
    STORED,
    Constraints,
    Piece,
    cached,
    model_tables,
)


def pieces_by_table(task: Task, plan: Plan) -> list[list[Piece]]:
    """Pieces of each table of `task`, from left to right, and from top to bottom; none of one that is replicated."""
    pieces: list[list[Piece]] = [[] for _ in range(len(task))]
    for device, slices in enumerate(slices_by_device(task, plan)):
        for piece in slices:
            pieces[piece.table].append(Piece(piece.first_column, piece.dim, device, piece.first_row, piece.rows))
    return [sorted(of_table, key=lambda piece: (piece.first_column, piece.first_row)) for of_table in pieces]


def to_sharding_plan(
    task: Task,
    plan: Plan,
    module: nn.Module,
    *,
    topology: Topology,
    sharders: Sequence[ModuleSharder[nn.Module]] | None = None,
    constraints: Constraints | None = None,
) -> ShardingPlan:
    """`plan` as DistributedModelParallel takes it.

    Tables of `task` are those of `module` by name: path of the module, a dot, name of the table.
    Tables that the plan cuts by rows become row-wise or table-row-wise ones, or grids, if these are the blocks
    into which TorchRec cuts them; those that it replicates are data-parallel. Tables of which rows wait in host memory
    are cached (fused_uvm_caching), and those of which rows wait on SSDs are in a store there (key_value) if `constraints`
    offer that. Raises Error if a table is missing on either side, or cannot be sharded as planned.
    """
    constraints = constraints or {}
    load_factors = cache_load_factors(task, plan, topology)
    stored = {piece.table for piece, share in zip(plan.slices, ssd_shares(task, plan)) if share > 0.0}
    store = store_of(task, plan, stored)
    enumerator = EmbeddingEnumerator(topology=topology, batch_size=1, constraints=dict(constraints))
    found = model_tables(enumerator.enumerate(module, list(sharders or get_default_sharders())))
    in_model = {table.full_name: table for table in found}
    in_task = {table.name: index for index, table in enumerate(task.tables)}
    for names, others, where in ((in_task, in_model, "module"), (in_model, in_task, "task")):
        missing = sorted(set(names) - set(others))
        if missing:
            raise Error(f"plan: the {where} has no table {', '.join(missing)}; give the {where} that it is for")
    for index in plan.deduplicated:
        raise Error(
            f"plan: ids of table {task.tables[index].name} are deduplicated, which TorchRec does for all tables of an "
            "EmbeddingCollection or none; plan without deduplicate_by_table of exchange"
        )
    for index, _ in plan.hot_rows + plan.node_rows:
        raise Error(
            f"plan: hot rows of table {task.tables[index].name} are on every device or node, which TorchRec cannot do; "
            "plan without hot_rows of exchange"
        )
    pieces = pieces_by_table(task, plan)
    options = []
    for name, table in in_model.items():
        index = in_task[name]
        shape, planned = tuple(table.options[0].tensor.shape), task.tables[index]
        if shape[1] != planned.dim:
            raise Error(f"plan: table {name} has {shape[1]} columns in the module and {planned.dim} in the task")
        if index in plan.replicas:
            refusal = table.refusal_of_replicas()
            if refusal is not None:
                raise Error(f"plan: table {name} cannot be sharded as planned: {refusal}")
            options.append(table.replicated())
            continue
        cut_by_rows = any(piece.rows != planned.rows for piece in pieces[index])
        if cut_by_rows and shape[0] != planned.rows:
            raise Error(f"plan: table {name} has {shape[0]} rows in the module and {planned.rows} in the task")
        widths: dict[int, set[int]] = {}
        for piece in pieces[index]:
            widths.setdefault(piece.rank, set()).add(piece.columns)
        for rank, of_rank in widths.items():
            if len(of_rank) > 1:
                cut = " and ".join(map(str, sorted(of_rank)))
                why = "which TorchRec cannot hold; plan with equal_widths (--equal-widths)"
                raise Error(f"plan: table {name} has shards of {cut} columns on rank {rank}, {why}")
        of_table = [piece if cut_by_rows else piece._replace(rows=shape[0]) for piece in pieces[index]]
        refusal = table.refusal(constraints, row_blocks=True) or table.refusal_of(of_table, constraints)
        if refusal is not None:
            raise Error(f"plan: table {name} cannot be sharded as planned: {refusal}")
        option = table.sharded(of_table)
        load_factor = table.load_factor_for(load_factors.get(index))
        if index in stored and not table.may_be_stored():
            raise Error(
                f"plan: rows of table {name} wait on an SSD, but the table may not be there; let compute_kernels of its "
                f'constraints have "{STORED}" beside "{FUSED}", and the topology ssd_cap'
            )
        of_ssd = table.with_given_store(store) if index in stored else None
        options.append(option if load_factor is None else cached(option, load_factor, of_ssd))
    return sharding_plan_of_options(options, topology)


def cache_load_factors(task: Task, plan: Plan, topology: Topology) -> dict[int, float]:
    """Shares of rows that fit into HBM, over all slices, for tables whose rows do not all fit, by number. TorchRec has
    one for a table, and FBGEMM one for all tables of an operator. Raises Error if TorchRec cannot do so."""
    taken: dict[int, float] = {}
    size: dict[int, float] = {}
    for piece, share in zip(plan.slices, hbm_shares(task, plan)):
        elements = float(piece.rows * piece.dim)
        taken[piece.table] = taken.get(piece.table, 0.0) + share * elements
        size[piece.table] = size.get(piece.table, 0.0) + elements
    factors = {table: taken[table] / size[table] for table in size if taken[table] < size[table]}
    host = task.host_memory
    if not factors or host is None:
        return {}
    if host.policy != "lru":
        raise Error(f'plan: rows are in host memory by the policy "{host.policy}", but TorchRec has caches; use "lru"')
    if topology.compute_device == "cpu":
        raise Error("plan: rows are in host memory, and TorchRec caches them on GPUs alone; plan without host_memory")
    return factors


def store_of(task: Task, plan: Plan, stored: Set[int]) -> KeyValueParams:
    """The store of tables `stored` on SSDs: it has one cache in the host's memory of a rank, of whole GiB, as much as
    rows of these tables have there on the rank that has least for them."""
    shares = zip(hbm_shares(task, plan), ssd_shares(task, plan))
    elsewhere = [1.0 - in_hbm - on_ssd for in_hbm, on_ssd in shares]
    in_hosts = []
    for shard in plan.shards:
        pieces = [(plan.slices[index], elsewhere[index]) for index in shard if plan.slices[index].table in stored]
        if pieces:
            in_hosts.append(sum(share * bytes_of(task, piece) for piece, share in pieces))
    # Shares are rounded.
    gib = int(round(min(in_hosts, default=0.0) / 2**30, 3))
    return KeyValueParams(l2_cache_size=gib or None)


def bytes_of(task: Task, piece: TableSlice) -> float:
    """Weights and state of the optimizer, and about as many of its buffers as it has cells of the table."""
    table = task.tables[piece.table]
    return table.size_bytes * (piece.rows / table.rows) * (piece.dim / table.dim)


def from_sharding_plan(sharding_plan: ShardingPlan, task: Task) -> Plan:
    """Turns a TorchRec plan into one to be judged by simulate().

    Tables are those of `task` by name, as in to_sharding_plan(). Shards may be columns of any widths, row
    blocks (row-wise, table-row-wise), or both (grid); data-parallel tables are replicas. Raises Error if it has a
    width that is not a multiple of 4.
    """
    indices = {table.name: index for index, table in enumerate(task.tables)}
    slices: list[PlacedSlice] = []
    replicas: list[int] = []
    seen: set[str] = set()
    for path, module_plan in sharding_plan.plan.items():
        for table_name, sharding in module_plan.items():
            name = f"{path}.{table_name}" if path else table_name
            if name not in indices:
                raise Error(f"sharding plan: table {name} is not among those of the task; give the plan's task")
            seen.add(name)
            index = indices[name]
            spec = sharding.sharding_spec
            if sharding.sharding_type == DATA_PARALLEL:
                replicas.append(index)
                continue
            if not isinstance(spec, EnumerableShardingSpec):
                raise Error(f"sharding plan: table {name} is {sharding.sharding_type}: it has no shards")
            for shard in spec.shards:
                slices += placed_slice(index, shard.shard_offsets, shard.shard_sizes, shard.placement.rank())
    missing = sorted(set(indices) - seen)
    if missing:
        raise Error(f"sharding plan: has no table {', '.join(missing)}; give the plan's task")
    return plan_from_slices(task, slices, replicas)


def plan_of_options(options: Sequence[ShardingOption], task: Task) -> Plan:
    """Plan by `options`, one for each table of `task` in order."""
    slices: list[PlacedSlice] = []
    replicas: list[int] = []
    for index, option in enumerate(options):
        if option.sharding_type == DATA_PARALLEL:
            replicas.append(index)
            continue
        for shard in option.shards:
            slices += placed_slice(index, shard.offset, shard.size, shard.rank)
    return plan_from_slices(task, slices, replicas)


def placed_slice(table: int, offset: Sequence[int], size: Sequence[int], rank: int) -> list[PlacedSlice]:
    """A shard as a slice; none if it is empty, as the last ones of tables are that row blocks do not divide."""
    (first_row, first_column), (rows, columns) = offset, size
    return [(rank, table, first_column, columns, first_row, rows)] if rows > 0 else []
