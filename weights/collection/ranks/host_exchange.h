#pragma once

#include <memory>

#include "weights/collection/ranks/rank_group.h"

namespace neuroshard::ranks {

/// Exchange in host memory, by functions of RankGroup. `group` is borrowed.
[[nodiscard]] std::unique_ptr<Exchange> make_host_exchange(const RankGroup& group);

}  // namespace neuroshard::ranks
