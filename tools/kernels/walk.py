"""The way of a warp through a stretch of a kernel, from block to block: through all that it may pass, as long as the
rules do not say otherwise. So what a warp leaves out only sometimes is on the way.

Loops and arms of branches are told by lines of the source (source_lines.py), as FUNCTION: LINE."""

import collections
import re
from collections.abc import Sequence
from dataclasses import dataclass

from control_flow import ControlFlow
from sass import Instruction
from source_lines import lines_of


@dataclass(frozen=True)
class LoopTurns:
    """How often a loop turns, each time that the warp comes to it; the last number again and again. `line`: a pattern
    for the line that a branch back to its begin is of."""

    line: str
    turns: tuple[int, ...]


@dataclass(frozen=True)
class Skip:
    """Whether the warp goes past what is behind a branch, each time that it comes to it; the last answer again and
    again. `line`: a pattern for the line that the branch is of; `body`: for lines of what may be skipped, if that does
    not come next in the code."""

    line: str
    is_skipped: tuple[bool, ...] = (True,)
    body: str = ""


@dataclass(frozen=True)
class NotHere:
    """Code that the warp does not come by. `line`: a pattern for lines that most of the first instructions behind a
    branch are of, or were inlined into."""

    line: str


@dataclass
class _Active:
    header: int
    turns: int
    done: int = 0


class Walk:
    """ValueError if a loop has no rule, or if there is no way on: the code has changed its shape."""

    def __init__(
        self, flow: ControlFlow, loops: Sequence[LoopTurns], skips: Sequence[Skip], elsewhere: Sequence[NotHere]
    ) -> None:
        self._flow = flow
        self.rules: tuple[LoopTurns | Skip, ...] = (*loops, *skips)
        self._loops = loops
        self._skips = skips
        self._elsewhere = elsewhere
        self._blocks: dict[int, frozenset[int]] = {}
        for loop in flow.loops:
            self._blocks[loop.header] = self._blocks.get(loop.header, frozenset()) | loop.blocks
        self._loop_visits: collections.Counter[int] = collections.Counter()
        self._skip_visits: collections.Counter[int] = collections.Counter()
        self._is_here_known: dict[int, bool] = {}
        self._rule_of: dict[int, LoopTurns | None] = {}
        self.used: set[LoopTurns | Skip | NotHere] = set()

    def way(self, start: int, end: int) -> list[int]:
        """The blocks from `start` to `end`, with both."""
        blocks = []
        active: list[_Active] = []
        at = start
        while True:
            while active and at not in self._blocks[active[-1].header]:
                active.pop()
            if at in self._blocks and not (active and active[-1].header == at):
                active.append(_Active(at, self._turns(at)))
            blocks.append(at)
            if at == end:
                return blocks
            at = self._next(at, active)

    def _next(self, at: int, active: list[_Active]) -> int:
        following = list(self._flow.blocks[at].next)
        if not following:
            raise ValueError("the way ends before it should")
        if not active or self._skip(at) is not None:
            return self._choose(at, following)
        loop = active[-1]
        if loop.header in following:
            loop.done += 1
            following.remove(loop.header)
            if loop.done < loop.turns or not following:
                return loop.header
            return self._choose(at, following)
        inside = [block for block in following if block in self._blocks[loop.header]]
        outside = [block for block in following if block not in self._blocks[loop.header]]
        if inside and outside:
            # Left in the middle of the last turn, or where the next one would begin.
            turns = loop.done + (at != loop.header and not self._may_end_behind(loop.header))
            return self._choose(at, outside if turns >= loop.turns else inside)
        return self._choose(at, following)

    def _choose(self, at: int, blocks: list[int]) -> int:
        """The block that is next in the code, if it is here, is not skipped, and leads to no loop that does not
        turn."""
        if len(blocks) == 1:
            return blocks[0]
        here = [block for block in sorted(blocks) if self._is_here(block)]
        if not here:
            raise ValueError(f"nothing is behind {' < '.join(lines_of(self._flow.blocks[at].body[-1])[:2])}")
        if len(here) == 1:
            return here[0]
        rule = self._skip(at)
        if rule is None:
            return here[0] if self._turns_at_all(here[0]) else here[-1]
        self.used.add(rule)
        visit = self._skip_visits[at]
        self._skip_visits[at] += 1
        if rule.body:
            here.sort(key=lambda block: -self._count(block, rule.body))
        return here[rule.is_skipped[min(visit, len(rule.is_skipped) - 1)]]

    def _may_end_behind(self, header: int) -> bool:
        """Whether a loop may be left where it branches back."""
        blocks = self._flow.blocks
        return any(header in blocks[at].next and len(blocks[at].next) > 1 for at in self._blocks[header])

    def _skip(self, at: int) -> Skip | None:
        lines = lines_of(self._flow.blocks[at].body[-1])
        return next((rule for rule in self._skips if lines and re.search(rule.line, lines[0])), None)

    def _count(self, block: int, pattern: str) -> int:
        """Instructions of lines that the pattern describes."""
        body = self._flow.blocks[block].body
        return sum(any(re.search(pattern, line) for line in lines_of(instruction)) for instruction in body)

    def _is_here(self, block: int) -> bool:
        if block not in self._is_here_known:
            body = self._flow.blocks[block].body
            # Calls are for divisions of numbers that are hardly ever divided.
            is_here = all(instruction.name != "CALL" for instruction in body)
            for rule in self._elsewhere:
                if 2 * self._count(block, rule.line) > len(body):
                    is_here = False
                    self.used.add(rule)
            self._is_here_known[block] = is_here
        return self._is_here_known[block]

    def _turns_at_all(self, block: int) -> bool:
        """Whether a block is not on the way to a loop that turns no more than never this time."""
        at = block
        for _ in range(4):
            if at in self._blocks:
                rule = self._rule(at)
                if rule is None or rule.turns[min(self._loop_visits[at], len(rule.turns) - 1)] > 0:
                    return True
                self._loop_visits[at] += 1
                self.used.add(rule)
                return False
            if len(self._flow.blocks[at].next) != 1:
                return True
            at = self._flow.blocks[at].next[0]
        return True

    def _turns(self, header: int) -> int:
        rule = self._rule(header)
        if rule is None:
            raise ValueError(f"nothing says how often a loop turns: {' | '.join(self._branch_lines(header))}")
        self.used.add(rule)
        visit = self._loop_visits[header]
        self._loop_visits[header] += 1
        return rule.turns[min(visit, len(rule.turns) - 1)]

    def _rule(self, header: int) -> LoopTurns | None:
        if header not in self._rule_of:
            lines = self._branch_lines(header)
            self._rule_of[header] = next(
                (rule for rule in self._loops if any(re.search(rule.line, line) for line in lines)), None
            )
        return self._rule_of[header]

    def _branch_lines(self, header: int) -> list[str]:
        branches = [
            self._flow.blocks[block].body[-1]
            for block in self._blocks[header]
            if header in self._flow.blocks[block].next
        ]
        return [lines[0] for branch in branches if (lines := lines_of(branch))]


def block_with(flow: ControlFlow, name: str, line: str) -> int:
    """The first block with an instruction of this name of a line, or inlined into one, that the pattern describes."""

    def is_it(instruction: Instruction) -> bool:
        return instruction.name == name and any(re.search(line, at) for at in lines_of(instruction))

    for number, block in enumerate(flow.blocks):
        if any(is_it(instruction) for instruction in block.body):
            return number
    raise ValueError(f"there is no {name} of {line}")
