"""Weights from ranks of torchrun: neuroshard.calibrate."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

import neuroshard as ns
from neuroshard.calibrate.__main__ import hardware_of_all
from neuroshard.calibrate.collection import ProcessorWaits, Slowness
from neuroshard.ranks import Ranks

SECONDS = 300
QUICK = ("--device", "cpu", "--samples", "18", "--comm-samples", "20", "--all-reduce-samples", "20",
         "--id-samples", "20", "--check-tasks", "0")  # fmt: skip
# Few samples on a busy machine.
ANY_ERROR = ("--max-error", "100")
TABLES = [
    {"row": 1000 * (table + 1), "dim": 16 << table % 2, "pooling_factor": 2.0 * table + 1, "optimizer": "sgd"}
    for table in range(6)
]
TASK = {
    "format": "neuroshard.task",
    "version": 1,
    "devices": 2,
    "memory_gb": 1,
    "batch_size": 1024,
    "tables": TABLES,
}


class Folder:
    """Options of a calibration."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.weights = path / "w.safetensors"
        (path / "task.json").write_text(json.dumps(TASK))

    def samples(self, kind: str) -> list[str]:
        data = self.path / "w.safetensors.samples" / kind / "data.txt"
        return data.read_text().splitlines() if data.exists() else []

    def start(self, *more: str) -> subprocess.Popen[str]:
        torchrun = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
        command = (*torchrun, "-m", "neuroshard.calibrate", "--task", "task.json", "--out", "w.safetensors", *QUICK, *more)
        return subprocess.Popen(
            command, cwd=self.path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )

    def run(self, *more: str) -> tuple[int, str, str]:
        """Exit code, output, errors."""
        started = self.start(*more)
        try:
            out, err = started.communicate(timeout=SECONDS)
        finally:
            kill(started)
        return started.returncode, out, err


def kill(started: subprocess.Popen[str]) -> None:
    """With its ranks."""
    for child in ranks_of(started):
        signal_if_there(child, signal.SIGKILL)
    signal_if_there(started.pid, signal.SIGKILL)
    started.wait()


def signal_if_there(process: int, number: int) -> None:
    try:
        os.kill(process, number)
    except ProcessLookupError:
        pass


def ranks_of(started: subprocess.Popen[str]) -> list[int]:
    """In their order, as far as they have been started."""
    children = Path(f"/proc/{started.pid}/task/{started.pid}/children")
    of_rank = {}
    for child in children.read_text().split() if children.exists() else []:
        environment = Path(f"/proc/{child}/environ")
        fields = dict(field.split(b"=", 1) for field in environment.read_bytes().split(b"\0") if b"=" in field)
        if b"RANK" in fields:
            of_rank[int(fields[b"RANK"])] = int(child)
    return [of_rank[rank] for rank in sorted(of_rank)]


def wait_for(samples: int, folder: Folder, kind: str, started: subprocess.Popen[str]) -> None:
    end = time.monotonic() + SECONDS
    while len(folder.samples(kind)) < samples:
        assert started.poll() is None and time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """After a kill among the operators and another among the all-to-alls."""
    folder = Folder(tmp_path_factory.mktemp("calibrated"))
    kept: dict[str, list[str]] = {}
    for kind, samples in (("compute", 4), ("comm_2", 5)):
        started = folder.start(*ANY_ERROR)
        try:
            wait_for(samples, folder, kind, started)
        finally:
            kill(started)
        for name, lines in kept.items():
            assert folder.samples(name)[: len(lines)] == lines
        kept = {name: folder.samples(name) for name in ("compute", "compute_slices", "comm_2")}
    assert not folder.weights.exists()
    code, out, err = folder.run(*ANY_ERROR, "--check-tasks", "1")
    assert code == 0, err[-3000:]
    assert f"wrote {folder.weights.name}" in out
    for name, lines in kept.items():
        assert folder.samples(name)[: len(lines)] == lines
    return folder


def test_a_run_that_was_killed_goes_on(calibrated: Folder) -> None:
    counts = {"compute": 18, "compute_slices": 6, "comm_2": 20, "all_reduce_2": 20, "ids_2": 20}
    assert {name: len(calibrated.samples(name)) for name in counts} == counts


def test_weights_are_of_what_was_timed(calibrated: Folder) -> None:
    weights = ns.Weights.load(calibrated.weights)
    metadata = weights.metadata
    for part in ("compute", "comm.symmetric", "all_reduce", "ids"):
        assert "gloo" in metadata[f"{part}.source"]
        assert metadata[f"{part}.recipe"]
    task = ns.load_task(calibrated.path / "task.json")
    cost = ns.plan(task, weights=weights).cost
    assert cost is not None and cost.cost_ms > 0.0
    # Operators are of the task's tables, at its dims and their halves.
    tables = json.loads((calibrated.path / "w.safetensors.samples" / "compute" / "table_configs.json").read_text())
    assert {table["row"] for table in tables} == {table["row"] for table in TABLES}
    assert {table["dim"] for table in tables} == {4, 8, 16, 32}


def test_the_report_has_recipes_errors_and_plans(calibrated: Folder) -> None:
    text = calibrated.weights.with_suffix(".txt").read_text()
    for part in ("compute: ", "comm.symmetric, forward: ", "comm.symmetric, backward: ", "all_reduce: ", "ids: "):
        assert f"\n{part}" in text
    assert "held back" in text
    for plan in ("neuroshard", "random", "dim_greedy"):
        assert f"task 1, {plan}" in text and f"the task, {plan}" in text
    assert "plans: off by" in text
    page = calibrated.weights.with_suffix(".html").read_text()
    assert "<svg" in page and "task 1, random" in page


def test_a_bad_collection_is_refused_and_the_term_named(calibrated: Folder, tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    for path in (calibrated.path / "w.safetensors.samples").rglob("*"):
        if path.is_file():
            copy = tmp_path / path.relative_to(calibrated.path)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    data = tmp_path / "w.safetensors.samples" / "compute" / "data.txt"
    lines = [line.split() for line in data.read_text().splitlines()]
    factors = (10.0 if index % 2 else 1.0 for index in range(len(lines)))
    data.write_text("".join(f"{ids} {factor * float(cost)}\n" for (ids, cost), factor in zip(lines, factors)))
    code, out, err = folder.run("--max-error", "0.3")
    assert code != 0
    assert "w.safetensors is not written: " in err and "compute: off by" in err
    assert "refused: compute: off by" in out
    assert not folder.weights.exists()
    assert "refused: compute: off by" in folder.weights.with_suffix(".txt").read_text()


def test_a_rank_that_hangs_ends_the_run_and_is_named(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    started = folder.start("--rank-timeout-s", "6")
    try:
        wait_for(2, folder, "compute", started)
        stopped = ranks_of(started)[1]
        os.kill(stopped, signal.SIGSTOP)
        # torchrun waits for half a minute before it kills a rank that does not end.
        out, err = started.communicate(timeout=SECONDS)
    finally:
        kill(started)
    assert started.returncode != 0
    assert "no progress for 6 s: rank 1 does not answer" in err
    assert len(folder.samples("compute")) >= 2


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--batch", "512"], "--batch is 512; costs can be predicted for 1,024 to"),
        (["--samples", "0"], "--samples is 0; give at least 1"),
        (["--task", "missing.json"], "missing.json: cannot be read"),
        (["--from", "abacus"], "--from 'abacus'"),
        (["--out", "no_folder/w.safetensors"], "no_folder/w.safetensors: cannot be written: there is no such folder"),
    ],
)
def test_bad_input_is_named(more: Sequence[str], message: str, tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    samples = ("--samples", "2", "--comm-samples", "1", "--all-reduce-samples", "1")
    code, _, err = folder.run(*samples, *more)
    assert code != 0
    assert message in err


def test_a_rank_that_is_slow_for_all_operators_is_named() -> None:
    slowness = Slowness()
    for cost_ms in (1.0, 5.0, 20.0):
        slowness.add([cost_ms, 1.1 * cost_ms, 1.8 * cost_ms, 0.9 * cost_ms])
    (problem,) = slowness.problems()
    assert problem.startswith("compute: rank 2 takes 1.8")


BUSY = "while True: pass"


def test_waits_for_processors_are_seen() -> None:
    """Two processes share one processor."""
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(processors)})
    busy = subprocess.Popen([sys.executable, "-c", BUSY])
    waits = ProcessorWaits()
    try:
        with waits.watched():
            end = time.process_time() + 0.5
            while time.process_time() < end:
                pass
    finally:
        busy.kill()
        busy.wait()
        os.sched_setaffinity(0, processors)
    assert waits.share() > 0.1


class OfTwoMachines(Ranks):
    """The first rank sees this if the second is on another machine."""

    def __init__(self) -> None:
        self.device = torch.device("cpu")

    def gather(self, value: Any) -> list[Any]:
        return [value, ("Abacus", "node2")]


def test_devices_of_another_name_are_refused() -> None:
    with pytest.raises(ns.Error, match="rank 1 on node2 has Abacus, and rank 0 on .* calibrate for each alone"):
        hardware_of_all(OfTwoMachines())
