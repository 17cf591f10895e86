"""Machine code of CUDA kernels as nvdisasm prints it: instructions, loops, and which units they keep busy."""

import collections
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

# Cycles for which one load or store of a warp keeps the pipe to shared memory and L1 busy that a multiprocessor's
# four quarters share. Of loads those that all lanes have in common, measured on an H100 (nsbench kernels
# --loads-only); lanes that read side by side take twice that from 8 bytes on.
_ACCESS_CYCLES = {4: 1.0, 8: 1.0, 16: 2.0}

_ACCESSES = {"LDS": "shared", "STS": "shared", "LDSM": "shared", "LDG": "global", "STG": "global", "LDGSTS": "global"}


@dataclass(frozen=True)
class Instruction:
    """One instruction of a warp."""

    address: int
    text: str
    label: str | None

    @property
    def name(self) -> str:
        return self.text.split()[0].split(".")[0]

    @property
    def kind(self) -> str:
        """fma, add, tensor, shared, global, shuffle, or other."""
        name = self.name
        if name in ("FFMA", "FFMA2"):
            return "fma"
        if name in ("FADD", "FMUL"):
            return "add"
        if name in ("HMMA", "HGMMA"):
            return "tensor"
        if name == "SHFL":
            return "shuffle"
        return _ACCESSES.get(name, "other")

    @property
    def access_bytes(self) -> int:
        """What a lane reads or writes in shared or global memory."""
        if self.kind not in ("shared", "global"):
            return 0
        operation = self.text.split()[0]
        return 16 if ".128" in operation else 8 if ".64" in operation else 4


@dataclass(frozen=True)
class Loop:
    """Instructions from the target of a branch backwards to that branch."""

    body: tuple[Instruction, ...]

    @property
    def first(self) -> int:
        return self.body[0].address

    @property
    def last(self) -> int:
        return self.body[-1].address

    def count(self, kind: str) -> int:
        return sum(instruction.kind == kind for instruction in self.body)

    @property
    def least_cycles(self) -> dict[str, float]:
        """Cycles of a multiprocessor for one pass of one warp, by what limits it, all units else idle: each quarter
        issues an instruction a cycle, has 32 lanes of fp32 and does 16 x 8 x 8 products of TF32 in four cycles."""
        accesses = sum(_ACCESS_CYCLES[i.access_bytes] for i in self.body if i.access_bytes)
        return {
            "issue": len(self.body) / 4,
            "fp32": (self.count("fma") + self.count("add")) / 4,
            "tensor": float(self.count("tensor")),
            "shared and L1": accesses + self.count("shuffle"),
        }


def read(nvdisasm: Path, cubin: Path) -> dict[str, list[Instruction]]:
    """The instructions of each kernel of a cubin, by mangled name."""
    done = subprocess.run([nvdisasm, "-c", cubin], capture_output=True, text=True, check=True)
    kernels: dict[str, list[Instruction]] = {}
    code: list[Instruction] = []
    label = None
    for line in done.stdout.splitlines():
        if section := re.match(r"\s*\.section\s+\.text\.([^,\s]+)", line):
            code = kernels.setdefault(section[1], [])
            label = None
        elif target := re.match(r"(\.L_x_\d+):", line.strip()):
            label = target[1]
        elif found := re.match(r"\s*/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+\s+)?(.*?)\s*;", line):
            code.append(Instruction(int(found[1], 16), found[2], label))
            label = None
    return kernels


def loops(code: list[Instruction]) -> list[Loop]:
    """All loops, the inner ones too."""
    at = {instruction.label: instruction.address for instruction in code if instruction.label}
    found = []
    for instruction in code:
        if instruction.name != "BRA" or instruction.text.startswith("BRA.DIV"):
            continue
        target = re.search(r"\.L_x_\d+", instruction.text)
        first = at.get(target[0]) if target else None
        if first is not None and first < instruction.address:
            found.append(Loop(tuple(i for i in code if first <= i.address <= instruction.address)))
    return found


def hot_loop(code: list[Instruction]) -> Loop | None:
    """The innermost loop with the most arithmetic of floats; without any, the one with the most instructions."""
    all_loops = loops(code)
    innermost = [
        loop
        for loop in all_loops
        if not any(other is not loop and loop.first <= other.first and other.last <= loop.last for other in all_loops)
    ]

    def work(loop: Loop) -> tuple[int, int]:
        return (loop.count("fma") + loop.count("add") + 32 * loop.count("tensor"), len(loop.body))

    return max(innermost, key=work, default=None)


def histogram(loop: Loop) -> collections.Counter[str]:
    return collections.Counter(instruction.kind for instruction in loop.body)
