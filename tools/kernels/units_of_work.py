"""Instructions of a warp for one unit of work: a step of a placement, a tile of shards."""

import heapq
import re
from collections.abc import Callable
from dataclasses import dataclass

from control_flow import ControlFlow, Loop
from sass import Instruction
from source_lines import functions_of


@dataclass(frozen=True)
class InnerLoop:
    """A loop that the way through a unit of work passes, and how often it turns. The one with the fewest instructions
    is meant among the innermost loops that `is_it` describes."""

    turns: int
    is_it: Callable[[Loop], bool]


@dataclass(frozen=True)
class Unit:
    """`marks`: the loop of the unit is the smallest one with instructions of all these names, most of whose
    instructions are of `function` or were inlined into it, if that is given."""

    name: str
    marks: tuple[str, ...]
    in_a_pass: int = 1  # So many are done by a pass of the loop.
    inner: tuple[InnerLoop, ...] = ()
    function: str = ""
    is_modelled: bool = True


@dataclass(frozen=True)
class Way:
    """A pass of a unit's loop. `side_by_side`: addresses of loads from shared memory of which lanes do not read the
    same, and which take twice as long for it."""

    unit: Unit
    code: tuple[Instruction, ...]
    side_by_side: frozenset[int]


_HEAD = "RegisterHead<32, 64>"

# The sum of a warp (shuffles) and its minimum (REDUX) make the step of a placement, whatever the head.
_STEP = Unit("step", ("SHFL", "REDUX", "FFMA"), function="place_greedily")


def _ids_are_read_four_at_a_time(loop: Loop) -> bool:
    return loop.count("add") >= 64 and loop.count("fma") == 0 and loop.count("shared") == 36


def _ids_are_read_one_at_a_time(loop: Loop) -> bool:
    return loop.count("add") >= 64 and loop.count("fma") == 0 and loop.count("shared") == 48


def _adds_four_embeddings(loop: Loop) -> bool:
    return loop.count("add") == 4 and loop.count("global") == 8


def _copies_ids(loop: Loop) -> bool:
    return any(instruction.name == "LDGSTS" for instruction in loop.body)


def _multiplies(loop: Loop) -> bool:
    return loop.count("fma") >= 128 or loop.count("tensor") > 0


def _shards(tables: int, products: int, even: bool = True) -> Unit:
    """Unit of tiles of 32 shards. `products`: turns of the loop that multiplies. `even`: all shards have the same
    number of tables, so that ids are read four at a time; else one shard has more tables."""
    gather = InnerLoop(tables // 4, _ids_are_read_four_at_a_time if even else _ids_are_read_one_at_a_time)
    name = f"shard of {tables} tables" if even else f"shard of at most {tables} tables"
    inner = (gather, InnerLoop(1, _copies_ids), InnerLoop(products, _multiplies))
    return Unit(name, ("SHFL", "STG", "FFMA"), 32, inner)


# A warp takes one shard after another.
_FOUR_TIMES_FOUR_TABLES = InnerLoop(4, _adds_four_embeddings)
_SHARD = Unit("shard of 16 tables", ("SHFL", "STG", "FFMA"), inner=(_FOUR_TIMES_FOUR_TABLES,), is_modelled=False)


def units_of(kernel: str) -> list[Unit]:
    """Units of a kernel by its name without parameters. Kernels whose loops turn as often as networks have layers, or
    as there are devices for a lane, have none."""
    if kernel in (f"place_candidates_kernel<{_HEAD}, LaneDevices>", f"search_beams_kernel<{_HEAD}, LaneDevices, true>"):
        return [_STEP]
    if kernel == f"score_shards_kernel<{_HEAD} >":
        return [_SHARD]
    if kernel == "score_shards_gemm_kernel<true>":
        return [_shards(16, 7), _shards(8, 7), _shards(16, 7, even=False)]
    if kernel == "score_shards_tensor_kernel<true>":
        return [_shards(16, 8), _shards(8, 8)]
    return []


def loop_of(flow: ControlFlow, unit: Unit) -> Loop | None:
    marked = [
        loop
        for loop in flow.loops
        if set(unit.marks) <= {instruction.name for instruction in loop.body} and _is_of(loop, unit.function)
    ]
    return min(marked, key=lambda loop: len(loop.body), default=None)


def _is_of(loop: Loop, function: str) -> bool:
    return not function or 2 * sum(function in functions_of(one) for one in loop.body) > len(loop.body)


def hot_loop(flow: ControlFlow, kernel: str) -> Loop | None:
    """A step for kernels that place, and all of it for a warp that takes a shard. For others it is the innermost loop
    with the most arithmetic of floats; without any, the one with the most instructions."""
    if kernel.startswith(("place_candidates_kernel", "search_beams_kernel")):
        return loop_of(flow, _STEP)
    if kernel.startswith(f"score_shards_kernel<{_HEAD}"):
        return loop_of(flow, _SHARD)
    return max(flow.innermost(), key=lambda loop: (loop.arithmetic, len(loop.body)), default=None)


def way_of(flow: ControlFlow, unit: Unit) -> Way:
    """The shortest way through the unit's loop that passes its inner loops, in the order of their addresses: what may
    be left out is left out, but within those loops nothing is. ValueError if there is none: the code has changed its
    shape."""
    loop = loop_of(flow, unit)
    if loop is None:
        raise ValueError(f"no loop takes a {unit.name}")
    inner = [(_find(flow, loop, one), one.turns) for one in unit.inner]
    inner.sort(key=lambda found: found[0].header)
    blocks: list[int] = []
    at = loop.header
    for part, turns in inner:
        blocks += _shortest(flow, at, part.header, loop.blocks)
        turn = sorted(part.blocks)
        at = max(block for block in turn if not part.blocks.issuperset(flow.blocks[block].next))
        blocks += turn * (turns - 1) + turn[: turn.index(at)]
    blocks += _shortest(flow, at, loop.header, loop.blocks)
    code = flow.code(blocks)
    if left_out := set(unit.marks) - {instruction.name for instruction in code}:
        raise ValueError(f"a {unit.name} may be done without {', '.join(sorted(left_out))}")
    return Way(unit, code, frozenset(address for part, _ in inner for address in _side_by_side(part)))


def _find(flow: ControlFlow, outer: Loop, wanted: InnerLoop) -> Loop:
    found = [loop for loop in flow.innermost() if loop.blocks < outer.blocks and wanted.is_it(loop)]
    if not found:
        raise ValueError("a loop within that of the unit of work is missing")
    return min(found, key=lambda loop: len(loop.body))


def _shortest(flow: ControlFlow, start: int, end: int, within: frozenset[int]) -> list[int]:
    """The blocks from `start` on, without `end`, with the fewest instructions. To itself, a way goes round."""
    done: set[int] = set()
    ways: list[tuple[int, list[int]]] = [(len(flow.blocks[start].body), [start])]
    while ways:
        length, way = heapq.heappop(ways)
        for block in flow.blocks[way[-1]].next:
            if block == end:
                return way
            if block in within and block not in done:
                heapq.heappush(ways, (length + len(flow.blocks[block].body), [*way, block]))
        done.add(way[-1])
    raise ValueError("there is no way")


def _side_by_side(loop: Loop) -> list[int]:
    """Loads of 16 bytes of which more than two lanes read different ones: rows of embeddings, whose addresses are
    made of ids (those of ids themselves are counted up); and weights that tensor cores multiply with, the most loads
    from one address."""
    loads = [i for i in loop.body if i.name == "LDS" and i.access_bytes == 16]
    bases = [_registers(load)[-1] for load in loads]
    if loop.count("add") >= 64:
        counted = {_registers(i)[0] for i in loop.body if i.name in ("IADD3", "VIADD") and _is_counted(i)}
        return [load.address for load, base in zip(loads, bases, strict=True) if base not in counted]
    if loop.count("tensor"):
        most = max(bases, key=bases.count)
        return [load.address for load, base in zip(loads, bases, strict=True) if base == most]
    return []


def _registers(instruction: Instruction) -> list[str]:
    return re.findall(r"\bR\d+", instruction.text)


def _is_counted(instruction: Instruction) -> bool:
    registers = _registers(instruction)
    return len(registers) == 2 and registers[0] == registers[1]
