"""Times of FBGEMM's table-batched embedding operator, as TorchRec runs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence

import torch
from fbgemm_gpu.split_embedding_configs import SparseType
from fbgemm_gpu.split_table_batched_embeddings_ops_common import EmbeddingLocation, PoolingMode
from fbgemm_gpu.split_table_batched_embeddings_ops_training import (
    ComputeDevice,
    SplitTableBatchedEmbeddingBagsCodegen,
)

from neuroshard.device_times import CacheFlush, Spread, Stopwatch, keep_busy
from neuroshard.fused_optimizers import FUSED_OPTIMIZERS
from neuroshard.lookups import TableAccess, draw_lookups

TIMED_OPTIMIZERS = ("sgd", "adagrad", "rowwise_adagrad", "adam")
WEIGHT_TYPES = {"fp32": SparseType.FP32, "fp16": SparseType.FP16}
POOLING_MODES = {"sum": PoolingMode.SUM, "mean": PoolingMode.MEAN, "none": PoolingMode.NONE}

HEAD_START_MS = 1.0
"""The host needs so long to hand over a pass: the device waits for it, so that it runs the kernels of a pass one after
another, as it does when the host is ahead."""


@dataclass(frozen=True)
class OperatorCase:
    """One operator over tables that share batch, optimizer, type and pooling."""

    batch: int
    dims: Sequence[int]
    accesses: Sequence[TableAccess]
    optimizer: str = "rowwise_adagrad"
    weight_type: str = "fp32"
    pooling: str = "sum"
    weighted: bool = False


class TimedOperator:
    """The operator of a case with lookups drawn for it, on `device`."""

    def __init__(self, case: OperatorCase, device: torch.device) -> None:
        self.device = device
        on_gpu = device.type == "cuda"
        location = EmbeddingLocation.DEVICE if on_gpu else EmbeddingLocation.HOST
        compute = ComputeDevice.CUDA if on_gpu else ComputeDevice.CPU
        self.operator = SplitTableBatchedEmbeddingBagsCodegen(
            embedding_specs=[
                (access.rows, dim, location, compute) for access, dim in zip(case.accesses, case.dims)
            ],
            pooling_mode=POOLING_MODES[case.pooling],
            weights_precision=WEIGHT_TYPES[case.weight_type],
            output_dtype=SparseType.FP32,
            optimizer=FUSED_OPTIMIZERS[case.optimizer],
            learning_rate=0.01,
            device=device,
        )
        # torch.manual_seed() decides what is drawn.
        generator = torch.Generator(device).manual_seed(int(torch.randint(2**62, ())))
        rows, lengths = zip(*(draw_lookups(access, case.batch, generator) for access in case.accesses))
        self.indices = torch.cat(rows)
        ends = torch.cumsum(torch.cat(lengths), 0)
        self.offsets = torch.cat([ends.new_zeros(1), ends])
        self.lookup_weights = torch.rand(self.indices.numel(), device=device) if case.weighted else None
        self.gradients = torch.randn_like(self.forward())

    def forward(self) -> torch.Tensor:
        output: torch.Tensor = self.operator(self.indices, self.offsets, self.lookup_weights)
        return output

    def time(self, warm_up: int, repetitions: int) -> tuple[Spread, Spread]:
        """Times of the forward pass, and of the backward pass with the update. Caches are cold at the start of each."""
        forward_ms, backward_ms = [], []
        flush = CacheFlush(self.device)
        watch = Stopwatch(self.device)
        for repetition in range(warm_up + repetitions):
            flush()
            self.wait_for_host()
            watch.start()
            output = self.forward()
            watch.lap("forward")
            flush()
            self.wait_for_host()
            watch.lap("between")
            torch.autograd.backward(output, self.gradients)
            watch.lap("backward")
            if repetition >= warm_up:
                laps = watch.laps_ms()
                forward_ms.append(laps["forward"])
                backward_ms.append(laps["backward"])
        return Spread.of(forward_ms), Spread.of(backward_ms)

    def wait_for_host(self) -> None:
        if self.device.type == "cuda":
            keep_busy(self.device, HEAD_START_MS)
