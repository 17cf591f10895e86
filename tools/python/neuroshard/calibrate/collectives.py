"""Times of what devices exchange in training, by TorchRec and torch.distributed."""

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torchrec.distributed.dist_data import PooledEmbeddingsAllToAll

from neuroshard._core import Plan, Table, TableSlice, Task
from neuroshard.calibrate.settings import GIB, Settings
from neuroshard.device_times import CacheFlush, Stopwatch, keep_busy
from neuroshard.measure.iteration import ShardedTables
from neuroshard.measure.task_model import TaskModel
from neuroshard.ranks import Ranks

BATCH = 65_536
"""Samples that columns of all-to-alls are of: cost models put other batches in proportion."""
HEAD_START_MS = 2.0
"""By which hosts are ahead of their GPUs, so that the time of a launch does not count."""
LEARNING_RATE = 1e-6
ID_BYTES = 8
LOOKUPS_OF_TABLE = 10
"""Of a sample, where ids of several tables are sent."""
REPETITIONS = 3
"""Collectives take little time and are noisy: so many times the runs of operators are timed."""


class Collectives:
    def __init__(self, ranks: Ranks, settings: Settings) -> None:
        self.ranks = ranks
        self.settings = settings
        self.watch = Stopwatch(ranks.device)
        self.flush = CacheFlush(ranks.device)
        """Ids and gradients come from elsewhere: other work has had the caches meanwhile."""

    def quartile_ms(
        self, run: Callable[[Any], object], start_ms: float = 0.0, prepare: Callable[[], Any] = lambda: None
    ) -> float:
        """The first quartile of `run` on this rank, which begins it `start_ms` after all ranks have met, with what
        `prepare` has made before."""
        times_ms = []
        for _ in range(self.settings.warm_up + REPETITIONS * self.settings.iterations):
            prepared = prepare()
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
            run(prepared)
            self.watch.lap("run")
            times_ms.append(self.watch.laps_ms()["run"])
        return statistics.quantiles(times_ms[self.settings.warm_up :], n=4, method="inclusive")[0]

    def batch(self) -> int:
        """Samples of an iteration, as many of each rank."""
        return self.settings.batch - self.settings.batch % self.ranks.size

    def all_to_all_ms(self, dim_sums: Sequence[int], starts_ms: Sequence[float]) -> tuple[float, float]:
        """Times of this rank: outputs forward, each rank beginning at its start, and gradients backward, with all that
        TorchRec does for them. `dim_sums`: columns of each rank, of BATCH samples."""
        columns = [round(dim_sum * BATCH / self.batch()) for dim_sum in dim_sums]
        assert dist.group.WORLD is not None
        exchange = PooledEmbeddingsAllToAll(dist.group.WORLD, columns, self.ranks.device)
        outputs = torch.rand(self.batch(), columns[self.ranks.rank], device=self.ranks.device, requires_grad=True)

        def send(_: object) -> torch.Tensor:
            values: torch.Tensor = exchange(outputs).wait()
            return values

        def send_gradients(values: torch.Tensor) -> None:
            torch.autograd.grad(values, outputs, values.detach())

        forward = self.quartile_ms(send, starts_ms[self.ranks.rank])
        def send_cold() -> torch.Tensor:
            values = send(None)
            self.flush()
            return values

        backward = self.quartile_ms(send_gradients, prepare=send_cold)
        return forward, backward

    def ids_ms(self, size_bytes: int) -> float:
        """TorchRec's input dist of tables whose ids take so many bytes on each rank."""
        lookups = size_bytes / (ID_BYTES * self.batch())
        count = max(1, round(lookups / LOOKUPS_OF_TABLE))
        table = Table(1000, 4, lookups / count)
        ranks = self.ranks.size
        task = Task([table] * count * ranks, devices=ranks, memory_bytes=GIB, batch_size=self.batch())
        slices = [TableSlice(index, 0, table.dim, 0, table.rows) for index in range(count * ranks)]
        model = TaskModel(task, self.ranks.device, "ids")
        plan = Plan(slices, [list(range(rank * count, (rank + 1) * count)) for rank in range(ranks)])
        tables = ShardedTables(
            model,
            model.sharding_plan(plan, self.ranks.local_size),
            model.lookups(self.batch(), self.ranks.rank, self.settings.seed),
            self.ranks,
        )
        return self.quartile_ms(lambda _: tables.send_ids(), prepare=self.flush)

    def all_reduce_ms(self, size_bytes: int) -> float:
        """With the optimizer's pass over weights of that size."""
        gradients = torch.zeros(size_bytes // 4, device=self.ranks.device)
        weights = torch.rand(size_bytes // 4, device=self.ranks.device)

        def run(_: object) -> None:
            dist.all_reduce(gradients)
            weights.add_(gradients, alpha=-LEARNING_RATE)

        return self.quartile_ms(run)
