"""Plans from slices, for layouts that were made elsewhere."""

from collections.abc import Sequence

from neuroshard._core import Plan, TableSlice, Task, slices_by_device
from neuroshard.errors import Error

PlacedSlice = tuple[int, int, int, int] | tuple[int, int, int, int, int, int]
"""Device, table, first column, columns; and first row, rows, without which it has all rows."""


def plan_from_slices(task: Task, slices: Sequence[PlacedSlice], replicas: Sequence[int] = ()) -> Plan:
    """The plan that puts each of `slices` where it says, and tables `replicas` whole on every device.

    Raises Error unless slices hold every row and column of every other table once, and have widths that are
    multiples of 4.
    """
    placed: list[tuple[int, int, int, int, int, int]] = []
    tables = task.tables  # Each call copies them.
    for given in slices:
        if len(given) not in (4, 6):
            raise Error(
                f"plan: slice {given} has {len(given)} numbers; give device, table, first column and columns, and first "
                "row and rows or neither"
            )
        device, table, first, columns = given[:4]
        if not 0 <= table < len(task):
            raise Error(f"plan: table {table} is not among the {len(task)} tables of the task")
        if not 0 <= device < task.devices:
            raise Error(f"plan: device {device} is not among the {task.devices} devices of the task")
        first_row, rows = given[4:] if len(given) == 6 else (0, tables[table].rows)
        placed.append((table, first, first_row, columns, rows, device))
    shards: list[list[int]] = [[] for _ in range(task.devices)]
    in_order: list[TableSlice] = []
    for table, first, first_row, columns, rows, device in sorted(placed):
        shards[device].append(len(in_order))
        in_order.append(TableSlice(table, first, columns, first_row, rows))
    plan = Plan(in_order, shards, sorted(replicas))
    slices_by_device(task, plan)  # Raises if it is none for the task.
    return plan
