"""How long a beam search takes by the issue model: the published search of a plan for 4 devices and 40 tables, alone on
the device. The model follows one warp of search_beams from the moment that a level is published until the next one is,
from level to level; and before the first one. All of it is a chain: the block that completes a level chooses the next
one.

The way is that of warp 0, but for what waits for another warp: the third state of the beam is split by warp 2, and the
last candidates are compared with all others by warp 3. Numbers of turns are the largest that the sizes of the search
allow."""

import collections
from collections.abc import Sequence
from dataclasses import dataclass

import issue_model
from control_flow import ControlFlow
from sass import Instruction
from source_lines import functions_of, lines_of
from walk import LoopTurns, NotHere, Skip, Walk, block_with

KERNEL = "search_beams_kernel<RegisterHead<32, 64>, LaneDevices, true>"

# Three states of 40 slices, of each the 10 costliest and the 10 largest slices, halved at most ten times; under four
# limits a block, by as many warps. Pieces: of 40 tables of dims up to 128, at each of their halved dims.
LEVELS = 10
_SLICES = 40
_WIDTH = 3
_CHILDREN = 20
_CANDIDATES = 1 + _WIDTH * _CHILDREN
_PIECES = 162
_WARPS = 4
_LANES = 32
_CHUNK = 16  # Bytes that a lane copies at a time.

# Outputs of the layers of either communication network, and inputs of all layers.
_OUTPUTS = (128, 64, 32, 16, 4)
_INPUTS = ((4, *_OUTPUTS[:-1]), (8, *_OUTPUTS[:-1]))

STEPS = "steps of the longest placement"
NETWORKS = "communication networks"
# Functions whose instructions make a part of a level: the first that is among the functions of an instruction. An
# instruction in none but the kernel's own counts as the last.
_PARTS = {
    "see the level published": ("wait_above",),
    "load what is known of it": ("load_level",),
    "order the pieces": ("fill_slots",),
    STEPS: ("place_greedily",),
    NETWORKS: ("final_costs",),
    "find limits, keep the best": ("place_block", "store_best"),
    "count the item": ("complete_item",),
    "split states, list children": ("split_state", "try_slices"),
    "find equal candidates": ("list_placed",),
    "publish": ("go_on",),
    "price and choose": ("advance",),
    "between these": ("search_beams_kernel",),
}
PARTS = tuple(_PARTS)


@dataclass(frozen=True)
class Chain:
    """Instructions that a warp executes, and for each how many warps use the pipe to shared memory meanwhile."""

    code: tuple[Instruction, ...]
    sharing: tuple[int, ...]

    def issued_at(self) -> tuple[float, ...]:
        # Loads of weights: each lane reads its own output's.
        side_by_side = frozenset(
            instruction.address
            for instruction in self.code
            if instruction.name == "LDS" and any("read.weights = " in line for line in lines_of(instruction))
        )
        return issue_model.issue([self.code], side_by_side, self.sharing).at


@dataclass(frozen=True)
class Search:
    """Cycles, of `parts` the mean over all levels. `trips` to L2 that a level waits for, with fences; `code_bytes` that
    it executes at all."""

    begin: float
    parts: dict[str, float]
    instructions: float
    trips: float
    code_bytes: int

    @property
    def level(self) -> float:
        return sum(self.parts.values())

    @property
    def cycles(self) -> float:
        return self.begin + LEVELS * self.level


def search(flow: ControlFlow) -> Search:
    """ValueError if the code has changed its shape."""
    parts: collections.defaultdict[str, float] = collections.defaultdict(float)
    instructions = 0
    trips = 0
    for level in range(LEVELS):
        chain = chain_of_level(flow, level)
        at = chain.issued_at()
        instructions += len(chain.code)
        for before, now, instruction in zip((0.0, *at), at, chain.code):
            parts[_part(instruction)] += now - before
            trips += now - before > issue_model.L2_CYCLES * 0.8
        parts["see the level published"] += issue_model.publish_cycles()
    mean = {part: parts[part] / LEVELS for part in PARTS}
    code_bytes = 16 * len({instruction.address for instruction in chain.code})
    return Search(chain_of_begin(flow).issued_at()[-1], mean, instructions / LEVELS, trips / LEVELS, code_bytes)


def chain_of_begin(flow: ControlFlow) -> Chain:
    """From the begin of the kernel until the first level is published."""
    loops = [*_loops_of_begin(), *_loops_of_state(_SLICES, 0)]
    walk = Walk(flow, loops, _SKIPS, [NotHere(r"^write_result: ")])
    return _chain(flow, walk, walk.way(0, _publishing(flow, "begin")), loops)


def chain_of_level(flow: ControlFlow, level: int) -> Chain:
    """From behind the poll that sees it published. Its candidates are placed in as many slices as the first state has,
    `level` and one more."""
    loops = [*_loops_of_level(level), *_loops_of_state(_SLICES + level + 1, level + 1)]
    elsewhere = [NotHere(r"^(begin|write_result|tile_mlp|tile_one_output_layer|shared_inputs|symmetric_feature): ")]
    walk = Walk(flow, loops, [*_SKIPS, *_SKIPS_OF_LEVEL], elsewhere)
    way = walk.way(block_with(flow, "MEMBAR", "^wait_above"), _publishing(flow, "advance"))
    return _chain(flow, walk, way, [*loops, *_SKIPS_OF_LEVEL])


def _chain(flow: ControlFlow, walk: Walk, way: list[int], expected: Sequence[LoopTurns | Skip]) -> Chain:
    # So that nothing is missed of what the compiler has left out, or put elsewhere.
    expected = [rule for rule in expected if isinstance(rule, Skip) or any(rule.turns)]
    if missed := [rule.line for rule in expected if rule not in walk.used]:
        raise ValueError(f"the way does not come by {', '.join(missed)}")
    code: list[Instruction] = []
    sharing: list[int] = []
    barriers = 0
    for block in way:
        body = [instruction for instruction in flow.blocks[block].body if not _is_left_out(instruction)]
        functions = [functions_of(instruction) for instruction in body]
        in_steps = sum("place_greedily" in names for names in functions) * 2 > len(body)
        in_layers = sum("few_rows_mlp" in names for names in functions) * 2 > len(body)
        # A barrier before the first layer, and one behind each.
        layer = barriers % (len(_OUTPUTS) + 1) - 1
        warps = 1 if in_steps else min(_WARPS, _turns(_OUTPUTS[layer])) if in_layers and layer >= 0 else _WARPS
        barriers += in_layers and any(instruction.name == "BAR" for instruction in body)
        code += body
        sharing += [warps] * len(body)
    return Chain(tuple(code), tuple(sharing))


def _is_left_out(instruction: Instruction) -> bool:
    """By its predicate: to read from device memory what was copied before."""
    return bool(instruction.predicate) and instruction.name == "LDG" and "comm_network" in functions_of(instruction)


def _publishing(flow: ControlFlow, caller: str) -> int:
    """The block that publishes a level with candidates."""
    for number, block in enumerate(flow.blocks):
        fences = [instruction for instruction in block.body if instruction.name == "MEMBAR"]
        if not any({"go_on", caller} <= set(functions_of(fence)) for fence in fences):
            continue
        if any("const unsigned items" in line for instruction in block.body for line in lines_of(instruction)):
            return number
    raise ValueError(f"nothing publishes a level for {caller}")


def _part(instruction: Instruction) -> str:
    functions = functions_of(instruction)
    for part in PARTS:
        if not set(_PARTS[part]).isdisjoint(functions):
            return part
    return PARTS[-1]


def _turns(count: int, each: int = _LANES) -> int:
    return -(-count // each)


def _loops(turns: dict[str, int | tuple[int, ...]]) -> list[LoopTurns]:
    return [LoopTurns(line, count if isinstance(count, tuple) else (count,)) for line, count in turns.items()]


# Bytes of the states of a level, and its candidates: beam_layout().
_STATE_BYTES = _CHUNK * _turns(4 * (3 * (_SLICES + LEVELS) + 2 * LEVELS), _CHUNK)
_COPIED_BYTES = _WIDTH * _STATE_BYTES + 16 * _CANDIDATES
_LEVEL_BYTES = _COPIED_BYTES + 2 * 4 * _CANDIDATES + 48


def _loops_of_begin() -> list[LoopTurns]:
    """Loops of what is in no level."""
    block = _LANES * _WARPS
    return _loops(
        {
            # The view of the search, then of its task; of all pieces 16 bytes, four, and one.
            r"^start_copy: .*at < bytes": (1, 1, _turns(_PIECES, block), _turns(_PIECES, block), 1),
            r"^begin: .*i < slices": 1,
            r"^begin: .*s < block_\.beam\(\)\.sizes\.width": 1,
        }
    )


def _loops_of_state(slices: int, splits: int) -> list[LoopTurns]:
    """To list the children of states of so many slices, and to publish them."""
    return _loops(
        {
            r"^children_to_try: .*marks\[i\] = 0": _turns(slices),
            r"^children_to_try: .*i < min\(count, wanted\)": 1,
            r"^children_to_try: .*first < count": _turns(slices),
            r"^children_to_try: .*i < most": 1,
            r"^go_on: .*i < chunks": _turns(_COPIED_BYTES, _CHUNK * _LANES * _WARPS),
            r"^list_placed: .*c < end": 1,
            # Turns of either lane.
            r"^first_with_key: .*first >= 0": _turns(_CANDIDATES, 32),
            r"^same_halved: .*i < splits": splits // 4,
            # Words before the candidate's last one, then all.
            r"^placed_before: .*i < word": (_turns(_CANDIDATES, 16) - 1, _turns(_CANDIDATES, 16)),
        }
    )


def _loops_of_level(level: int) -> list[LoopTurns]:
    """Loops of the rest: what is placed, priced and split."""
    slices = _SLICES + level
    return _loops(
        {
            r"^last_offset: .*d < devices": 1,
            r"^load_level: .*i < count": _turns(_LEVEL_BYTES, 2 * _CHUNK * _LANES * _WARPS),
            r"^fill_slots: .*s < slots": 1,
            r"^order_child: .*first < count": _turns(slices),
            # All four turns are behind the loop that does 16 at a time.
            r"^place_greedily: .*all_sums\[i\] = 0": 0,
            r"^place_greedily: .*pending\[--waiting\]": 1,
            # While all devices are empty they tie: two steps go the long way.
            r"^place_greedily: continue": (1, 1, slices - 1),
            r"^place_greedily: if \(!placed\) break": 3,
            r"^final_costs: .*pass < 2": 2,
            r"^final_costs: .*forward && row < count": (0, 1),
            r"^final_costs: .*int row = warp_index\(\); row < count": 1,
            # A lane for each of the four devices.
            r"^start_offsets: .*d < devices": 0,
            r"^slowest_device: .*d < devices": 1,
            r"^comm_network: .*(first < rows|row < count|i < round_to_4\(inputs\)|i < outputs)": 1,
            r"^few_rows_mlp: .*k < mlp.count": len(_OUTPUTS),
            r"^few_rows_mlp: .*(output < round_to_4|output \+= threads)": 1,
            r"^add_quads: .*quad < quads; \+\+quad": tuple(inputs[0] // 4 for inputs in _INPUTS),
            # Four quads a turn; two are read before the first, and two after the last.
            r"^add_quads: .*quad \+ 2 < quads": tuple(n // 16 - 1 for inputs in _INPUTS for n in inputs[1:]),
            r"^place_block: .*s < shape.slots": 1,
            r"^store_best: .*row < count": 1,
            r"^counts_of_block: .*slot < args": 1,
            r"^price: .*c < count": _turns(_CANDIDATES, _LANES * _WARPS),
            r"^advance: .*s < width": _WIDTH,
            # All are kept in registers.
            r"^next: .*c < count_": 0,
            r"^split_state: .*first < count": _turns(slices),
            r"^split_state: .*first < splits": _turns(level),
        }
    )


# This search does not have these: limits that get off, symmetric networks, copies of weights that were not made before,
# and more candidates than one in a block.
_SKIPS = [
    Skip(r"^take_item: while \(atomicCAS"),
    Skip(r"^place_greedily: if \(now\.snapshot < 0\)"),
    Skip(r"^place_greedily: if \(!choice\.within_tighter\)"),
    Skip(r"^place_greedily: if \(stream\.done\(\)\) break", (False, False, True)),
    Skip(r"^lowest_lane: if \(\(tied", (False,)),
    Skip(r"^comm_network: if \(symmetric\)"),
    Skip(r"^comm_network: if \(copy == kNoCopy &&"),
    Skip(r"^place_block: const int slot = "),
]
_SKIPS_OF_LEVEL = [
    # Warp 2, to its own state.
    Skip(r"^advance: if \(s != own", (True, True, False)),
    Skip(r"^advance: if \(s == 0\) keep_best"),
    # But in the first layer of either network there is a multiple of four.
    Skip(
        r"^add_quads: if \(quads % 4 != 0\)",
        (False, True, True, True, True) * 2,
        r"^add_quads: .*add_products\(read\(quad\), sum\)",
    ),
]
