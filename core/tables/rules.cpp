#include "neuroshard/rules.h"

#include <algorithm>
#include <utility>

namespace neuroshard {

bool TableRules::allow(int device, int devices_per_node) const {
  const auto names = [](const std::vector<int>& set, int number) {
    return std::find(set.begin(), set.end(), number) != set.end();
  };
  const int node = device / devices_per_node;
  return (devices.empty() || names(devices, device)) && !names(not_devices, device) &&
         (nodes.empty() || names(nodes, node)) && !names(not_nodes, node);
}

void TableRules::limit_to(std::vector<int> allowed) {
  devices = std::move(allowed);
  not_devices.clear();
  nodes.clear();
  not_nodes.clear();
}

bool TableRules::allow(ShardingKind kind) const {
  return kinds.empty() || std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

}  // namespace neuroshard
