"""Finds what modules and sharders wrap: features that are processed, pruned or remapped before a collection looks them
up."""

from collections.abc import Iterator

from torch import nn
from torchrec.distributed.types import ModuleSharder
from torchrec.modules.embedding_configs import BaseEmbeddingConfig

# How TorchRec's modules give their tables.
GETTERS_OF_CONFIGS = ("embedding_bag_configs", "embedding_configs")

# Where TorchRec's sharders keep the sharder of what their modules wrap, whose settings the runtime uses.
WRAPPED_SHARDERS = ("_ebc_sharder", "_e_sharder")


def collections_of(module: nn.Module) -> Iterator[tuple[nn.Module, list[BaseEmbeddingConfig]]]:
    """`module` and those within it that have tables, with these. Inner modules come first, since they know most."""
    found = []
    for inner in module.modules():
        getter = next((getattr(inner, name) for name in GETTERS_OF_CONFIGS if hasattr(inner, name)), None)
        if getter is not None:
            found.append((inner, list(getter())))
    yield from reversed(found)


def inner_sharder(sharder: ModuleSharder[nn.Module]) -> ModuleSharder[nn.Module]:
    """The sharder of the collection that modules of `sharder` wrap; itself if they wrap none."""
    for name in WRAPPED_SHARDERS:
        inner = getattr(sharder, name, None)
        if inner is not None:
            return inner_sharder(inner)
    return sharder
