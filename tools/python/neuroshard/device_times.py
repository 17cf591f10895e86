"""Times on a device: how they are taken, and what is said of many."""

import contextlib
import functools
import os
import statistics
import time
from collections.abc import Sequence
from typing import NamedTuple

import torch


class Spread(NamedTuple):
    """Median and quartiles, ms."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        if len(values) == 1:
            return cls(values[0], values[0], values[0])
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, low, high)


class Stopwatch:
    """Milliseconds between marks: of CUDA events in the current stream on GPUs, else of the clock."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.names: list[str] = []
        self.events: list[torch.cuda.Event] = []
        self.seconds: list[float] = []

    def start(self) -> None:
        self.names.clear()
        self.events.clear()
        self.seconds.clear()
        self.record()

    def lap(self, name: str) -> None:
        """The time since the last mark is of `name`."""
        self.names.append(name)
        self.record()

    def record(self) -> None:
        if self.device.type == "cuda":
            event = torch.cuda.Event(enable_timing=True)
            event.record()
            self.events.append(event)
        else:
            self.seconds.append(time.perf_counter())

    def laps_ms(self) -> dict[str, float]:
        """By name, in the order of their first marks; laps of one name are added up."""
        if self.events:
            self.events[-1].synchronize()
            laps = [begin.elapsed_time(end) for begin, end in zip(self.events, self.events[1:])]
        else:
            laps = [1e3 * (end - begin) for begin, end in zip(self.seconds, self.seconds[1:])]
        sums: dict[str, float] = {}
        for name, lap in zip(self.names, laps, strict=True):
            sums[name] = sums.get(name, 0.0) + lap
        return sums


class CacheFlush:
    """Overwrites the last-level cache of the device."""

    def __init__(self, device: torch.device) -> None:
        size = 0
        if device.type == "cuda":
            size = torch.cuda.get_device_properties(device).L2_cache_size
        else:
            with contextlib.suppress(ValueError, OSError):
                size = os.sysconf("SC_LEVEL3_CACHE_SIZE")
        self.buffer = torch.empty(2 * (size or 32 << 20), dtype=torch.uint8, device=device)

    def __call__(self) -> None:
        self.buffer.add_(1)


def keep_busy(gpu: torch.device, pause_ms: float) -> None:
    """For so many milliseconds, in its current stream."""
    torch.cuda._sleep(int(pause_ms * cycles_per_ms(gpu)))


@functools.cache
def cycles_per_ms(gpu: torch.device) -> float:
    """The most of several measurements: an idle GPU has a slow clock at first."""
    cycles, repetitions = 2_000_000, 20
    with torch.cuda.device(gpu):
        events = [torch.cuda.Event(enable_timing=True) for _ in range(repetitions + 1)]
        events[0].record()
        for event in events[1:]:
            torch.cuda._sleep(cycles)
            event.record()
        events[-1].synchronize()
    return max(float(cycles / begin.elapsed_time(end)) for begin, end in zip(events, events[1:]))
