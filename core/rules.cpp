#include "neuroshard/rules.h"

#include <algorithm>

namespace neuroshard {

bool TableRules::allow(int device) const {
  const auto names = [device](const std::vector<int>& set) {
    return std::find(set.begin(), set.end(), device) != set.end();
  };
  return (devices.empty() || names(devices)) && !names(not_devices);
}

bool TableRules::allow(ShardingKind kind) const {
  return kinds.empty() || std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

}  // namespace neuroshard
