"""How a model's outputs and their gradients are sent, as its sharders say."""

import logging
from collections.abc import Mapping, Sequence

import torch
from torch import nn
from torchrec.distributed.planner.utils import sharder_name
from torchrec.distributed.types import CommOp, ModuleSharder

from neuroshard._core import ExchangeTypes
from neuroshard.errors import Error
from neuroshard.torchrec.model_tables import Constraints, ModelTable
from neuroshard.torchrec.wrappers import inner_sharder

logger: logging.Logger = logging.getLogger(__name__)

# The library's names. FP8, INT8 and MX4 are sent as bytes, and count as one a value, as in TorchRec's estimates of time:
# scales are left out.
WIRE_TYPES: Mapping[torch.dtype, str] = {
    torch.float32: "fp32",
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
    torch.uint8: "fp8",
}

# Types of outputs, as constraints (DataType) and fused_params (SparseType) name them.
OUTPUT_TYPES: Mapping[str, str] = {"FP32": "fp32", "FP16": "fp16", "BF16": "bf16", "FP8": "fp8", "INT8": "fp8"}

# By whether a module pools.
CODECS: Mapping[bool, CommOp] = {
    True: CommOp.POOLED_EMBEDDINGS_ALL_TO_ALL,
    False: CommOp.SEQUENCE_EMBEDDINGS_ALL_TO_ALL,
}

# Modules that differ in types count as the first of them.
WIDEST_FIRST = ("fp32", "fp16", "bf16", "fp8")


def exchange_of(
    tables: Sequence[ModelTable], sharders: Sequence[ModuleSharder[nn.Module]], constraints: Constraints
) -> ExchangeTypes:
    """How the all-to-alls send values. Row blocks, whose sums TorchRec sends by another codec, count alike.

    A plan knows one exchange: if modules differ, it is the widest types, without deduplicated ids, and a warning says so.
    """
    by_name = {sharder_name(sharder.module_type): inner_sharder(sharder) for sharder in sharders}
    pooled: dict[str, bool] = {}
    outputs: dict[str, list[str]] = {}
    for table in tables:
        name = sharder_name(type(table.options[0].module[1]))
        pooled[name] = table.is_pooled()
        if name in by_name:
            outputs.setdefault(name, []).append(output_type(table, by_name[name], constraints))
    modules = sorted(outputs)
    types = {
        name: codec_types(by_name[name], CODECS[pooled[name]], min(outputs[name], key=WIDEST_FIRST.index))
        for name in modules
    }
    if not types:
        return ExchangeTypes()
    forward, backward = (min(of_modules, key=WIDEST_FIRST.index) for of_modules in zip(*types.values()))
    deduplicating = {name: deduplicates(by_name[name]) for name in modules if not pooled[name]}
    exchange = ExchangeTypes(
        forward=forward,
        backward=backward,
        deduplicate_ids=bool(deduplicating) and all(deduplicating.values()),
    )
    if len(set(types.values())) > 1:
        logger.warning(
            "neuroshard predicts costs of all modules as those of %s, the widest types on the wire: sharders send %s",
            exchange,
            ", ".join(f"{name} {forward} and {backward}" for name, (forward, backward) in types.items()),
        )
    if len(set(deduplicating.values())) > 1:
        logger.warning(
            "neuroshard predicts costs of all modules without use_index_dedup, which only the sharders of %s have",
            ", ".join(name for name, does in deduplicating.items() if does),
        )
    return exchange


def deduplicates(sharder: ModuleSharder[nn.Module]) -> bool:
    """Whether it asks once for each row that a rank looks up, which TorchRec does for nothing that is pooled."""
    return bool(getattr(sharder, "_use_index_dedup", False))


def output_type(table: ModelTable, sharder: ModuleSharder[nn.Module], constraints: Constraints) -> str:
    """Type of what lookups of `table` return: that of its constraints, else of `sharder`, else fp32."""
    constraint = constraints.get(table.name)
    given = constraint.output_dtype if constraint is not None else None
    where = f"constraints: output_dtype of table {table.full_name}"
    if given is None:
        given = (getattr(sharder, "fused_params", None) or {}).get("output_dtype")
        where = "fused_params: output_dtype"
    if given is None:
        return "fp32"
    name = OUTPUT_TYPES.get(given.name)
    if name is None:
        raise Error(f"{where}: there is no type on the wire for {given.name}; give exchange=")
    return name


def codec_types(sharder: ModuleSharder[nn.Module], operation: CommOp, output: str) -> tuple[str, str]:
    """Types of outputs and of gradients. Without a codec they are sent as operators have them: as `output`."""
    codecs = (sharder.qcomm_codecs_registry or {}).get(operation.name)
    if codecs is None:
        return output, output
    names = []
    for codec in (codecs.forward, codecs.backward):
        name = WIRE_TYPES.get(codec.quantized_dtype)
        if name is None:
            raise Error(f"qcomm_codecs_registry: there is no type on the wire for {codec.quantized_dtype}; give exchange=")
        names.append(name)
    return names[0], names[1]
