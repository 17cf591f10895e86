#include "neuroshard/plan.h"

#include "core/column_split.h"
#include "neuroshard/error.h"
#include "neuroshard/plan_check.h"

namespace neuroshard {

std::vector<TableSlice> whole_tables(const Task& task) {
  std::vector<TableSlice> slices;
  for (std::size_t table = 0; table < task.tables.size(); ++table) {
    slices.push_back({static_cast<int>(table), 0, task.tables[table].dim});
  }
  return slices;
}

std::optional<PlanProblem> halve(std::vector<TableSlice>& slices, std::size_t step, int index) {
  const auto problem = [&](int table, const std::string& what, const std::string& remedy) {
    return PlanProblem{.kind = PlanProblem::Kind::kSplit,
                       .slice = index,
                       .table = table,
                       .what = "column split " + std::to_string(step) + ": " + what,
                       .remedy = remedy};
  };
  if (index < 0 || static_cast<std::size_t>(index) >= slices.size()) {
    return problem(-1, "there is no slice " + std::to_string(index),
                   "there are " + std::to_string(slices.size()));
  }
  TableSlice& slice = slices[static_cast<std::size_t>(index)];
  if (!can_split_columns(slice.dim)) {
    return problem(slice.table,
                   "slice " + std::to_string(index) + " has dim " + std::to_string(slice.dim) +
                       ", whose half is not a multiple of 4",
                   "leave this step out");
  }
  slice.dim /= 2;
  slices.push_back({slice.table, slice.first_column + slice.dim, slice.dim});
  return std::nullopt;
}

std::vector<TableSlice> split_columns(const Task& task, const std::vector<int>& column_splits) {
  std::vector<TableSlice> slices = whole_tables(task);
  slices.reserve(slices.size() + column_splits.size());
  for (std::size_t step = 0; step < column_splits.size(); ++step) {
    const std::optional<PlanProblem> problem = halve(slices, step, column_splits[step]);
    if (problem) throw Error("plan: " + problem->message());
  }
  return slices;
}

std::vector<std::vector<TableSlice>> slices_by_device(const Task& task, const Plan& plan) {
  const std::vector<TableSlice> slices = split_columns(task, plan.column_splits);
  std::vector<std::vector<TableSlice>> by_device;
  by_device.reserve(plan.shards.size());
  for (const std::vector<int>& shard : plan.shards) {
    std::vector<TableSlice>& held = by_device.emplace_back();
    held.reserve(shard.size());
    for (const int slice : shard) held.push_back(slices[static_cast<std::size_t>(slice)]);
  }
  return by_device;
}

void validate(const Plan& plan, const Task& task) {
  for (const PlanProblem& problem : check_plan(plan, task)) {
    if (problem.kind != PlanProblem::Kind::kMemory) throw Error("plan: " + problem.message());
  }
}

}  // namespace neuroshard
