"""Plans for ranks to run, and how the tests start ranks."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import neuroshard as ns
from neuroshard.placed_slices import PlacedSlice, plan_from_slices

HERE = Path(__file__).parent
BATCH = 1024
SECONDS = 300


def table(**fields: object) -> dict[str, object]:
    """As a task file has it."""
    return {"row": 2000, "dim": 16, "pooling_factor": 3.0, **fields}


def task_text(tables: Sequence[dict[str, object]], devices: int, **fields: object) -> str:
    document = {"format": "neuroshard.task", "version": 1, "devices": devices, "memory_gb": 1.0, "batch_size": BATCH}
    return json.dumps({**document, "tables": list(tables), **fields})


def write_plan(path: Path, task: ns.Task, slices: Sequence[PlacedSlice], replicas: Sequence[int] = ()) -> str:
    path.write_text(ns.simulate(task, plan_from_slices(task, slices, replicas)).to_json())
    return str(path)


def run_ranks(size: int, *command: str) -> subprocess.CompletedProcess[str]:
    """`command`: a script, or "-m" and a module, with its arguments. Without torchrun if there is one rank."""
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(size)] if size > 1 else []
    started = [sys.executable, *torchrun, *command]
    return subprocess.run(started, cwd=HERE, capture_output=True, text=True, timeout=SECONDS)
