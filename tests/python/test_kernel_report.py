"""Machine code as tools/kernels reads it, without a compiler: listings as nvdisasm writes them."""

import importlib.machinery
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "tools" / "kernels"
sys.path.insert(0, str(KERNELS))
import sass  # noqa: E402
import source_functions  # noqa: E402
from control_flow import ControlFlow  # noqa: E402
from hot_loop import hot_loop  # noqa: E402

# An outer loop from .L_x_1 to 00a0, and one inside it from .L_x_2 to 0080. The branch at 00c0 jumps to itself, as
# padding does.
LISTING = """
\t.section\t.text._Z1kv,"ax",@progbits
.text._Z1kv:
        /*0000*/                   LDC R1, c[0x0][0x28] ;                /* 0x00000a00ff017b82 */
                                                                         /* 0x000fe20000000800 */
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

# A step from .L_x_1 to 0060, which goes on there or, the long way, at 0090. Lanes that do not keep together take the
# copy of its shuffle at .L_x_4. As on sm_80, the loop at .L_x_6 of a function is left by a call.
STEP = """
\t.section\t.text._Z1kv,"ax",@progbits
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_1:
        /*0010*/                   FFMA R9, R8, R4, R9 ;
        /*0020*/                   BRA.DIV UR4, `(.L_x_4) ;
.L_x_2:
        /*0030*/                   SHFL.BFLY PT, R3, R9, 0x10, 0x1f ;
        /*0040*/                   REDUX.MIN UR6, R25 ;
        /*0050*/                   FADD R3, R3, R9 ;
        /*0060*/              @!P1 BRA `(.L_x_1) ;
        /*0070*/                   FADD R3, R3, R9 ;
        /*0080*/                   FADD R3, R3, R9 ;
        /*0090*/              @!P2 BRA !P0, `(.L_x_1) ;
        /*00a0*/                   CALL.REL.NOINC `($_Z1kv$f) ;
        /*00b0*/                   EXIT ;
.L_x_4:
        /*00c0*/                   WARPSYNC.COLLECTIVE R15, `(.L_x_5) ;
.L_x_5:
        /*00d0*/                   SHFL.BFLY PT, R3, R9, 0x10, 0x1f ;
        /*00e0*/                   FADD R3, R3, R9 ;
        /*00f0*/                   BRA `(.L_x_2) ;
$_Z1kv$f:
.L_x_6:
        /*0100*/                   FFMA R9, R8, R4, R9 ;
        /*0110*/                   BRA.CONV ~URZ, `(.L_x_7) ;
        /*0120*/                   CALL.REL.NOINC `($__internal_0_$__cuda_sm70_warpsync) ;
.L_x_7:
        /*0130*/               @P0 CALL.REL.NOINC `(.L_x_8) ;
        /*0140*/                   BRA `(.L_x_6) ;
.L_x_8:
        /*0150*/                   RET.REL.NODEC R2 `(_Z1kv) ;
"""


def code_of(listing: str) -> list[Any]:
    kernels = sass.parse(listing)
    assert list(kernels) == ["_Z1kv"]
    return list(kernels["_Z1kv"])


def place_of(file: str, text: str) -> str:
    """As nvdisasm writes it: that what follows is of the line with this text, of a file of cuda/."""
    lines = (ROOT / "cuda" / file).read_text().splitlines()
    (number,) = [number for number, line in enumerate(lines, 1) if text in line]
    return f'\t//## File "cuda/{file}", line {number}\n'


def in_place_greedily(listing: str) -> str:
    return listing.replace(".L_x_1:", place_of("placement/place_greedily.cuh", "while (any)") + ".L_x_1:", 1)


def instruction(address: int, text: str, **scheduled: Any) -> Any:
    return sass.Instruction(address, text, **scheduled)


def addresses(code: Any) -> list[int]:
    return [instruction.address for instruction in code]


def test_instructions_are_read_from_what_nvdisasm_prints(tmp_path: Path) -> None:
    listing = tmp_path / "listing"
    listing.write_text(LISTING)
    nvdisasm = tmp_path / "nvdisasm"
    nvdisasm.write_text(f"#!/bin/sh\ncat '{listing}'\n")
    nvdisasm.chmod(0o755)
    assert sass.read(nvdisasm, listing) == sass.parse(LISTING)


def test_instructions_have_kinds_and_widths() -> None:
    code = code_of(LISTING)
    assert addresses(code) == list(range(0, 0xD0, 0x10))
    kinds = ["other", "global", "add", "shared", "fma", "fma", "fma", "shuffle", "other", "global", "other", "other"]
    assert [instruction.kind for instruction in code] == [*kinds, "other"]
    assert [instruction.access_bytes for instruction in code if instruction.access_bytes] == [16, 16, 4]
    assert [instruction.predicate for instruction in code if instruction.predicate] == ["!P1", "P0", "!P2"]
    assert sass.lane_bytes(code, "shared") == 512
    assert sass.lane_bytes(code, "global") == 640


def test_the_hot_loop_is_the_inner_one() -> None:
    flow = ControlFlow(code_of(LISTING))
    assert [addresses(loop.body) for loop in flow.loops] == [
        [*range(0x30, 0x90, 0x10)],
        [*range(0x10, 0xB0, 0x10)],
    ]
    loop = hot_loop(flow, "k")
    assert loop is not None
    assert sass.histogram(loop.body) == {"shared": 1, "fma": 3, "shuffle": 1, "other": 1}
    # A load of 16 bytes takes two cycles, a shuffle one.
    assert sass.least_cycles(loop.body) == {"issue": 1.5, "fp32": 0.75, "integer": 0.0, "shared and L1": 3.0}


def test_integers_keep_their_unit_busy_for_two_cycles() -> None:
    names = ["ISETP.GE P0, R1, R2", "IMAD R1, R2, R3, R4", "UIADD3 UR4, UR4, 0x1", "MOV R1, R2", "REDUX.MIN UR6, R25"]
    code = [instruction(0x10 * i, name) for i, name in enumerate(names)]
    assert [of.is_integer for of in code] == [True, False, False, True, False]
    assert sass.least_cycles(code)["integer"] == 1.0


def test_code_without_loops_has_no_hot_loop() -> None:
    flow = ControlFlow(code_of(LISTING)[:6])
    assert hot_loop(flow, "k") is None
    assert hot_loop(flow, "place_candidates_kernel") is None


def test_a_step_is_the_loop_of_lanes_that_keep_together() -> None:
    flow = ControlFlow(code_of(in_place_greedily(STEP)))
    step = [*range(0x10, 0x70, 0x10)]
    loops = [addresses(loop.body) for loop in flow.loops]
    assert sorted(loops) == [step, [*range(0x10, 0xA0, 0x10)], [0x100, 0x110, 0x130, 0x140]]
    loop = hot_loop(flow, "place_candidates_kernel<RegisterHead<32, 64>, LaneDevices>")
    assert loop is not None and addresses(loop.body) == step


def test_instructions_say_where_in_the_source_they_are() -> None:
    inlined = place_of("device/warp.cuh", "float rectified(float x)") + place_of("placement/place_greedily.cuh", "while (any)")
    kernel = place_of("placement/place_greedily.cuh", "const int width = Head::kSumWidth > 0 ?")
    code = code_of(LISTING.replace(".L_x_1:", inlined + ".L_x_1:").replace(".L_x_2:", kernel + ".L_x_2:", 1))
    assert [source_functions.functions_of(code[at]) for at in (0, 1, 2, 3)] == [
        (),
        ("rectified", "place_greedily"),
        ("rectified", "place_greedily"),
        ("place_greedily",),
    ]
    elsewhere = instruction(0, "NOP", places=(("/elsewhere/math.h", 3),))
    assert source_functions.functions_of(elsewhere) == ("math.h",)


@pytest.mark.parametrize("capability", [80, 90])
def test_the_loop_that_is_watched_of_kernels_that_place_is_a_step(capability: int) -> None:
    kept = json.loads((KERNELS / f"figures_sm_{capability}.json").read_text())
    for kernel, desk in (("place_candidates", ""), ("search_beams", ", true"), ("search_beams", ", false")):
        of_lanes = kept[f"{kernel}_kernel<RegisterHead<32, 64>, LaneDevices{desk}>"]
        # 66 FMA, seven shuffles, 32 floats of a sum by eight loads; not the networks, nor a copy for lanes apart.
        assert 150 < of_lanes["loop_instructions"] < 250
        assert of_lanes["loop_shared_bytes"] >= 8 * 512
        for head, devices in (("RegisterHead<32, 64>", "SharedDevices"), ("GenericHead", "LaneDevices")):
            # Devices or weights are read from memory: more instructions, no other loop.
            other = kept[f"{kernel}_kernel<{head}, {devices}{desk}>"]["loop_instructions"]
            assert 2 * of_lanes["loop_instructions"] < other < 700


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> Any:
    loader = importlib.machinery.SourceFileLoader("report", str(KERNELS / "report"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("report", loader) or pytest.fail())
    monkeypatch.setitem(sys.modules, "report", module)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    loader.exec_module(module)
    return module


def test_worse_figures_are_found(report: Any, capsys: pytest.CaptureFixture[str]) -> None:
    kept = {"k": {"registers": 10.0, "loop_cycles": 100.0}}

    def wrong(**figures: float) -> Any:
        return report.check([report.Kernel("k", figures, "")], kept, Path("kept.json"))

    assert wrong(registers=10, loop_cycles=100.0) == []
    assert wrong(registers=9, loop_cycles=100.0) == []
    assert "better: k: registers 10 before, 9 now" in capsys.readouterr().out
    assert wrong(registers=11, loop_cycles=100.0) == ["k: registers 10 before, 11 now"]
    assert wrong(registers=10) == ["k: only here or only in kept.json: loop_cycles"]
    assert report.check([], kept, Path("kept.json")) == ["k is in kept.json, but there is no such kernel"]


def test_a_kernel_is_described_by_its_hot_loop(report: Any) -> None:
    listing = in_place_greedily(STEP)
    kernel = report.describe("place_candidates_kernel<GenericHead, LaneDevices>", code_of(listing), 40, 0)
    assert kernel.figures["loop_instructions"] == 6
    assert "6 instructions (1 fma, 1 add, 1 shuffle), 17 % fma, 0 bytes shared, 0 through L1" in kernel.about
    assert "at least 1.5 cycles (issue; shared and L1 1.0, fp32 0.5)" in kernel.about
