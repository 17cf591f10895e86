"""Samples of all kinds, each measured on all ranks at once and appended to a folder by the first."""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch

from neuroshard._core import CollectiveFolder, CommFolder, ComputeFolder, Table
from neuroshard.calibrate.collectives import BATCH, ID_BYTES, Collectives
from neuroshard.calibrate.operators import operator_cases, operators_ms
from neuroshard.calibrate.settings import Settings
from neuroshard.errors import Error
from neuroshard.ranks import Ranks

ON_TIME = 1.5
"""A rank may take so many times as long for the same operators as the others."""
WAITS_OF_IDLE_MACHINES = 0.05


class SampleFolder(Protocol):
    def __len__(self) -> int: ...


Say = Callable[[str], None]


@dataclass
class Slowness:
    """How much longer ranks take for the same work than their median, over all samples of a run."""

    ratios: list[list[float]] = field(default_factory=list)
    """A list for each sample, by rank."""

    def add(self, times_ms: Sequence[float]) -> None:
        usual_ms = statistics.median_low(times_ms)
        self.ratios.append([time_ms / usual_ms for time_ms in times_ms])

    def problems(self) -> list[str]:
        ratios = [statistics.median(of_rank) for of_rank in zip(*self.ratios)]
        return [
            f"compute: rank {rank} takes {ratio:.2f} times as long as others for the same operators"
            for rank, ratio in enumerate(ratios)
            if ratio > ON_TIME
        ]


def processor_wait_s() -> float:
    """For how long this thread, if it is the first of the process, has waited for a processor; 0: not known."""
    try:
        return int(Path("/proc/self/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


@dataclass
class ProcessorWaits:
    """How much of its time a rank waits for processors that other processes have."""

    seconds: float = 0.0
    waited_s: float = 0.0

    @contextmanager
    def watched(self) -> Iterator[None]:
        begin, waited = time.monotonic(), processor_wait_s()
        yield
        self.seconds += time.monotonic() - begin
        self.waited_s += processor_wait_s() - waited

    def share(self) -> float:
        return self.waited_s / self.seconds if self.seconds > 0.0 else 0.0


@dataclass(frozen=True)
class Kind:
    name: str
    """Its folder is named so."""
    samples: int
    open: Callable[[Path], SampleFolder]
    """Called by the first rank alone."""
    draw: Callable[[Any], Any]
    """From a folder what all ranks measure next."""
    measure: Callable[[Any], list[Any]]
    """On all ranks; what each has measured."""
    append: Callable[[Any, list[Any]], None]


class Collection:
    """All ranks make it and call its functions alike."""

    def __init__(
        self, ranks: Ranks, settings: Settings, tables: Sequence[Table], about: dict[str, str], say: Say
    ) -> None:
        """`tables`: to draw from, as augment_dims() makes them. `about`: where the samples come from."""
        self.ranks = ranks
        self.settings = settings
        self.tables = tables
        self.about = {**about, "warm_up": str(settings.warm_up), "iterations": str(settings.iterations)}
        self.say = say
        self.slowness = Slowness()
        self.waits = ProcessorWaits()
        self.collectives = Collectives(ranks, settings)

    def kinds(self) -> list[Kind]:
        settings = self.settings
        kinds = [
            self.compute_kind("compute", settings.compute_samples, settings.max_tables, False),
            self.compute_kind("compute_slices", settings.slice_samples, settings.max_slices, True),
        ]
        if self.ranks.size > 1:
            kinds += [self.comm_kind(), self.all_reduce_kind(), self.ids_kind()]
        return kinds

    def collect(self, folder: Path) -> list[Path]:
        """Returns the folders of samples."""
        kinds = self.kinds()
        for kind in kinds:
            self.fill(kind, folder / kind.name)
        return [folder / kind.name for kind in kinds]

    def notes(self) -> list[str]:
        """Notes on the samples of this run."""
        shares = self.ranks.gather(self.waits.share())
        if max(shares) <= WAITS_OF_IDLE_MACHINES:
            return []
        return [
            f"Ranks waited {100 * max(shares):.0f} % of their time for processors that other processes had: operators "
            "took longer than they will elsewhere. Measure on an idle machine."
        ]

    def fill(self, kind: Kind, path: Path) -> None:
        samples = kind.open(path) if self.ranks.rank == 0 else None
        before = len(samples) if samples is not None else 0
        begin = time.monotonic()
        while True:
            count = len(samples) if samples is not None else 0
            draw = kind.draw(samples) if samples is not None and count < kind.samples else None
            draw, count = self.ranks.from_first((draw, count))
            if draw is None:
                break
            self.ranks.step(f"{kind.name}, sample {count + 1} of {kind.samples}")
            # So that a run that goes on draws the lookups that it would have drawn.
            torch.manual_seed(self.settings.seed * 1_000_003 + count)
            try:
                measured = kind.measure(draw)
            except (RuntimeError, MemoryError) as error:
                raise Error(
                    f"rank {self.ranks.rank}: {kind.name}, sample {count + 1}: {error}; where memory lacks, give a "
                    "smaller --memory-gib or --batch",
                    "backend",
                ) from error
            if samples is not None:
                kind.append(samples, measured)
                done = len(samples)
                left_s = (time.monotonic() - begin) / (done - before) * (kind.samples - done)
                self.say(f"{kind.name}: {done} of {kind.samples} samples, {left_s:.0f} s left")

    def description(self, batch: int) -> dict[str, str]:
        return {**self.about, "batch": str(batch)}

    def compute_kind(self, name: str, samples: int, max_tables: int, slices: bool) -> Kind:
        settings = self.settings

        def measure(draw: Any) -> list[float]:
            self.ranks.barrier()
            with self.waits.watched():
                time_ms = operators_ms(draw, self.ranks.device, settings.warm_up, settings.iterations)
            return self.ranks.gather(time_ms)

        def append(folder: ComputeFolder, times_ms: list[float]) -> None:
            self.slowness.add(times_ms)
            folder.append(statistics.median_low(times_ms))

        return Kind(
            name,
            samples,
            lambda path: ComputeFolder(
                path,
                self.description(settings.batch),
                settings.seed + int(slices),
                list(self.tables),
                max_tables=max_tables,
                memory_bytes=settings.memory_bytes,
                slices=slices,
            ),
            lambda folder: operator_cases([self.tables[table] for table in folder.next()], settings.batch),
            measure,
            append,
        )

    def comm_kind(self) -> Kind:
        settings = self.settings
        # As many as a device has of the batch, in columns of BATCH samples.
        most_columns = max(64, 8192 * settings.batch // BATCH)
        return Kind(
            f"comm_{self.ranks.size}",
            settings.comm_samples,
            lambda path: CommFolder(
                path,
                {**self.description(BATCH), "exchange": "of TorchRec"},
                settings.seed,
                devices=self.ranks.size,
                max_dim_sum=most_columns,
                max_start_offset_ms=settings.max_start_offset_ms,
            ),
            lambda folder: folder.next(),
            lambda draw: self.ranks.gather(self.collectives.all_to_all_ms(*draw)),
            lambda folder, measured: folder.append([times[0] for times in measured], [times[1] for times in measured]),
        )

    def all_reduce_kind(self) -> Kind:
        settings = self.settings
        measure = self.collectives.all_reduce_ms
        return self.collective_kind("all-reduce", settings.all_reduce_samples, settings.max_all_reduce_bytes, measure)

    def ids_kind(self) -> Kind:
        settings = self.settings
        most_bytes = settings.max_lookups * ID_BYTES * settings.batch
        return self.collective_kind("ids", settings.id_samples, most_bytes, self.collectives.ids_ms)

    def collective_kind(self, kind: str, samples: int, most_bytes: int, measure: Callable[[int], float]) -> Kind:
        return Kind(
            f"{kind.replace('-', '_')}_{self.ranks.size}",
            samples,
            lambda path: CollectiveFolder(
                path,
                self.description(BATCH),
                self.settings.seed,
                kind=kind,
                devices=self.ranks.size,
                max_bytes=most_bytes,
            ),
            lambda folder: folder.next(),
            lambda size_bytes: self.ranks.gather(measure(size_bytes)),
            lambda folder, times_ms: folder.append(statistics.median_low(times_ms)),
        )
