"""How long units of work take by the issue model."""

from issue_model import issue
from sass import Instruction
from units_of_work import Way

# Multiply-adds of fp32 of a shard, by the head 32-64-1; and how many a multiprocessor does in a cycle.
_SHARD_FMA = 2112
_FMA_OF_CYCLE = 128

CLOCK_MHZ = 1980  # Clock of an H100 or H200.

_SCHEDULERS = 4
_SCORING_WARPS = 4  # A scheduler's.


def step_cycles(way: Way, warps: int) -> float:
    """Cycles of a step of one placement, with so many warps a scheduler."""
    few, many = 8, 24
    cycles = [issue([way.code * steps] * warps, way.side_by_side).cycles for steps in (few, many)]
    return (cycles[1] - cycles[0]) / (many - few)


def shard_cycles(way: Way) -> float:
    """Cycles of a multiprocessor for a shard."""
    few, many = 3, 9
    cycles = []
    for tiles in (few, many):
        # Warps set out at different times, as they do after a few tiles.
        warps = [(way.code * tiles)[len(way.code) * warp // _SCORING_WARPS :] for warp in range(_SCORING_WARPS)]
        cycles.append(issue(warps, way.side_by_side).cycles)
    shards = (many - few) * way.unit.in_a_pass * _SCORING_WARPS * _SCHEDULERS
    return (cycles[1] - cycles[0]) / shards


def share_of_fma_peak(cycles_of_shard: float) -> float:
    """Share of the peak in the multiply-adds that a shard takes in fp32, whatever computes them."""
    return _SHARD_FMA / _FMA_OF_CYCLE / cycles_of_shard


def step_parts(way: Way) -> dict[str, float]:
    """Where the cycles of a step go if its warp is the scheduler's only one."""
    steps = 12
    at = issue([way.code * steps], way.side_by_side).at
    begin = (steps - 2) * len(way.code)
    names = [instruction.name for instruction in way.code]
    last_shuffle = len(names) - 1 - names[::-1].index("SHFL")
    marks = {
        "until the head's first load": _first_wide_load(way.code),
        "that load": names.index("FFMA"),
        "the head's hidden units": names.index("FMNMX"),
        "its output unit": names.index("SHFL"),
        "sum over the warp": names.index("FADD", last_shuffle),
        "the next device": len(names),
    }
    parts = {}
    before = at[begin]
    for part, mark in marks.items():
        parts[part] = at[begin + mark] - before
        before = at[begin + mark]
    return parts


def _first_wide_load(code: tuple[Instruction, ...]) -> int:
    return next(i for i, of in enumerate(code) if of.name == "LDS" and of.access_bytes == 16)
