"""Which functions of the sources an instruction comes from."""

import functools
import re
from pathlib import Path

from sass import Instruction

_ROOT = Path(__file__).resolve().parents[2]
_DEVICE = re.compile(r"__device__|__global__|NEUROSHARD_HOST_DEVICE")


def functions_of(instruction: Instruction) -> tuple[str, ...]:
    """The function, then the one that it was inlined into, and so on; the kernel last."""
    return tuple(_function_at(file, number) for file, number in instruction.places)


@functools.cache
def _function_at(file: str, number: int) -> str:
    path = Path(file)
    if not path.is_absolute():
        path = _ROOT / path
    if not path.is_relative_to(_ROOT) or not path.exists():
        return path.name  # The compiler's headers.
    source = _source(path)
    return path.name if number > len(source) else _function(source, number)


@functools.cache
def _source(path: Path) -> list[str]:
    return path.read_text().splitlines()


def _function(source: list[str], number: int) -> str:
    """The name of the device function that a line is in: each says so where it begins."""
    for at in range(number - 1, -1, -1):
        found = _DEVICE.search(source[at])
        if not found or source[at].lstrip().startswith("//"):
            continue
        rest = source[at][found.end() :] + " " + " ".join(source[at + 1 : at + 3])
        names = [name for name in re.findall(r"(\w+|operator\(\))\s*\(", rest) if name != "__launch_bounds__"]
        return names[0] if names else ""
    return ""
