#include "search/parts/cut_choice.h"

#include <algorithm>

#include "search/parts/even_blocks.h"

namespace neuroshard {

CutChoice choice_of(const Task& task, const Plan& plan) {
  using enum ShardingKind;
  CutChoice choice;
  const std::vector<int> groups = block_groups(task);
  const std::vector<std::vector<ShardingKind>> kinds = sharding_kinds(task, plan);
  for (std::uint32_t t = 0; t < kinds.size(); ++t) {
    const auto is = [&](ShardingKind kind) {
      return std::ranges::find(kinds[t], kind) != kinds[t].end();
    };
    if (is(kReplicate)) {
      choice.replicas.push_back(t);
    } else if (is(kTable) || is(kColumn)) {
      continue;
    } else if (is(kRow)) {
      choice.row_wise.push_back(t);
    } else if (groups.size() > 1 && may_be_cut(task, task.tables[t], groups.back())) {
      choice.node_blocks.push_back(t);
    }
  }
  return choice;
}

}  // namespace neuroshard
