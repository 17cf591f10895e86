"""A model with two modules of tables, shared features, and batches for it."""

from dataclasses import dataclass

import torch
from torchrec import EmbeddingBagCollection, EmbeddingBagConfig, KeyedJaggedTensor, KeyedTensor, PoolingType
from torchrec.distributed.planner.types import ParameterConstraints
from torchrec.modules.embedding_configs import DataType

# Rows, columns, features, pooling factor of each feature. "shared" is looked up in both modules.
USERS = {"user": (2000, 64, ["f0", "shared"], 30.0), "country": (300, 16, ["f1"], 1.0)}
ITEMS = {"item": (800, 32, ["shared"], 20.0), "shop": (7, 4, ["f2"], 1.0), "brand": (90, 8, ["f3", "f4"], 2.0)}
FEATURES = ["f0", "f1", "f2", "f3", "f4", "shared"]
FEWEST_ROWS = 7


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
        self.items = torch.nn.ModuleDict({"bought": collection(ITEMS, variant)})

    def forward(self, features: KeyedJaggedTensor) -> list[KeyedTensor]:
        return [self.users(features), self.items["bought"](features)]


def constraints() -> dict[str, ParameterConstraints]:
    return {
        name: ParameterConstraints(pooling_factors=[factor] * len(features))
        for name, (_, _, features, factor) in {**USERS, **ITEMS}.items()
    }


def batch(generator: torch.Generator, samples: int = 6) -> KeyedJaggedTensor:
    lengths = torch.randint(0, 4, (len(FEATURES) * samples,), generator=generator)
    values = torch.randint(0, FEWEST_ROWS, (int(lengths.sum()),), generator=generator)
    return KeyedJaggedTensor(keys=FEATURES, values=values, lengths=lengths)


def loss(outputs: list[KeyedTensor]) -> torch.Tensor:
    """Every column has a gradient of its own. By key, since sharding changes the order of keys."""
    total = torch.zeros(())
    for output in outputs:
        for key in sorted(output.keys()):
            columns = output[key].float()
            total = total + (columns * torch.arange(1, columns.shape[1] + 1)).pow(2).sum()
    return total / 1000.0
