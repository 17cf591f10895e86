"""A model of how a quarter of a multiprocessor of Hopper issues instructions, to say how long warps take that execute
given code: one instruction a cycle, those of a warp in order, with the waits that the compiler has written into them.

Latencies come from published micro-benchmarks of Hopper, what accesses to shared memory cost from measurements on an
H100 (nsbench kernels --loads-only). Not in the model: instruction caches, conflicts of banks, loads that miss L2, and
copies to shared memory that are not there in time. It has been too kind wherever it could be compared with a
measurement (docs/kernels.md)."""

import collections
from collections.abc import Sequence
from dataclasses import dataclass

from sass import DOUBLES_AND_CONVERSIONS, INTEGER_CYCLES, NO_BARRIER, Instruction, access_cycles

# Cycles until what an instruction writes can be read, of those that say so by a barrier; of memory, without its
# queue. The compiler knows the others, and writes them into the code.
L2_CYCLES = 262
_LATENCY = {"LDC": 30, "ULDC": 30, "LDS": 29, "SHFL": 24, "HMMA": 33, "S2R": 30, "CS2R": 30, "REDUX": 26, "ATOMS": 64}
_LATENCY |= dict.fromkeys(("LDG", "LD", "ATOMG", "ATOM"), L2_CYCLES)
_LATENCY |= {"STS": 20, "STG": 20, "ST": 20, "LDGSTS": 20}
_LATENCY |= dict.fromkeys(("MUFU", "BREV", "FLO", "POPC", "F2F", "F2I", "I2F", "DADD", "DSETP"), 24)
_WIDE_LOAD = 33  # LDS of 16 bytes.
_LEAST_LATENCY = 6
_OPERANDS_READ = 8
_MEMORY_QUEUE = 24  # Cycles of work that wait for shared memory and L1 before a warp has to.

# Cycles that are not published for Hopper. A barrier of a block whose warps come to it together takes 22 cycles for one
# warp of a V100. A fence takes until what was written before is in L2, and that is known. A warp sleeps so long where
# it asks for 40 ns.
_PAUSE = {"BAR": 30.0, "MEMBAR": float(L2_CYCLES), "NANOSLEEP": 79.0}

_WAIT_FOR_ALL_COPIES = "DEPBAR.LE SB0, 0x0"

# mma.sync reaches some six tenths of the tensor cores' peak on Hopper: 6.5 cycles in place of 4.
_TENSOR_CYCLES = 6.5


@dataclass(frozen=True)
class Issued:
    cycles: float
    at: tuple[float, ...]  # Cycles at which the instructions of the first warp were issued.


def publish_cycles() -> float:
    """From the instruction that adds to a counter in L2 until a block that polls it knows: half a trip there, on the
    average half of the time between two polls, and half a trip back."""
    return L2_CYCLES + (L2_CYCLES + _PAUSE["NANOSLEEP"]) / 2


def issue(
    warps: Sequence[Sequence[Instruction]], side_by_side: frozenset[int], sharing: Sequence[int] | None = None
) -> Issued:
    """Cycles that the warps of a scheduler take. The other three schedulers have as many: of the pipe to shared memory
    and L1 each gets a quarter; but one warp a scheduler does not meet the others there, if `sharing` does not say by
    how many warps the pipe is used at each of its instructions. `side_by_side`: Way's."""
    of_schedulers = 4 if len(warps) > 1 else 1
    next_of = [0] * len(warps)
    ready = [0.0] * len(warps)
    down = [[0.0] * 6 for _ in warps]  # When barriers go down.
    copied = [0.0] * len(warps)  # When copies to shared memory are there.
    free: collections.defaultdict[str, float] = collections.defaultdict(float)
    at = []
    cycle = 0.0
    latest = 0
    while any(position < len(code) for position, code in zip(next_of, warps, strict=True)):
        soonest = float("inf")
        # A warp goes on as long as it can.
        for turn in range(len(warps)):
            warp = (latest + turn) % len(warps)
            if next_of[warp] == len(warps[warp]):
                continue
            instruction = warps[warp][next_of[warp]]
            unit, busy = _unit(instruction, side_by_side)
            can = max([ready[warp], *(down[warp][barrier] for barrier in instruction.waits)])
            if instruction.text == _WAIT_FOR_ALL_COPIES:
                can = max(can, copied[warp])
            if unit:
                can = max(can, free[unit] - (_MEMORY_QUEUE if unit == "memory" else 0))
            if can <= cycle:
                break
            soonest = min(soonest, can)
        else:
            cycle = max(cycle + 1, float(int(soonest + 0.999)))
            continue
        queue = 0.0
        if unit:
            if unit == "memory":
                busy *= sharing[next_of[warp]] if sharing else of_schedulers
            begin = max(free[unit], cycle)
            free[unit] = begin + busy
            queue = begin - cycle + (busy if unit == "memory" else 0)
        if instruction.written != NO_BARRIER:
            done = cycle + max(_latency(instruction) + queue, _LEAST_LATENCY)
            down[warp][instruction.written] = max(down[warp][instruction.written], done)
        if instruction.was_read != NO_BARRIER:
            done = cycle + max(_OPERANDS_READ, queue)
            down[warp][instruction.was_read] = max(down[warp][instruction.was_read], done)
        if instruction.name == "LDGSTS":
            copied[warp] = cycle + L2_CYCLES + queue
        if warp == 0:
            at.append(cycle)
        ready[warp] = cycle + max(1, instruction.stall, _PAUSE.get(instruction.name, 0))
        next_of[warp] += 1
        latest = warp
        cycle += 1
    return Issued(cycle, tuple(at))


def _unit(instruction: Instruction, side_by_side: frozenset[int]) -> tuple[str, float]:
    """Unit that an instruction needs besides the scheduler, and for how many cycles."""
    kind, name = instruction.kind, instruction.name
    if kind in ("shared", "global", "shuffle"):
        return "memory", access_cycles(instruction, side_by_side)
    if kind in ("fma", "add"):
        return "fp32", 1.0
    if kind == "tensor":
        return "tensor", _TENSOR_CYCLES
    if name == "IMAD":
        return "fp32", 2.0 if ".WIDE" in instruction.operation else 1.0
    if name in DOUBLES_AND_CONVERSIONS:
        return "fp64", 2.0
    return ("integer", INTEGER_CYCLES) if instruction.is_integer else ("", 0.0)


def _latency(instruction: Instruction) -> float:
    if instruction.name == "LDS" and instruction.access_bytes == 16:
        return _WIDE_LOAD
    return _LATENCY.get(instruction.name, 0)
