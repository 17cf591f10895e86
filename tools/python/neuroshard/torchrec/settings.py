"""Settings of TorchRec that plans or costs do not depend on, although a user has given them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import MISSING, fields

from torch import nn
from torchrec.distributed.planner.constants import (
    BWD_COMPUTE_MULTIPLIER,
    DDR_MEM_BW,
    WEIGHTED_FEATURE_BWD_COMPUTE_MULTIPLIER,
)
from torchrec.distributed.planner.types import (
    ParameterConstraints,
    PlannerError,
    PlannerErrorType,
    ShardingOption,
    Topology,
)
from torchrec.distributed.types import CacheAlgorithm, CommOp, ModuleSharder
from torchrec.modules.embedding_configs import DataType

from neuroshard.torchrec.model_tables import CACHED, DENSE, FUSED, STORED, WEIGHT_TYPES, Constraints, ModelTable
from neuroshard.torchrec.wrappers import inner_sharder

# Settings on which plans or costs depend, of our tables or of those that TorchRec plans.
PLANNED_CONSTRAINTS = frozenset(
    "sharding_types compute_kernels min_partition pooling_factors num_poolings batch_sizes is_weighted output_dtype "
    "device_group key_value_params use_virtual_table".split()
)
PLANNED_CONFIG = frozenset(
    "num_embeddings embedding_dim name data_type feature_names pooling total_num_buckets use_virtual_table "
    "stash_weights".split()
)
PLANNED_FUSED_PARAMS = frozenset("optimizer output_dtype cache_load_factor multipass_prefetch_config".split())

# Settings that a plan hands on to TorchRec's runtime, or that the runtime has from the model and the sharders. They
# change what is computed, not what is fetched and sent.
RUN_TIME_CONSTRAINTS = frozenset(
    "cache_params enforce_hbm stochastic_rounding bounds_check_mode feature_names".split()
)
RUN_TIME_CONFIG = frozenset(
    "weight_init_max weight_init_min init_fn need_pos virtual_table_eviction_policy enable_embedding_update".split()
)
RUN_TIME_FUSED_PARAMS = frozenset(
    "learning_rate eps momentum weight_decay weight_decay_mode ar_alpha ema_beta min_shrinkage eta beta1 beta2 "
    "ensemble_mode emainplace_mode counter_based_regularization cowclip_regularization global_weight_decay "
    "gradient_clipping max_gradient max_norm stochastic_rounding bounds_check_mode enforce_hbm cache_algorithm cache_sets "
    "cache_reserved_memory cache_precision record_cache_metrics gather_uvm_cache_stats stats_reporter_config "
    "uvm_non_rowwise_momentum uvm_host_mapped prefetch_pipeline".split()
)

# The ones that plans of the library have.
KERNELS = frozenset({FUSED, DENSE, CACHED, STORED})

# Settings that change no cost of the library, by their defaults.
UNPLANNED_TOPOLOGY: Mapping[str, float] = {
    "ddr_mem_bw": DDR_MEM_BW,
    "bwd_compute_multiplier": BWD_COMPUTE_MULTIPLIER,
    "weighted_feature_bwd_compute_multiplier": WEIGHTED_FEATURE_BWD_COMPUTE_MULTIPLIER,
    "uneven_sharding_perf_multiplier": 1.0,
}


def unplanned_topology(topology: Topology) -> list[str]:
    """Names of settings of `topology` that change no cost."""
    return [f"topology.{name}" for name, usual in UNPLANNED_TOPOLOGY.items() if getattr(topology, name) != usual]


def unplanned_settings(
    tables: Sequence[ModelTable], sharders: Iterable[ModuleSharder[nn.Module]], constraints: Constraints
) -> list[str]:
    """Names of settings that change neither plans nor costs, nor are handed on to the runtime; each once."""
    names = [*_of_sharders(sharders), *_of_constraints(constraints), *_of_configs(tables)]
    return list(dict.fromkeys(names))


def unknown_tables(search_space: Iterable[ShardingOption], constraints: Constraints) -> list[str]:
    """Tables of `constraints` that the model does not have. Tables of other device groups have no options."""
    elsewhere = {name for name, constraint in constraints.items() if constraint.device_group is not None}
    return sorted(set(constraints) - {option.name for option in search_space} - elsewhere)


def prefetches(sharders: Iterable[ModuleSharder[nn.Module]], constraints: Constraints) -> bool:
    """Whether rows in host memory are fetched behind the iteration before (PrefetchTrainPipelineSparseDist)."""
    params = [getattr(inner_sharder(sharder), "fused_params", None) or {} for sharder in sharders]
    of_tables = [constraint.cache_params for constraint in constraints.values()]
    return any(of_sharder.get("prefetch_pipeline") for of_sharder in params) or any(
        given is not None and given.prefetch_pipeline for given in of_tables
    )


def check_lengths(constraints: Constraints) -> None:
    """Raises PlannerError if lists that have a number for each feature differ in length."""
    for name, constraint in constraints.items():
        features = len(constraint.pooling_factors)
        for setting in ("num_poolings", "batch_sizes"):
            given = getattr(constraint, setting)
            if given is not None and len(given) != features:
                raise PlannerError(
                    f"constraints: {setting} of table {name} has {len(given)} numbers, and pooling_factors has {features}; "
                    "give both one for each feature",
                    PlannerErrorType.INPUT_VALIDATION,
                )


def _of_sharders(sharders: Iterable[ModuleSharder[nn.Module]]) -> Iterator[str]:
    for sharder in map(inner_sharder, sharders):
        for name in getattr(sharder, "fused_params", None) or {}:
            # Names of TorchRec's own, which say how kernels are registered, begin with two underscores.
            if name not in PLANNED_FUSED_PARAMS | RUN_TIME_FUSED_PARAMS and not name.startswith("__"):
                yield f"fused_params[{name!r}]"
        for operation in sharder.qcomm_codecs_registry or {}:
            # Sums of row blocks are priced by the types of all-to-alls, which have precedence where both are given.
            if operation not in CommOp.__members__:
                yield f"qcomm_codecs_registry[{operation!r}]"


def _of_constraints(constraints: Constraints) -> Iterator[str]:
    known = PLANNED_CONSTRAINTS | RUN_TIME_CONSTRAINTS
    for constraint in constraints.values():
        kernels = constraint.compute_kernels or []
        if KERNELS & set(kernels) - {DENSE}:  # Else TorchRec plans the table.
            yield from (f"ParameterConstraints.compute_kernels {kernel!r}" for kernel in kernels if kernel not in KERNELS)
        cache = constraint.cache_params
        if {CACHED, STORED} & set(kernels) and cache is not None and cache.algorithm not in (None, CacheAlgorithm.LRU):
            yield f"CacheParams.algorithm {cache.algorithm.name} (costs are those of LRU)"
        yield from (f"ParameterConstraints.{name}" for name in _given(constraint, ParameterConstraints, known))


def _of_configs(tables: Sequence[ModelTable]) -> Iterator[str]:
    for table in tables:
        config = table.config
        if config is None:
            yield f"the config of {table.full_name}"
            continue
        kind = type(config)
        yield from (f"{kind.__name__}.{name}" for name in _given(config, kind, PLANNED_CONFIG | RUN_TIME_CONFIG))
        if config.data_type != DataType.FP32 and config.data_type not in WEIGHT_TYPES:
            yield f"{kind.__name__}.data_type {config.data_type.name} (it counts as FP32)"


def _given(of: object, kind: type, known: Set[str]) -> Iterator[str]:
    """Fields that are not among `known`, and not at their defaults."""
    for field in fields(kind):
        if field.name in known:
            continue
        usual = field.default_factory() if field.default_factory is not MISSING else field.default
        if getattr(of, field.name) != usual:
            yield field.name
