#pragma once

#include <string>
#include <vector>

/// Finds races in kernels that are executed on the CPU. They are compiled with -fsanitize=thread,
/// but not linked to ThreadSanitizer: its calls at every access are answered by race_checker.cpp,
/// which keeps a shadow of memory. Two threads of a block race if both access the same 4 bytes, not
/// both by reading or by atomics, without a __syncthreads between them, or a __syncwarp if they are
/// of one warp. Shuffles, ballots and reductions order nothing, as CUDA has it. Threads of two
/// blocks race whenever they do that in one launch, unless one has told the other: by a
/// __threadfence and an atomic after its access, the other by an atomic at the same place that came
/// later and a __threadfence before its own. Barriers of their blocks may lie between.
///
/// So one run finds most of what some other order of threads would do, and what the order of the
/// hardware hides: not all, as of the reads of a cell four are kept.
namespace host_cuda {

/// From now on, on this thread. Without it nothing is noted.
void watch_for_races();

/// Returns the races found since the last call, each pair of places once: "write after read of
/// shared memory + 24: thread 3 at 0x51f3 (addr2line -e PROGRAM), thread 1 at 0x52a0".
[[nodiscard]] std::vector<std::string> take_races();

}  // namespace host_cuda
