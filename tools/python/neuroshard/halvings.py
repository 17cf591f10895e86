"""Plans from slices, for layouts that were made elsewhere."""

from collections.abc import Iterator, Sequence

from neuroshard._core import Plan, Task
from neuroshard.errors import Error

DIM_MULTIPLE = 4
"""A column split leaves pieces whose number of columns is a multiple of this."""


def plan_from_slices(task: Task, slices: Sequence[tuple[int, int, int, int]]) -> Plan:
    """The plan that puts each (device, table, first column, columns) of `slices` where it says.

    Raises Error unless the slices hold every column of every table once, and each is a half of a
    half of ... of its table, since these are all that plans know.
    """
    of_table: list[dict[tuple[int, int], int]] = [{} for _ in task.tables]
    for device, table, first, columns in slices:
        if not 0 <= table < len(task):
            raise Error(f"plan: table {table} is not among the {len(task)} tables of the task")
        if not 0 <= device < task.devices:
            raise Error(f"plan: device {device} is not among the {task.devices} devices of the task")
        if (first, columns) in of_table[table]:
            raise Error(f"plan: table {table}: columns {first} to {first + columns - 1} are placed twice")
        of_table[table][first, columns] = device
    column_splits: list[int] = []
    shards: list[list[int]] = [[] for _ in range(task.devices)]
    slices_so_far = len(task)

    def place(table: int, index: int, first: int, columns: int) -> Iterator[int]:
        """Halves columns of `table` until they are a slice, and yields the devices that they went to."""
        nonlocal slices_so_far
        device = of_table[table].get((first, columns))
        if device is not None:
            shards[device].append(index)
            yield device
            return
        if columns % (2 * DIM_MULTIPLE) != 0:
            raise Error(
                f"plan: table {table}: columns {first} to {first + columns - 1} are no slice, nor can they be "
                "halved; plans have halves of halves of tables only"
            )
        column_splits.append(index)
        second = slices_so_far
        slices_so_far += 1
        yield from place(table, index, first, columns // 2)
        yield from place(table, second, first + columns // 2, columns // 2)

    for index, whole in enumerate(task.tables):
        if len(list(place(index, index, 0, whole.dim))) != len(of_table[index]):
            raise Error(f"plan: table {index}: columns are placed twice, or are not the table's")
    return Plan(column_splits, shards)
