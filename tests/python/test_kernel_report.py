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
import beam_levels  # noqa: E402
import issue_model  # noqa: E402
import modelled  # noqa: E402
import sass  # noqa: E402
import source_lines  # noqa: E402
import units_of_work  # noqa: E402
import walk  # noqa: E402
from control_flow import ControlFlow  # noqa: E402

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


def test_what_the_compiler_tells_the_scheduler_is_read() -> None:
    word = (5 | 2 << 5 | 7 << 8 | 0b001001 << 11) << 41
    text = f"\t.section\t.text._Z1kv,\n/*0000*/ LDS R1, [R2] ; /* 0x{0:016x} */\n /* 0x{word:016x} */\n"
    (load,) = code_of(text)
    assert (load.stall, load.written, load.was_read, load.waits) == (5, 2, sass.NO_BARRIER, (0, 3))


def test_the_hot_loop_is_the_inner_one() -> None:
    flow = ControlFlow(code_of(LISTING))
    assert [addresses(loop.body) for loop in flow.loops] == [
        [*range(0x30, 0x90, 0x10)],
        [*range(0x10, 0xB0, 0x10)],
    ]
    loop = units_of_work.hot_loop(flow, "k")
    assert loop is not None
    assert sass.histogram(loop.body) == {"shared": 1, "fma": 3, "shuffle": 1, "other": 1}
    # A load of 16 bytes takes two cycles, twice that if lanes read side by side; a shuffle one.
    cycles = {"issue": 1.5, "fp32": 0.75, "integer": 0.0, "tensor": 0.0, "shared and L1": 3.0}
    assert sass.least_cycles(loop.body) == cycles
    assert sass.least_cycles(loop.body, frozenset([0x30]))["shared and L1"] == 5.0


def test_integers_keep_their_unit_busy_for_two_cycles() -> None:
    names = ["ISETP.GE P0, R1, R2", "IMAD R1, R2, R3, R4", "UIADD3 UR4, UR4, 0x1", "MOV R1, R2", "REDUX.MIN UR6, R25"]
    code = [instruction(0x10 * i, name) for i, name in enumerate(names)]
    assert [of.is_integer for of in code] == [True, False, False, True, False]
    assert sass.least_cycles(code)["integer"] == 1.0


def test_code_without_loops_has_no_hot_loop() -> None:
    flow = ControlFlow(code_of(LISTING)[:6])
    assert units_of_work.hot_loop(flow, "k") is None
    assert units_of_work.hot_loop(flow, "place_candidates_kernel") is None


def test_a_step_is_the_loop_of_lanes_that_keep_together() -> None:
    flow = ControlFlow(code_of(in_place_greedily(STEP)))
    step = [*range(0x10, 0x70, 0x10)]
    loops = [addresses(loop.body) for loop in flow.loops]
    assert sorted(loops) == [step, [*range(0x10, 0xA0, 0x10)], [0x100, 0x110, 0x130, 0x140]]
    loop = units_of_work.hot_loop(flow, "place_candidates_kernel<RegisterHead<32, 64>, LaneDevices>")
    assert loop is not None and addresses(loop.body) == step
    assert addresses(units_of_work.way_of(flow, units_of_work.Unit("step", ("REDUX",))).code) == step


def test_the_way_through_a_unit_of_work_turns_inner_loops_and_leaves_out_the_rest() -> None:
    listing = """
\t.section\t.text._Z1kv,"ax",@progbits
.L_x_1:
        /*0000*/               @P0 BRA `(.L_x_2) ;
        /*0010*/                   LDG.E R4, desc[UR4][R2.64] ;
.L_x_2:
        /*0020*/               @P1 BRA `(.L_x_4) ;
.L_x_3:
        /*0030*/                   LDS.128 R8, [R7] ;
        /*0040*/               @P2 BRA `(.L_x_3) ;
.L_x_4:
        /*0050*/                   STG.E desc[UR4][R2.64], R9 ;
        /*0060*/               @P3 BRA `(.L_x_1) ;
        /*0070*/                   EXIT ;
"""
    flow = ControlFlow(code_of(listing))
    loads = units_of_work.InnerLoop(3, lambda loop: loop.count("shared") == 1)
    way = units_of_work.way_of(flow, units_of_work.Unit("shard", ("STG",), inner=(loads,)))
    assert addresses(way.code) == [0x00, 0x20, *[0x30, 0x40] * 3, 0x50, 0x60]
    short = units_of_work.way_of(flow, units_of_work.Unit("shard", ("STG",)))
    assert addresses(short.code) == [0x00, 0x20, 0x50, 0x60]
    with pytest.raises(ValueError, match="without LDG"):
        units_of_work.way_of(flow, units_of_work.Unit("shard", ("STG", "LDG")))
    multiplies = units_of_work.InnerLoop(3, lambda loop: loop.count("fma") > 0)
    with pytest.raises(ValueError, match="missing"):
        units_of_work.way_of(flow, units_of_work.Unit("shard", ("STG",), inner=(multiplies,)))


def test_the_issue_model_waits_for_stalls_barriers_and_units() -> None:
    nowhere: frozenset[int] = frozenset()
    adds = [instruction(0x10 * i, "FADD R1, R1, R2", stall=4) for i in range(10)]
    assert issue_model.issue([adds], nowhere).cycles == 37
    # A second warp issues while the first one stalls.
    assert issue_model.issue([adds, adds], nowhere).cycles == 38
    # The integer unit takes two cycles for each, whoever they are of.
    integers = [instruction(0x10 * i, "LOP3.LUT R1, R2, R3") for i in range(10)]
    assert issue_model.issue([integers], nowhere).cycles == 19
    load = instruction(0, "LDS.128 R4, [R2]", written=1)
    use = instruction(0x10, "FADD R1, R4, R2", waits=(1,))
    # 33 cycles, and two in the queue, or four if lanes read side by side.
    assert issue_model.issue([[load, use]], nowhere).at == (0, 35)
    assert issue_model.issue([[load, use]], frozenset([0])).at == (0, 37)
    # With several warps a scheduler each scheduler gets every fourth cycle.
    assert issue_model.issue([[load, use], []], nowhere).at == (0, 41)


def test_a_wait_for_copies_and_a_barrier_take_their_time() -> None:
    copy = instruction(0, "LDGSTS.E.128 [R1], desc[UR4][R2.64]")
    other = instruction(0x10, "DEPBAR.LE SB0, 0x1")
    wait = instruction(0x20, "DEPBAR.LE SB0, 0x0")
    assert issue_model.issue([[copy, other]], frozenset()).at == (0, 1)
    assert issue_model.issue([[copy, wait]], frozenset()).at[1] > issue_model.L2_CYCLES
    barrier = instruction(0x10, "BAR.SYNC.DEFER_BLOCKING 0x0")
    add = instruction(0x20, "FADD R1, R1, R2")
    assert issue_model.issue([[copy, barrier, add]], frozenset()).at == (0, 1, 31)


def test_one_warp_meets_those_that_share_its_loads() -> None:
    loads = [instruction(0x10 * i, "LDS.128 R4, [R2]", written=1) for i in range(2)]
    use = instruction(0x20, "FADD R1, R4, R2", waits=(1,))
    alone = issue_model.issue([[*loads, use]], frozenset()).cycles
    assert issue_model.issue([[*loads, use]], frozenset(), [1, 1, 1]).cycles == alone
    assert issue_model.issue([[*loads, use]], frozenset(), [4, 4, 1]).cycles == alone + 12


def test_instructions_say_where_in_the_source_they_are() -> None:
    inlined = place_of("device/warp.cuh", "float rectified(float x)") + place_of("placement/place_greedily.cuh", "while (any)")
    kernel = place_of("placement/place_greedily.cuh", "const int width = Head::kSumWidth > 0 ?")
    code = code_of(LISTING.replace(".L_x_1:", inlined + ".L_x_1:").replace(".L_x_2:", kernel + ".L_x_2:", 1))
    assert [source_lines.functions_of(code[at]) for at in (0, 1, 2, 3)] == [
        (),
        ("rectified", "place_greedily"),
        ("rectified", "place_greedily"),
        ("place_greedily",),
    ]
    assert source_lines.lines_of(code[1])[1].startswith("place_greedily: while (any)")
    assert source_lines.lines_of(instruction(0, "NOP", places=(("/elsewhere/math.h", 3),))) == ("math.h: ",)


# A loop from .L_x_1 to 0050 with a branch around 0020, then one at .L_x_3, and an end that nothing comes to.
WALKED = """
\t.section\t.text._Z1kv,"ax",@progbits
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_1:
BRANCH
        /*0010*/               @P0 BRA `(.L_x_2) ;
BACK
        /*0020*/                   FADD R1, R1, R2 ;
.L_x_2:
        /*0030*/                   LDS R1, [R2] ;
        /*0040*/                   FADD R1, R1, R2 ;
        /*0050*/               @P1 BRA `(.L_x_1) ;
.L_x_3:
OTHER
        /*0060*/                   FFMA R9, R8, R4, R9 ;
        /*0070*/               @P2 BRA `(.L_x_3) ;
        /*0080*/                   EXIT ;
"""


def walked() -> ControlFlow:
    places = {
        "BRANCH": place_of("placement/place_greedily.cuh", "if (stream.done()) next = no_choice()"),
        "BACK": place_of("placement/place_greedily.cuh", "if (stream.done()) break;"),
        "OTHER": place_of("placement/final_costs.cuh", "for (int pass = 0; pass < 2; ++pass)"),
    }
    listing = WALKED
    for name, place in places.items():
        listing = listing.replace(name + "\n", place)
    return ControlFlow(code_of(listing))


def test_a_walk_takes_loops_as_often_as_rules_say() -> None:
    flow = walked()
    loops = [walk.LoopTurns("^place_greedily: .*break", (3,)), walk.LoopTurns("^final_costs: .*pass", (2,))]
    skips = [walk.Skip("^place_greedily: .*no_choice", (False, True))]
    end = len(flow.blocks) - 1
    way = walk.Walk(flow, loops, skips, []).way(0, end)
    turn = [0x10, 0x30, 0x40, 0x50]
    assert addresses(flow.code(way)) == [
        *(0x00, 0x10, 0x20, 0x30, 0x40, 0x50),
        *turn * 2,
        *[0x60, 0x70] * 2,
        0x80,
    ]
    # Without a rule, what may be passed is.
    passed = walk.Walk(flow, loops, [], []).way(0, end)
    assert addresses(flow.code(passed)).count(0x20) == 3
    with pytest.raises(ValueError, match="how often a loop turns: final_costs: "):
        walk.Walk(flow, loops[:1], skips, []).way(0, end)


def test_a_way_must_lead_somewhere() -> None:
    flow = walked()
    loops = [walk.LoopTurns(".", (1,))]
    with pytest.raises(ValueError, match="the way ends before it should"):
        walk.Walk(flow, loops, [], []).way(0, -1)
    with pytest.raises(ValueError, match="nothing is behind place_greedily: "):
        walk.Walk(flow, loops, [], [walk.NotHere("^place_greedily: ")]).way(0, len(flow.blocks) - 1)
    with pytest.raises(ValueError, match="there is no MEMBAR of"):
        beam_levels.search(flow)


def test_cycles_of_units_of_work() -> None:
    adds = tuple(instruction(0x10 * i, "FADD R1, R1, R2", stall=4) for i in range(10))
    step = units_of_work.Way(units_of_work.Unit("step", ()), adds, frozenset())
    assert modelled.step_cycles(step, 1) == 40
    assert modelled.step_cycles(step, 4) == 40
    assert modelled.step_cycles(step, 8) == 80
    tile = units_of_work.Way(units_of_work.Unit("shard", (), in_a_pass=32), adds, frozenset())
    assert modelled.shard_cycles(tile) == pytest.approx(40 / (32 * 16), rel=0.05)
    assert modelled.share_of_fma_peak(33.0) == 0.5


@pytest.mark.parametrize("capability", [80, 90])
def test_the_loop_that_is_watched_of_kernels_that_place_is_a_step(capability: int) -> None:
    kept = json.loads((KERNELS / f"figures_sm_{capability}.json").read_text())
    for kernel, desk in (("place_candidates", ""), ("search_beams", ", true"), ("search_beams", ", false")):
        of_lanes = kept[f"{kernel}_kernel<RegisterHead<32, 64>, LaneDevices{desk}>"]
        if desk != ", false":
            assert of_lanes["loop_instructions"] == of_lanes["step: instructions"]
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
    kept = {"k": {"registers": 10.0, "step: modelled_cycles_1": 100.0}}

    def wrong(**figures: float) -> Any:
        renamed = {figure.replace("step_", "step: "): now for figure, now in figures.items()}
        return report.check([report.Kernel("k", renamed, [])], kept, Path("kept.json"))

    assert wrong(registers=10, step_modelled_cycles_1=101.0) == []
    assert wrong(registers=9, step_modelled_cycles_1=100.0) == []
    assert "better: k: registers 10 before, 9 now" in capsys.readouterr().out
    assert wrong(registers=11, step_modelled_cycles_1=100.0) == ["k: registers 10 before, 11 now"]
    assert wrong(registers=10, step_modelled_cycles_1=101.5) == ["k: step: modelled_cycles_1 100 before, 101.5 now"]
    assert wrong(registers=10) == ["k: only here or only in kept.json: step: modelled_cycles_1"]
    assert report.check([], kept, Path("kept.json")) == ["k is in kept.json, but there is no such kernel"]


def test_a_kernel_is_described_by_its_unit_of_work(report: Any) -> None:
    listing = in_place_greedily(STEP)
    kernel = report.describe("place_candidates_kernel<GenericHead, LaneDevices>", code_of(listing), 40, 0, 90)
    assert kernel.figures["loop_instructions"] == 6
    assert "6 instructions (1 fma, 1 add, 1 shuffle), 17 % fma, 0 bytes shared, 0 through L1" in kernel.about[0]
    assert "at least 1.5 cycles (issue; shared and L1 1.0, fp32 0.5)" in kernel.about[0]
