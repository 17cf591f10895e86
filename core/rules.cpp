#include "neuroshard/rules.h"

#include <algorithm>

namespace neuroshard {

bool TableRules::allow(int device) const {
  const auto names = [device](const std::vector<int>& set) {
    return std::find(set.begin(), set.end(), device) != set.end();
  };
  return (devices.empty() || names(devices)) && !names(not_devices);
}

}  // namespace neuroshard
