"""Plans by TorchRec's own planner, of some or all tables of a model."""

from collections.abc import Sequence
from copy import deepcopy

from torch import nn
from torchrec.distributed.planner.planners import EmbeddingShardingPlanner
from torchrec.distributed.planner.types import (
    Enumerator,
    ParameterConstraints,
    ShardingOption,
    StorageReservation,
    Topology,
)
from torchrec.distributed.types import ModuleSharder

from neuroshard.torchrec.enumerators import NothingButThese, estimate_times
from neuroshard.torchrec.model_tables import ModelTable


def plan_by_torchrec(
    tables: Sequence[ModelTable],
    sharders: list[ModuleSharder[nn.Module]],
    *,
    topology: Topology,
    available: Topology,
    batch_size: int,
    enumerator: Enumerator,
    constraints: dict[str, ParameterConstraints] | None,
    timeout_seconds: int | None,
) -> list[ShardingOption]:
    """An option for each of `tables`, with ranks. `available`: what reservations leave of `topology`. Raises PlannerError
    if TorchRec's planner finds no plan."""
    options = [option for table in tables for option in table.safe_options()]
    if not options:
        return []
    estimate_times(options, enumerator)
    planner = EmbeddingShardingPlanner(
        topology=topology,
        batch_size=batch_size,
        enumerator=NothingButThese(options, enumerator),
        storage_reservation=AlreadyReserved(deepcopy(available)),
        stats=[],
        constraints=constraints,
        debug=False,
        timeout_seconds=timeout_seconds,
    )
    # The model is in `options`. Of a module, the planner only says which parts its plan misses: those that are ours.
    planner.plan(nn.Module(), sharders)
    selected: list[ShardingOption] = planner.get_selected_options()
    return selected


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
