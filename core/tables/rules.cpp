#include "neuroshard/rules.h"

#include <algorithm>
#include <utility>

#include "core/base/enum_names.h"

namespace neuroshard {

static constexpr std::string_view text_of(Keep keep) {
  switch (keep) {
    case Keep::kTogether:
      return "together";
    case Keep::kApart:
      return "apart";
  }
  return "";
}

namespace {
constexpr auto kKeeps = all_named<Keep>();
}  // namespace

std::string_view name_of(Keep keep) { return name_or_unknown(keep); }

Keep keep_from_name(std::string_view name) {
  return named<Keep>(kKeeps, name, "way to keep tables");
}

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
