"""Finds what modules and sharders wrap: features that are processed, pruned or remapped before a collection looks them
up."""

from torch import nn
from torchrec.distributed.types import ModuleSharder
from torchrec.modules.embedding_configs import BaseEmbeddingConfig

# How TorchRec's modules give their tables.
GETTERS_OF_CONFIGS = ("embedding_bag_configs", "embedding_configs")

# Where TorchRec's sharders keep the sharder of what their modules wrap, whose settings the runtime uses.
WRAPPED_SHARDERS = ("_ebc_sharder", "_e_sharder")


def configs_in(module: nn.Module) -> dict[str, tuple[nn.Module, BaseEmbeddingConfig]]:
    """By name of a table: the collection that has it, `module` or one within it, and what that says of it. Of several
    the innermost counts, since it knows most."""
    found: dict[str, tuple[nn.Module, BaseEmbeddingConfig]] = {}
    for inner in module.modules():
        getter = next((getattr(inner, name) for name in GETTERS_OF_CONFIGS if hasattr(inner, name)), None)
        if getter is not None:
            found.update({config.name: (inner, config) for config in getter()})
    return found


def inner_sharder(sharder: ModuleSharder[nn.Module]) -> ModuleSharder[nn.Module]:
    """The sharder of the collection that modules of `sharder` wrap; itself if they wrap none."""
    for name in WRAPPED_SHARDERS:
        inner = getattr(sharder, name, None)
        if inner is not None:
            return inner_sharder(inner)
    return sharder
