"""Machine code as tools/kernels reads it, without a compiler: a listing as nvdisasm writes it."""

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools" / "kernels"))
import sass  # type: ignore[import-untyped]  # noqa: E402

# An outer loop from .L_x_1 to 00a0, and one inside it from .L_x_2 to 0080. The branch at 00c0 jumps to itself, as
# padding does.
LISTING = """
\t.section\t.text._Z1kv,"ax",@progbits
.text._Z1kv:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_1:
        /*0010*/                   LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ;
        /*0020*/                   FADD R5, R5, R6 ;
.L_x_2:
        /*0030*/                   LDS.128 R8, [R7] ;
        /*0040*/                   FFMA R9, R8, R4, R9 ;
        /*0050*/              @!P1 FFMA R10, R8, R5, R10 ;
        /*0060*/                   FFMA R11, R8, R6, R11 ;
        /*0070*/                   SHFL.BFLY PT, R3, R4, 0x10, 0x1f ;
        /*0080*/               @P0 BRA `(.L_x_2) ;
        /*0090*/                   STG.E desc[UR4][R2.64], R9 ;
        /*00a0*/              @!P2 BRA `(.L_x_1) ;
        /*00b0*/                   EXIT ;
.L_x_3:
        /*00c0*/                   BRA `(.L_x_3);
"""


def code_of(tmp_path: Path) -> list[Any]:
    listing = tmp_path / "listing"
    listing.write_text(LISTING)
    nvdisasm = tmp_path / "nvdisasm"
    nvdisasm.write_text(f"#!/bin/sh\ncat '{listing}'\n")
    nvdisasm.chmod(0o755)
    kernels = sass.read(nvdisasm, listing)
    assert list(kernels) == ["_Z1kv"]
    return list(kernels["_Z1kv"])


def test_instructions_have_kinds_and_widths(tmp_path: Path) -> None:
    code = code_of(tmp_path)
    assert [instruction.address for instruction in code] == list(range(0, 0xD0, 0x10))
    kinds = ["other", "global", "add", "shared", "fma", "fma", "fma", "shuffle", "other", "global", "other", "other"]
    assert [instruction.kind for instruction in code] == [*kinds, "other"]
    assert [instruction.access_bytes for instruction in code if instruction.access_bytes] == [16, 16, 4]


def test_the_hot_loop_is_the_inner_one(tmp_path: Path) -> None:
    code = code_of(tmp_path)
    assert [(loop.first, loop.last) for loop in sass.loops(code)] == [(0x30, 0x80), (0x10, 0xA0)]
    loop = sass.hot_loop(code)
    assert loop is not None
    assert sass.histogram(loop) == {"shared": 1, "fma": 3, "shuffle": 1, "other": 1}
    # A load of 16 bytes takes two cycles, a shuffle one.
    assert loop.least_cycles == {"issue": 1.5, "fp32": 0.75, "tensor": 0.0, "shared and L1": 3.0}


def test_code_without_loops_has_no_hot_loop(tmp_path: Path) -> None:
    assert sass.hot_loop(code_of(tmp_path)[:6]) is None
