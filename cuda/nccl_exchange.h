#pragma once

#include <memory>
#include <string>

#include "weights/collection/ranks/rank_group.h"

namespace neuroshard::ranks {

/// All-to-all in device memory by NCCL, grouped sends and receives, timed with CUDA events. The GPU
/// of a rank is the one of its number among the ranks of its machine. `group` is borrowed. Called
/// by all ranks at once; throws Error (kBackend) if the machine has fewer GPUs than ranks, or one
/// is not usable.
[[nodiscard]] std::unique_ptr<Exchange> make_nccl_exchange(const RankGroup& group);

/// Name of the GPU of this rank.
[[nodiscard]] std::string gpu_of_rank(const RankGroup& group);

}  // namespace neuroshard::ranks
