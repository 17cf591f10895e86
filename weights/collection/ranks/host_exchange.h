#pragma once

#include <memory>

#include "weights/collection/ranks/rank_group.h"

namespace neuroshard::ranks {

/// All-to-all in host memory, by RankGroup::all_to_all. `group` is borrowed.
[[nodiscard]] std::unique_ptr<Exchange> make_host_exchange(const RankGroup& group);

}  // namespace neuroshard::ranks
