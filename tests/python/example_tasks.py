"""Tasks that several tests plan."""

import random
from typing import Any

import neuroshard as ns

GIB = ns.bytes_from_gib(1)


def random_task(seed: int, tables: int = 12, devices: int = 4, memory_bytes: int = 4 * GIB) -> ns.Task:
    """Tables of 1,000 to 2 million rows and 16 to 128 columns."""
    draw = random.Random(seed)
    return ns.Task(
        [
            ns.Table(
                rows=draw.randrange(1000, 2_000_000),
                dim=draw.choice([16, 32, 64, 128]),
                pooling_factor=draw.choice([1.0, 3.5, 20.0]),
                name=f"table_{index}",
            )
            for index in range(tables)
        ],
        devices=devices,
        memory_bytes=memory_bytes,
        name=f"random {seed}",
    )


def document_of(task: ns.Task) -> dict[str, Any]:
    """The task file of `task`."""
    return {
        "format": "neuroshard.task",
        "version": 1,
        "name": task.name,
        "devices": task.devices,
        "memory_gb": task.memory_bytes / GIB,
        "tables": [
            {"name": t.name, "row": t.rows, "dim": t.dim, "pooling_factor": t.pooling_factor}
            | {f"bin_{i}": share for i, share in enumerate(t.access_histogram)}
            for t in task.tables
        ],
    }
