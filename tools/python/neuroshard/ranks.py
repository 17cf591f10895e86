"""Ranks of `torchrun`, one for each device, that measure together.

A rank that hangs ends the run: each rank says where it is (`Ranks.step`), and a thread of each asks all others once its
own rank has stood still for too long.
"""

import argparse
import json
import logging
import math
import os
import platform
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeVar

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import HashStore, PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from neuroshard.errors import Error

Value = TypeVar("Value")

EXIT_CODE = 2
ANSWER_S = 3.0
"""How long a rank may take to say where it is."""
POLL_S = 1.0


class Place(NamedTuple):
    """Where a rank is: steps it has begun, and the last of them."""

    steps: int
    step: str
    host: str


class Watchdog:
    """Ends this process once a rank stands still."""

    def __init__(self, store: Store, rank: int, size: int, timeout_s: float) -> None:
        self.store = store
        self.rank = rank
        self.size = size
        self.timeout_s = timeout_s
        self.place = Place(0, "start", socket.gethostname())
        self.moved = time.monotonic()
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.run, name="neuroshard ranks", daemon=True)
        self.thread.start()

    def step(self, step: str) -> None:
        self.place = Place(self.place.steps + 1, step, self.place.host)
        self.moved = time.monotonic()

    def stop(self) -> None:
        self.stopped.set()
        self.thread.join()

    def run(self) -> None:
        while not self.stopped.wait(min(POLL_S, self.timeout_s / 4)):
            late = time.monotonic() - self.moved > self.timeout_s
            try:
                if not late and not self.store.check(["roll call"]):
                    continue
                self.store.set(f"place of {self.rank}", json.dumps(self.place))
                # The first to ask is the one that reports.
                if late and self.store.add("roll call", 1) == 1:
                    self.report(self.places())
                else:
                    time.sleep(ANSWER_S + 2 * POLL_S)
            except RuntimeError:  # The process that keeps the store has ended.
                pass
            if not self.stopped.is_set():
                os._exit(EXIT_CODE)

    def places(self) -> dict[int, Place]:
        """Asks all ranks; those that do not answer are missing."""
        end = time.monotonic() + ANSWER_S
        waited = list(range(self.size))
        while waited and time.monotonic() < end:
            waited = [rank for rank in waited if not self.store.check([f"place of {rank}"])]
            time.sleep(0.05)
        answers = [rank for rank in range(self.size) if rank not in waited]
        return {rank: Place(*json.loads(self.store.get(f"place of {rank}"))) for rank in answers}

    def report(self, places: dict[int, Place]) -> None:
        silent = [rank for rank in range(self.size) if rank not in places]
        first = min(place.steps for place in places.values())
        behind = [rank for rank, place in places.items() if place.steps == first]
        if silent:
            text = f"rank {', '.join(map(str, silent))} does not answer"
        elif len(behind) < self.size:
            names = ", ".join(f"{rank} on {places[rank].host}" for rank in behind)
            text = f"rank {names} is still at: {places[behind[0]].step}"
        else:
            text = f"all ranks are still at: {places[0].step}"
        more = f"--rank-timeout-s {2 * self.timeout_s:g}"
        print_error(f"no progress for {self.timeout_s:g} s: {text}. It hangs, or needs more time: {more}")


class Ranks:
    """This rank among those that torchrun started; the only one without torchrun."""

    def __init__(self, *, device: str = "auto", timeout_s: float = 300.0) -> None:
        """`device`: "cpu" (gloo), "cuda" (NCCL) or "auto", GPUs if there are some. Raises Error if there are too few, or if
        `timeout_s` is not above 0."""
        if timeout_s <= 0:
            raise Error(f"--rank-timeout-s is {timeout_s:g}; give seconds above 0")
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        if device == "cuda" and not torch.cuda.is_available():
            raise Error("--device cuda: PyTorch finds no usable GPU; give --device cpu", "backend")
        local_rank = int(os.environ.get("LOCAL_RANK", "0"))
        local_size = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        if device == "cuda" and local_size > torch.cuda.device_count():
            gpus = torch.cuda.device_count()
            raise Error(f"--nproc-per-node {local_size}: there are {gpus} GPUs; start a rank for each", "backend")
        self.device = torch.device("cuda", local_rank) if device == "cuda" else torch.device("cpu")
        self.local_size = local_size
        if self.device.type == "cuda":
            torch.cuda.set_device(self.device)
        else:
            torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // local_size))
        self.store: Store = HashStore()
        self.rank, self.size = 0, 1
        if "RANK" in os.environ:
            self.store, self.rank, self.size = next(iter(rendezvous("env://")))
        if self.size == local_size:
            os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        # Whoever waits for a rank must not give up before the watchdog has named it.
        timeout = timedelta(seconds=2 * timeout_s + 60)
        self.watchdog = Watchdog(PrefixStore("watchdog", self.store.clone()), self.rank, self.size, timeout_s)
        backend = "nccl" if self.device.type == "cuda" else "gloo"
        dist.init_process_group(
            backend,
            store=PrefixStore("ranks", self.store),
            rank=self.rank,
            world_size=self.size,
            timeout=timeout,
            device_id=self.device if backend == "nccl" else None,
        )
        control = dist.new_group(backend="gloo", timeout=timeout)
        assert isinstance(control, dist.ProcessGroup)
        self.control = control
        self.step("start")

    def step(self, step: str) -> None:
        """This rank begins `step`: it does not hang. All ranks take the same steps."""
        self.watchdog.step(step)

    def barrier(self) -> None:
        """Waits until all ranks are here, and this one's device is idle."""
        self.synchronize()
        dist.barrier(group=self.control)

    def synchronize(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def hardware(self) -> str:
        """The name of this rank's device."""
        if self.device.type == "cuda":
            return torch.cuda.get_device_name(self.device)
        try:
            lines = Path("/proc/cpuinfo").read_text().splitlines()
        except OSError:
            lines = []
        names = (line.split(":")[1].strip() for line in lines if line.startswith("model name"))
        return next(names, platform.machine())

    def gather(self, value: Value) -> list[Value]:
        """The `value` of each rank, on all ranks."""
        values: list[Any] = [None] * self.size
        dist.all_gather_object(values, value, group=self.control)
        return values

    def from_first(self, value: Value) -> Value:
        """The `value` of rank 0, on all ranks."""
        values = [value]
        dist.broadcast_object_list(values, 0, group=self.control)
        return values[0]

    def close(self) -> None:
        self.barrier()
        self.watchdog.stop()
        # Rank 0 may keep the store that the other watchdogs read.
        self.barrier()
        dist.destroy_process_group()

    def fail(self, message: str) -> NoReturn:
        """Ends this process, and with it the run: torchrun ends the other ranks, or they fail for want of this one. The
        first to fail says why."""
        try:
            first = self.store.add("failed", 1) == 1
        except RuntimeError:  # The process that keeps the store has ended.
            first = True
        if first:
            print_error(message)
        os._exit(EXIT_CODE)


class Progress:
    """A line of the first rank: in place on terminals, else a new one every `every_s` seconds."""

    def __init__(self, rank: int, every_s: float) -> None:
        self.rank = rank
        self.every_s = every_s
        self.said = 0.0

    def __call__(self, text: str) -> None:
        if self.rank > 0:
            return
        if sys.stderr.isatty():
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
        elif time.monotonic() - self.said > self.every_s:
            self.said = time.monotonic()
            print(text, file=sys.stderr, flush=True)

    def end(self) -> None:
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def add_rank_options(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--device", choices=["auto", "cpu", "cuda"], default="auto",
        help="cuda: a GPU each, and NCCL; cpu: gloo; auto: GPUs if there are some (default)",
    )
    made.add_argument(
        "--rank-timeout-s", type=float, default=300.0, metavar="SECONDS",
        help="time without progress after which a rank ends the run (default: %(default)g)",
    )


def run_on_ranks(
    options: argparse.Namespace,
    run: Callable[[argparse.Namespace, Ranks, Progress], int],
    *,
    check: Callable[[argparse.Namespace], None] = lambda options: None,
    progress_s: float = math.inf,
) -> int:
    """This rank of a command: `check`, then `run`. Returns its exit code. `options`: those of add_rank_options() among
    them. An error of `run` on any rank ends the run."""
    try:
        check(options)
        ranks = Ranks(device=options.device, timeout_s=options.rank_timeout_s)
    except Error as error:
        if os.environ.get("RANK", "0") == "0":
            print_error(str(error))
        return EXIT_CODE
    silence_torchrec()
    progress = Progress(ranks.rank, progress_s)
    try:
        code = run(options, ranks, progress)
    except Error as error:
        progress.end()
        ranks.fail(str(error))
    except Exception as error:
        ranks.fail(f"rank {ranks.rank}: {type(error).__name__}: {error}")
    progress.end()
    ranks.close()
    return code


def silence_torchrec() -> None:
    """Leaves out warnings of TorchRec's planner and of tracing, neither of which is used where tables are timed."""
    logging.disable(logging.WARNING)
    warnings.filterwarnings("ignore", module="torch")


def print_error(message: str) -> None:
    sys.stdout.flush()
    print(f"neuroshard: error: {message}", file=sys.stderr, flush=True)
