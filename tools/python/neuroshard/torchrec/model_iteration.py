"""Reads what costs are of, beside tables and memory."""

from collections.abc import Sequence

from torch import nn
from torchrec.distributed.planner.types import PlannerError, PlannerErrorType, Topology
from torchrec.distributed.types import ModuleSharder

from neuroshard._core import DEFAULT_BATCH_SIZE, MAX_PRICED_BATCH, MIN_PRICED_BATCH, ExchangeTypes, Overlap, Weights
from neuroshard.errors import Error
from neuroshard.torchrec.exchange import exchange_of
from neuroshard.torchrec.hardware import host_memory_of, links_of, speed_of
from neuroshard.torchrec.model_tables import Constraints, ModelTable
from neuroshard.torchrec.settings import prefetches
from neuroshard.torchrec.table_search import Iteration
from neuroshard.torchrec.warned_once import WarnedOnce


def iteration_of(
    tables: Sequence[ModelTable],
    sharders: Sequence[ModuleSharder[nn.Module]],
    *,
    topology: Topology,
    constraints: Constraints,
    weights: Weights,
    batch_size: int | None,
    exchange: ExchangeTypes | None,
    overlap: Overlap,
    fixed: bool,
    warned: WarnedOnce,
) -> Iteration:
    """Reads what the model, its sharders and the topology say of an iteration, as far as the weights can price
    it."""
    usual = Iteration(topology.intra_group_size, overlap=overlap)
    try:
        ahead = prefetches(sharders, constraints)
        usual = usual._replace(host_memory=host_memory_of(topology, prefetch=ahead))
        if any(table.may_be_stored() for table in tables):
            usual = usual._replace(with_ssd=host_memory_of(topology, prefetch=ahead, ssd=True))
        exchange = exchange or exchange_of(tables, sharders, constraints)
        speed = speed_of(topology, weights)
        iteration = usual._replace(links=links_of(topology), speed=speed or 1.0, exchange=exchange)
    except Error as error:
        raise PlannerError(str(error), PlannerErrorType.INPUT_VALIDATION) from error
    if speed is None:
        warned.unused(["topology.hbm_mem_bw (the weights name no hardware with a datasheet to compare with)"])
    if batch_size is not None:
        of_all = batch_size * topology.world_size
        samples = min(max(of_all, MIN_PRICED_BATCH), MAX_PRICED_BATCH)
        if samples != of_all:
            warned.warn(f"neuroshard predicts costs for {samples:,} samples, not for the {of_all:,} of all ranks")
        iteration = iteration._replace(batch_size=samples)
    if fixed and iteration != usual:
        warned.warn(
            "neuroshard predicts costs of %s as those of fp32 values, 64-bit ids, %s samples and TorchRec's "
            "bandwidths: the weights are trained on TorchRec's estimates of these" % (exchange, f"{DEFAULT_BATCH_SIZE:,}")
        )
        return usual
    return iteration
