"""Machine code of CUDA kernels as nvdisasm prints it: instructions, and which units they keep busy."""

import collections
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# Cycles for which one load of a warp, of so many bytes a lane, keeps the pipe to shared memory and L1 busy that a
# multiprocessor's four quarters share: of loads that all lanes have in common, measured on an H100 (nsbench kernels
# --loads-only).
_ACCESS_CYCLES = {4: 1.0, 8: 1.0, 16: 2.0}

_ACCESSES = {"LDS": "shared", "STS": "shared", "LDSM": "shared", "LDG": "global", "STG": "global", "LDGSTS": "global"}
# LD and ST of an address that the compiler does not know to be in either.
_ACCESSES |= {"LD": "global", "ST": "global"}

# A quarter has 16 lanes for integers, comparisons, minima and moves.
_INTEGER_CYCLES = 2.0
_DOUBLES_AND_CONVERSIONS = frozenset(("DADD", "DMUL", "DFMA", "DSETP", "F2F", "F2I", "I2F"))
# IMAD is done where FMA are.
_NOT_INTEGER = _DOUBLES_AND_CONVERSIONS | frozenset(
    "BAR BMOV BRA BSSY BSYNC CALL DEPBAR EXIT IMAD LDC LDGDEPBAR MATCH MUFU NOP REDUX RET VOTE WARPSYNC YIELD".split()
)


@dataclass(frozen=True)
class Instruction:
    """One instruction of a warp. `places`: the line of the source that it comes from, then where that function was
    inlined, and so on, as FILE and number; empty if the listing does not say."""

    address: int
    text: str
    label: str | None = None
    begins_function: bool = False
    predicate: str = ""
    places: tuple[tuple[str, int], ...] = ()

    @property
    def operation(self) -> str:
        return self.text.split()[0]

    @property
    def name(self) -> str:
        return self.operation.split(".")[0]

    @property
    def kind(self) -> str:
        """fma, add, shared, global, shuffle, or other."""
        name = self.name
        if name in ("FFMA", "FFMA2"):
            return "fma"
        if name in ("FADD", "FMUL"):
            return "add"
        if name == "SHFL":
            return "shuffle"
        return _ACCESSES.get(name, "other")

    @property
    def is_integer(self) -> bool:
        """Keeps the lanes for integers busy. Instructions for all lanes at once (U...) have a unit of their own."""
        name = self.name
        return self.kind == "other" and name not in _NOT_INTEGER and (name == "UMOV" or not name.startswith("U"))

    @property
    def access_bytes(self) -> int:
        """Bytes that a lane reads or writes in shared or global memory."""
        if self.kind not in ("shared", "global"):
            return 0
        return 16 if ".128" in self.operation else 8 if ".64" in self.operation else 4

    @property
    def target(self) -> str | None:
        """The label that a branch leads to. Some branches of sm_80 are calls, which do not come back: what does has a
        name."""
        found = re.search(r"\.L_x_\d+", self.text) if self.name in ("BRA", "CALL") else None
        return found[0] if found else None


def histogram(code: Iterable[Instruction]) -> collections.Counter[str]:
    return collections.Counter(instruction.kind for instruction in code)


def _access_cycles(instruction: Instruction) -> float:
    """For which an instruction keeps the pipe to shared memory and L1 busy. What is 16 bytes wide and no load from
    shared memory takes twice as long: its lanes have different words."""
    if instruction.kind == "shuffle":
        return 1.0
    bytes_of_lane = instruction.access_bytes
    if bytes_of_lane == 0:
        return 0.0
    return _ACCESS_CYCLES[bytes_of_lane] * (2 if instruction.name != "LDS" and bytes_of_lane == 16 else 1)


def least_cycles(code: Iterable[Instruction]) -> dict[str, float]:
    """Cycles of a multiprocessor for one warp, by what limits it, all units else idle: each quarter issues an
    instruction a cycle and has 32 lanes of fp32."""
    code = list(code)
    kinds = histogram(code)
    return {
        "issue": len(code) / 4,
        "fp32": (kinds["fma"] + kinds["add"]) / 4,
        "integer": _INTEGER_CYCLES * sum(instruction.is_integer for instruction in code) / 4,
        "shared and L1": sum(_access_cycles(instruction) for instruction in code),
    }


def lane_bytes(code: Iterable[Instruction], kind: str) -> int:
    """Bytes that the 32 lanes of a warp read and write in memory of a kind, shared or global; lanes that read the same
    count one by one."""
    return sum(32 * instruction.access_bytes for instruction in code if instruction.kind == kind)


def read(nvdisasm: Path, cubin: Path) -> dict[str, list[Instruction]]:
    """The instructions of each kernel of a cubin, by mangled name."""
    done = subprocess.run([nvdisasm, "-gi", "-c", cubin], capture_output=True, text=True, check=True)
    return parse(done.stdout)


def parse(listing: str) -> dict[str, list[Instruction]]:
    """Reads a listing by nvdisasm -gi -c. Places in the source are before the first of their instructions."""
    kernels: dict[str, list[Instruction]] = {}
    code: list[Instruction] = []
    label = None
    begins = False
    places: list[tuple[str, int]] = []
    is_new_place = True
    for line in listing.splitlines():
        if section := re.match(r"\s*\.section\s+\.text\.([^,\s]+)", line):
            code = kernels.setdefault(section[1], [])
            label = None
            places = []
        elif place := re.match(r'\s*//## File "([^"]+)", line (\d+)', line):
            places = [*([] if is_new_place else places), (place[1], int(place[2]))]
            is_new_place = False
        elif target := re.match(r"(\.L_x_\d+):", line.strip()):
            label = target[1]
        elif line.startswith("$"):
            begins = True
        elif found := re.match(r"\s*/\*([0-9a-f]{4,})\*/\s+(?:@(!?U?P\w+)\s+)?(.*?)\s*;", line):
            code.append(
                Instruction(int(found[1], 16), found[3], label, begins, found[2] or "", places=tuple(places))
            )
            label, begins, is_new_place = None, False, True
    return kernels
