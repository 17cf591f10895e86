"""Where a warp of a kernel may go: blocks of instructions, the branches between them, and loops.

The warp is one whose lanes keep together: BRA.DIV, which leads to code for lanes that do not, is never taken, and
BRA.CONV, around such code, always is. So the copies of code behind BRA.DIV belong to no loop, though they end with a
branch backwards. A function that is called comes back; it has loops of its own."""

from dataclasses import dataclass

from sass import Instruction, histogram


@dataclass(frozen=True)
class Block:
    """Instructions that are executed in a row."""

    body: tuple[Instruction, ...]
    next: tuple[int, ...]  # Numbers of the blocks that may follow.


@dataclass(frozen=True)
class Loop:
    """Blocks that a warp may pass on its way from a block back to it by one branch. Where two branches lead back to the
    same block, each makes a loop."""

    blocks: frozenset[int]
    body: tuple[Instruction, ...]

    @property
    def arithmetic(self) -> int:
        """Instructions that compute with floats."""
        kinds = histogram(self.body)
        return kinds["fma"] + kinds["add"]


class ControlFlow:
    def __init__(self, code: list[Instruction]) -> None:
        self.blocks = _blocks(code)
        self._entries = [0] + [number for number, block in enumerate(self.blocks) if block.body[0].begins_function]
        self._before = self._blocks_before()
        every_way = self._on_every_way()
        self.loops = [
            self._loop(target, block)
            for block in every_way
            for target in self.blocks[block].next
            # Else it is no loop: there are ways to the branch that do not pass its target.
            if every_way[block] >> target & 1
        ]

    def innermost(self) -> list[Loop]:
        """Loops with no other one in them."""
        return [loop for loop in self.loops if not any(other.blocks < loop.blocks for other in self.loops)]

    def _blocks_before(self) -> dict[int, list[int]]:
        """The blocks that each block may follow, of those that can be reached: in an order that is the reverse of
        the one in which a search by depth leaves them."""
        left: list[int] = []
        seen = set(self._entries)
        ways = [(entry, iter(self.blocks[entry].next)) for entry in self._entries]
        while ways:
            block, rest = ways[-1]
            target = next(rest, None)
            if target is None:
                left.append(block)
                ways.pop()
            elif target not in seen:
                seen.add(target)
                ways.append((target, iter(self.blocks[target].next)))
        before: dict[int, list[int]] = {block: [] for block in reversed(left)}
        for block in before:
            for target in self.blocks[block].next:
                before[target].append(block)
        return before

    def _on_every_way(self) -> dict[int, int]:
        """The blocks, as bits, that every way from a beginning to a block passes, with that block."""
        every = (1 << len(self.blocks)) - 1
        passed = dict.fromkeys(self._before, every) | {entry: 1 << entry for entry in self._entries}
        changed = True
        while changed:
            changed = False
            for block, sources in self._before.items():
                if block in self._entries:
                    continue
                common = every
                for source in sources:
                    common &= passed[source]
                common |= 1 << block
                changed |= common != passed[block]
                passed[block] = common
        return passed

    def _loop(self, header: int, last: int) -> Loop:
        blocks = {header}
        rest = [last]
        while rest:
            block = rest.pop()
            if block not in blocks:
                blocks.add(block)
                rest += self._before[block]
        body = tuple(instruction for block in sorted(blocks) for instruction in self.blocks[block].body)
        return Loop(frozenset(blocks), body)


def _blocks(code: list[Instruction]) -> list[Block]:
    targets = {instruction.target for instruction in code if instruction.target}
    bodies: list[list[Instruction]] = [[]]
    for instruction in code:
        if (instruction.label in targets or instruction.begins_function) and bodies[-1]:
            bodies.append([])
        bodies[-1].append(instruction)
        if instruction.target or instruction.name in ("EXIT", "RET"):
            bodies.append([])
    bodies = [body for body in bodies if body]
    at = {body[0].label: number for number, body in enumerate(bodies) if body[0].label}
    blocks = []
    for number, body in enumerate(bodies):
        last = body[-1]
        following = [number + 1] if number + 1 < len(bodies) else []
        if last.target and last.operation != "BRA.DIV":
            is_always_taken = last.operation == "BRA.CONV" or not _has_condition(last)
            following = [*([] if is_always_taken else following), at[last.target]]
        elif last.name in ("EXIT", "RET") and not last.predicate:
            following = []
        blocks.append(Block(tuple(body), tuple(dict.fromkeys(following))))
    return blocks


def _has_condition(branch: Instruction) -> bool:
    """Before its name, before its target, or both."""
    return bool(branch.predicate) or "," in branch.text
