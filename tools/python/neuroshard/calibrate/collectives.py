"""Times of the all-to-alls and all-reduces of training, by torch.distributed as TorchRec calls them."""

import statistics
import time
from collections.abc import Callable, Sequence

import torch
import torch.distributed as dist

from neuroshard.calibrate.settings import Settings
from neuroshard.device_times import Stopwatch, keep_busy
from neuroshard.ranks import Ranks

BATCH = 65_536
"""Samples that columns of all-to-alls are of: cost models put other batches in proportion."""
HEAD_START_MS = 2.0
"""By which hosts are ahead of their GPUs, so that the time of a launch does not count."""
LEARNING_RATE = 1e-6
REPETITIONS = 3
"""Collectives take little time and are noisy: so many times the runs of operators are timed."""


class Collectives:
    def __init__(self, ranks: Ranks, settings: Settings) -> None:
        self.ranks = ranks
        self.settings = settings
        self.watch = Stopwatch(ranks.device)

    def quartile_ms(self, run: Callable[[], object], start_ms: float = 0.0) -> float:
        """The first quartile of `run` on this rank, which begins it `start_ms` after all ranks have met."""
        times_ms = []
        for _ in range(self.settings.warm_up + REPETITIONS * self.settings.iterations):
            self.ranks.barrier()
            if self.ranks.device.type == "cuda":
                keep_busy(self.ranks.device, HEAD_START_MS + start_ms)
            else:
                end = time.perf_counter() + start_ms / 1e3
                # Sleeps are late by some 0.1 ms.
                time.sleep(max(0.0, start_ms / 1e3 - 5e-4))
                while time.perf_counter() < end:
                    pass
            self.watch.start()
            run()
            self.watch.lap("run")
            times_ms.append(self.watch.laps_ms()["run"])
        return statistics.quantiles(times_ms[self.settings.warm_up :], n=4, method="inclusive")[0]

    def all_to_all_ms(self, dim_sums: Sequence[int], starts_ms: Sequence[float]) -> tuple[float, float]:
        """Times of this rank: outputs forward, each rank beginning at its start, and gradients backward. A rank has so many
        columns of all samples, and all columns of its part of the samples."""
        of_rank = BATCH // self.ranks.size
        sent = [of_rank * dim_sums[self.ranks.rank]] * self.ranks.size
        received = [of_rank * dim_sum for dim_sum in dim_sums]
        columns = torch.rand(sum(sent), device=self.ranks.device)
        samples = torch.rand(sum(received), device=self.ranks.device)
        forward = self.quartile_ms(
            lambda: dist.all_to_all_single(samples, columns, received, sent), starts_ms[self.ranks.rank]
        )
        backward = self.quartile_ms(lambda: dist.all_to_all_single(columns, samples, sent, received))
        return forward, backward

    def all_reduce_ms(self, size_bytes: int) -> float:
        """With the optimizer's pass over weights of that size."""
        gradients = torch.zeros(size_bytes // 4, device=self.ranks.device)
        weights = torch.rand(size_bytes // 4, device=self.ranks.device)

        def run() -> None:
            dist.all_reduce(gradients)
            weights.add_(gradients, alpha=-LEARNING_RATE)

        return self.quartile_ms(run)
