"""Which line of which function of the sources an instruction comes from, as text. Line numbers would change with every
edit; texts change with what they say."""

import functools
import re
from pathlib import Path

from sass import Instruction

_ROOT = Path(__file__).resolve().parents[2]
_DEVICE = re.compile(r"__device__|__global__|NEUROSHARD_HOST_DEVICE")


def lines_of(instruction: Instruction) -> tuple[str, ...]:
    """FUNCTION: LINE, then the line that called this function, if it was inlined, and so on."""
    return tuple(_line(file, number) for file, number in instruction.places)


def functions_of(instruction: Instruction) -> tuple[str, ...]:
    """The function, then the one that it was inlined into, and so on; the kernel last."""
    return tuple(line.split(":", 1)[0] for line in lines_of(instruction))


@functools.cache
def _line(file: str, number: int) -> str:
    path = Path(file)
    if not path.is_absolute():
        path = _ROOT / path
    if not path.is_relative_to(_ROOT) or not path.exists():
        return f"{path.name}: "  # The compiler's headers.
    source = _source(path)
    if number > len(source):
        return f"{path.name}: "
    return f"{_function(source, number)}: {source[number - 1].strip()}"


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
