"""A model with two modules of tables, shared features, and batches for it."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torchrec import EmbeddingBagCollection, EmbeddingBagConfig, KeyedJaggedTensor, KeyedTensor, PoolingType
from torchrec.distributed.planner.types import ParameterConstraints
from torchrec.modules.embedding_configs import DataType

# Rows, columns, features, pooling factor of each feature. "shared" is looked up in both modules.
USERS = {"user": (2000, 64, ["f0", "shared"], 30.0), "country": (300, 16, ["f1"], 1.0)}
ITEMS = {"item": (800, 32, ["shared"], 20.0), "shop": (7, 4, ["f2"], 1.0), "brand": (90, 8, ["f3", "f4"], 2.0)}
# Its narrowest slice of columns is the whole table.
SESSIONS = {"session": (100_000, 4, ["f5"], 1.0)}
# Each feature has the rows of the smallest table in which it is looked up.
ROWS = {"f0": 2000, "f1": 300, "f2": 7, "f3": 90, "f4": 90, "f5": 100_000, "shared": 800}


@dataclass
class Variant:
    pooling: PoolingType = PoolingType.SUM
    data_type: DataType = DataType.FP32


def collection(tables: dict[str, tuple[int, int, list[str], float]], variant: Variant) -> EmbeddingBagCollection:
    return EmbeddingBagCollection(
        tables=[
            EmbeddingBagConfig(
                name=name,
                num_embeddings=rows,
                embedding_dim=columns,
                feature_names=features,
                pooling=variant.pooling,
                data_type=variant.data_type,
            )
            for name, (rows, columns, features, _) in tables.items()
        ]
    )


class TwoModules(torch.nn.Module):
    def __init__(self, variant: Variant) -> None:
        super().__init__()
        self.users = collection(USERS, variant)
        self.items = torch.nn.ModuleDict({"bought": collection({**ITEMS, **SESSIONS}, variant)})

    def forward(self, features: KeyedJaggedTensor) -> list[KeyedTensor]:
        return [self.users(features), self.items["bought"](features)]


NOT_REPLICATED = ["table_wise", "column_wise", "row_wise", "table_row_wise"]


def constraints(kinds: Mapping[str, str]) -> dict[str, ParameterConstraints]:
    """`kinds`: the only kind of sharding of some tables. No other table is replicated: optimizers differ there."""
    return {
        name: ParameterConstraints(
            pooling_factors=[factor] * len(features),
            sharding_types=[kinds[name]] if name in kinds else NOT_REPLICATED,
            min_partition=columns // 2 if kinds.get(name) == "grid_shard" else None,
        )
        for name, (_, columns, features, factor) in {**USERS, **ITEMS, **SESSIONS}.items()
    }


def batch(features: Mapping[str, int], generator: torch.Generator, samples: int = 6) -> KeyedJaggedTensor:
    """0 to 3 lookups a sample of each of `features`, whose rows are given. Half of them are of row 0."""
    lengths = torch.randint(0, 4, (len(features) * samples,), generator=generator)
    of_feature = lengths.reshape(len(features), samples).sum(1)
    rows = torch.repeat_interleave(torch.tensor(list(features.values())), of_feature)
    drawn = (torch.rand(len(rows), generator=generator) * rows).long()
    values = drawn * torch.randint(0, 2, (len(rows),), generator=generator)
    return KeyedJaggedTensor(keys=list(features), values=values, lengths=lengths)


def loss(outputs: list[KeyedTensor]) -> torch.Tensor:
    """Every column has a gradient of its own. By key, since sharding changes the order of keys."""
    total = torch.zeros(())
    for output in outputs:
        for key in sorted(output.keys()):
            columns = output[key].float()
            total = total + (columns * torch.arange(1, columns.shape[1] + 1)).pow(2).sum()
    return total / 1000.0
