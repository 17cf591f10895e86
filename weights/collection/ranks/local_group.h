#pragma once

#include <functional>
#include <memory>

#include "weights/collection/ranks/rank_group.h"

namespace neuroshard::ranks {

/// Runs `work` in `size` threads of this process, which are the ranks of a group: rank 0 in the
/// thread that calls, each on CPUs of its own where there are enough (RankCpus). When all have
/// ended, throws what the first rank to fail threw; the others are ended at their next call of a
/// function of the group, which also throws if another rank has returned already.
void run_local_ranks(int size, const std::function<void(RankGroup&)>& work);

}  // namespace neuroshard::ranks
