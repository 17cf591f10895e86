"""Times of the embedding operators of a device for some tables."""

from collections.abc import Sequence

import torch

from neuroshard._core import Table, table_access
from neuroshard.calibrate.operator_times import TIMED_OPTIMIZERS, POOLING_MODES, WEIGHT_TYPES, OperatorCase, TimedOperator
from neuroshard.errors import Error
from neuroshard.fused_optimizers import ON_CPUS
from neuroshard.lookups import TableAccess


def require_timed(tables: Sequence[Table], device: torch.device) -> None:
    """Raises Error if the operators of some table cannot be timed."""
    optimizers = [name for name in TIMED_OPTIMIZERS if device.type == "cuda" or name in ON_CPUS]
    for index, table in enumerate(tables):
        for what, value, known in (
            ("optimizer", table.optimizer, optimizers),
            ("weight_type", table.weight_type, list(WEIGHT_TYPES)),
            ("pooling", table.pooling, [name for name in POOLING_MODES if name != "none"]),
        ):
            if value not in known:
                where = table.name or f"table {index}"
                raise Error(f"{where}: {what} {value} cannot be timed on this device; give {' or '.join(known)}")


def operator_cases(tables: Sequence[Table], batch: int) -> list[OperatorCase]:
    """Like TorchRec, one operator for all tables of an optimizer, type and pooling."""
    groups: dict[tuple[str, str, str, bool], list[Table]] = {}
    for table in tables:
        groups.setdefault((table.optimizer, table.weight_type, table.pooling, table.weighted), []).append(table)
    return [
        OperatorCase(
            batch,
            [table.dim for table in group],
            [TableAccess(table.rows, *table_access(table, batch)) for table in group],
            *kind,
        )
        for kind, group in groups.items()
    ]


def operators_ms(cases: Sequence[OperatorCase], device: torch.device, warm_up: int, iterations: int) -> float:
    """Forward, backward and update of all of them, one after the other; of each the first quartile, since what else
    runs on a machine only adds."""
    total_ms = 0.0
    for case in cases:
        forward, backward = TimedOperator(case, device).time(warm_up, iterations)
        total_ms += forward.low + backward.low
    return total_ms
