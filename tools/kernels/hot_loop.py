"""The loop of a kernel that is watched."""

from control_flow import ControlFlow, Loop
from source_functions import functions_of

# By instructions that a loop has: the sum of a warp (shuffles) and its minimum (REDUX) make the step of a placement,
# whatever the head; a sum that is stored, all that a warp does for a shard.
_OF_KERNELS = {
    "place_candidates_kernel": (frozenset(("SHFL", "REDUX", "FFMA")), "place_greedily"),
    "search_beams_kernel": (frozenset(("SHFL", "REDUX", "FFMA")), "place_greedily"),
    "score_shards_kernel<RegisterHead": (frozenset(("SHFL", "STG", "FFMA")), ""),
}


def hot_loop(flow: ControlFlow, kernel: str) -> Loop | None:
    """A step for kernels that place: the smallest loop of such instructions, most of which are of a function or were
    inlined into it. For others it is the innermost loop with the most arithmetic of floats; without any, the one with
    the most instructions."""
    for name, (marks, function) in _OF_KERNELS.items():
        if kernel.startswith(name):
            marked = [loop for loop in flow.loops if marks <= {i.name for i in loop.body} and _is_of(loop, function)]
            return min(marked, key=lambda loop: len(loop.body), default=None)
    return max(flow.innermost(), key=lambda loop: (loop.arithmetic, len(loop.body)), default=None)


def _is_of(loop: Loop, function: str) -> bool:
    return not function or 2 * sum(function in functions_of(one) for one in loop.body) > len(loop.body)
