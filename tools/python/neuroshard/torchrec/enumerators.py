"""Enumerators: what finds the options of a model."""

from torch import nn
from torchrec.distributed.planner.constants import DEFAULT_PERF_ESTIMATOR
from torchrec.distributed.planner.enumerators import EmbeddingEnumerator
from torchrec.distributed.planner.estimator import EmbeddingPerfEstimatorFactory
from torchrec.distributed.planner.shard_estimators import EmbeddingStorageEstimator
from torchrec.distributed.planner.types import Enumerator, ParameterConstraints, ShardingOption, Topology
from torchrec.distributed.types import ModuleSharder

from neuroshard.errors import Error
from neuroshard.torchrec.model_tables import Constraints


class QuickEnumerator(EmbeddingEnumerator):
    """TorchRec's, but for times: of the options of a model it estimates storage alone.

    Estimates of the time of every shard of every option take nine tenths of the time of a plan, and the search has
    costs of its own.
    """

    def __init__(self, topology: Topology, batch_size: int, constraints: Constraints | None) -> None:
        given = None if constraints is None else dict(constraints)
        super().__init__(
            topology=topology,
            batch_size=batch_size,
            constraints=given,
            estimator=EmbeddingStorageEstimator(topology=topology, constraints=given),
        )
        self._times = EmbeddingPerfEstimatorFactory.create(DEFAULT_PERF_ESTIMATOR, topology=topology, constraints=given)
        self._enumerates = False

    def enumerate(self, module: nn.Module, sharders: list[ModuleSharder[nn.Module]]) -> list[ShardingOption]:
        self._enumerates = True
        try:
            options: list[ShardingOption] = super().enumerate(module, sharders)
        finally:
            self._enumerates = False
        return options

    def populate_estimates(self, sharding_options: list[ShardingOption]) -> None:
        super().populate_estimates(sharding_options)
        if not self._enumerates:
            self._times.estimate(sharding_options, sharder_data_map=self._sharder_data_map)


def constraints_of(
    enumerator: Enumerator | None, constraints: dict[str, ParameterConstraints] | None
) -> dict[str, ParameterConstraints] | None:
    """Constraints of a planner that is given `constraints` and an enumerator, which may have its own."""
    own: dict[str, ParameterConstraints] | None = getattr(enumerator, "_constraints", None)
    if own and constraints and own != constraints:
        raise Error("constraints: the enumerator has others; give the same to both, or to the enumerator alone")
    return constraints or own


class NothingButThese(Enumerator):
    """Makes TorchRec's planner plan some tables of a model."""

    def __init__(self, options: list[ShardingOption], enumerator: Enumerator) -> None:
        self._options = options
        self._enumerator = enumerator

    def enumerate(self, module: nn.Module, sharders: list[ModuleSharder[nn.Module]]) -> list[ShardingOption]:
        return self._options

    def populate_estimates(self, sharding_options: list[ShardingOption]) -> None:
        self._enumerator.populate_estimates(sharding_options)


def estimate_times(options: list[ShardingOption], enumerator: Enumerator) -> None:
    """Estimates times of those of `options` that have none, which a QuickEnumerator found."""
    without = [option for option in options if any(shard.perf is None for shard in option.shards)]
    if without:
        enumerator.populate_estimates(without)
