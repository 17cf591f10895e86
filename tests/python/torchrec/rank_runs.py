"""Runs the ranks of a test: a program of this folder, `SCRIPT RANK WORLD_SIZE FOLDER`, once for each rank."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SECONDS = 300
RANKS_OF_NODE = 2


def results_of_ranks(script: str, world_size: int, folder: Path, options: Sequence[str] = ()) -> list[Any]:
    """Results that each rank writes to `results of rank RANK` in `folder`, as JSON. All have to end with 0. `options`
    are Python's. Hashes of strings are alike on all ranks, by which TorchRec tags what it sends."""
    logs = [folder / f"log of rank {rank}" for rank in range(world_size)]
    ranks = []
    for rank, log in enumerate(logs):
        command = [sys.executable, *options, script, str(rank), str(world_size), str(folder)]
        with log.open("w") as output:
            environment = {
                **os.environ,
                "RANK": str(rank),
                "WORLD_SIZE": str(world_size),
                "LOCAL_RANK": str(rank % RANKS_OF_NODE),
                "LOCAL_WORLD_SIZE": str(RANKS_OF_NODE),
                "GLOO_SOCKET_IFNAME": "lo",
                "PYTHONHASHSEED": "0",
            }
            here = Path(__file__).parent
            ranks.append(
                subprocess.Popen(command, cwd=here, stdout=output, stderr=subprocess.STDOUT, env=environment)
            )
    try:
        returned = [process.wait(timeout=SECONDS) for process in ranks]
    finally:
        for process in ranks:
            process.kill()
    assert returned == [0] * world_size, "\n".join(log.read_text()[-3000:] for log in logs)
    return [json.loads((folder / f"results of rank {rank}").read_text()) for rank in range(world_size)]
