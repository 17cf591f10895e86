"""Samples of each kind: how large and how many."""

from dataclasses import dataclass

import torch

GIB = 1 << 30


@dataclass(frozen=True)
class Settings:
    batch: int
    """Samples of an iteration, on all ranks together."""
    memory_bytes: int
    """Most that the weights of an operator take."""
    compute_samples: int
    slice_samples: int
    """Operators of many slices of few tables."""
    comm_samples: int
    all_reduce_samples: int
    id_samples: int
    max_all_reduce_bytes: int
    max_tables: int = 15
    max_slices: int = 60
    max_start_offset_ms: int = 20
    max_lookups: int = 400
    """Lookups of a sample that a rank is sent the ids of."""
    warm_up: int = 2
    iterations: int = 5
    seed: int = 0


def usual_settings(device: torch.device) -> Settings:
    if device.type == "cuda":
        memory = torch.cuda.get_device_properties(device).total_memory
        return Settings(65_536, min(16 * GIB, memory // 4), 400, 200, 200, 60, 60, 2 * GIB)
    # Weights that are not looked up take no memory there.
    return Settings(2048, 4 * GIB, 160, 80, 100, 40, 30, GIB // 16, warm_up=1)
