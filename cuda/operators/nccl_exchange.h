#pragma once

#include <memory>
#include <string>

#include "weights/collection/ranks/mpi_group.h"

namespace neuroshard::ranks {

/// Exchange in device memory by NCCL, timed with CUDA events: all-to-alls are grouped sends and
/// receives. The GPU
/// of a rank is the one of its number among the ranks of its machine. `group` is borrowed. NCCL is
/// loaded, from the path in NEUROSHARD_NCCL or where the system finds libnccl.so.2. Called by all
/// ranks at once; throws Error (kBackend) if there is no NCCL, the machine has fewer GPUs than
/// ranks, or one is not usable.
[[nodiscard]] std::unique_ptr<Exchange> make_nccl_exchange(const MpiGroup& group);

/// Name of the GPU of this rank. Throws as make_nccl_exchange() does.
[[nodiscard]] std::string gpu_of_rank(const RankGroup& group);

}  // namespace neuroshard::ranks
