#include "neuroshard/rules.h"

#include <algorithm>
#include <string>

#include "core/enum_names.h"

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
