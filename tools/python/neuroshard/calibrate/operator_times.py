"""Times of FBGEMM's table-batched embedding operator, as TorchRec runs it."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Sequence

import torch
from fbgemm_gpu.split_embedding_configs import EmbOptimType, SparseType
from fbgemm_gpu.split_table_batched_embeddings_ops_common import EmbeddingLocation, PoolingMode
from fbgemm_gpu.split_table_batched_embeddings_ops_training import (
    ComputeDevice,
    SplitTableBatchedEmbeddingBagsCodegen,
)

from neuroshard.lookups import TableAccess, draw_lookups

OPTIMIZERS = {
    "sgd": EmbOptimType.EXACT_SGD,
    "adagrad": EmbOptimType.EXACT_ADAGRAD,
    "rowwise_adagrad": EmbOptimType.EXACT_ROWWISE_ADAGRAD,
    "adam": EmbOptimType.ADAM,
}
WEIGHT_TYPES = {"fp32": SparseType.FP32, "fp16": SparseType.FP16}
POOLING_MODES = {"sum": PoolingMode.SUM, "mean": PoolingMode.MEAN, "none": PoolingMode.NONE}

# More than any L2 and last-level cache has.
FLUSHED_BYTES = 256 << 20
# The host needs this long to hand over a pass: the device waits for so many of its clock cycles, so that it
# runs kernels of the pass one after another as it does when the host is ahead.
HEAD_START_CYCLES = 2_000_000


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


@dataclass(frozen=True)
class PassTimes:
    """Milliseconds: the median, and the first and third quartile."""

    median_ms: float
    low_ms: float
    high_ms: float

    @staticmethod
    def of(times_ms: Sequence[float]) -> "PassTimes":
        low, median, high = statistics.quantiles(times_ms, n=4, method="inclusive")
        return PassTimes(median, low, high)


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
            optimizer=OPTIMIZERS[case.optimizer],
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

    def time(self, warm_up: int, repetitions: int) -> tuple[PassTimes, PassTimes]:
        """Times of the forward pass, and of the backward pass with the update. Caches are cold at the start of each."""
        forward_ms, backward_ms = [], []
        flushed = torch.empty(FLUSHED_BYTES // 4, dtype=torch.int32, device=self.device)
        clock = _DeviceClock if self.device.type == "cuda" else _HostClock
        for repetition in range(warm_up + repetitions):
            flushed.fill_(repetition)
            forward = clock()
            output = self.forward()
            forward.stop()
            flushed.fill_(repetition)
            backward = clock()
            torch.autograd.backward(output, self.gradients)
            backward.stop()
            if repetition >= warm_up:
                forward_ms.append(forward.elapsed_ms())
                backward_ms.append(backward.elapsed_ms())
        return PassTimes.of(forward_ms), PassTimes.of(backward_ms)


class _DeviceClock:
    """Begins when made; a device's time, without what the host takes to launch."""

    def __init__(self) -> None:
        torch.cuda._sleep(HEAD_START_CYCLES)
        self._begin = torch.cuda.Event(enable_timing=True)
        self._end = torch.cuda.Event(enable_timing=True)
        self._begin.record()

    def stop(self) -> None:
        self._end.record()

    def elapsed_ms(self) -> float:
        self._end.synchronize()
        return float(self._begin.elapsed_time(self._end))


class _HostClock:
    def __init__(self) -> None:
        import time

        self._now = time.perf_counter
        self._begin = self._now()

    def stop(self) -> None:
        self._end = self._now()

    def elapsed_ms(self) -> float:
        return (self._end - self._begin) * 1e3
