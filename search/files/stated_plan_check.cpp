// Finds what is wrong, for a task, with a plan that a file states.
#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "core/base/message_text.h"
#include "core/plans/slice_tiling.h"
#include "neuroshard/error.h"
#include "neuroshard/plan_file.h"
#include "search/files/json_text.h"

namespace neuroshard {
namespace {

constexpr const char* kGiveItsTask = "give the task that the plan was made for";
constexpr const char* kGiveTaskOrLeaveNames =
    "give the task that the plan was made for, tables in its order, or, if they only have new "
    "names, leave names out of the plan";

/// Slices, by index, that are said to be other columns than those that they are for `task`.
void add_misstatements(const PlanRecord& record, const HalvedPlan& plan, const Task& task,
                       std::vector<PlanProblem>& problems) {
  const std::vector<TableSlice> slices = split_columns(task, plan.column_splits);
  std::vector<StatedSlice> by_index = record.slices;
  std::ranges::stable_sort(by_index, {}, &StatedSlice::index);
  for (const auto& [index, stated] : by_index) {
    if (static_cast<std::size_t>(index) >= slices.size()) continue;  // check_plan() says so.
    const TableSlice& slice = slices[static_cast<std::size_t>(index)];
    if (stated.table == slice.table && stated.first_column == slice.first_column &&
        stated.dim == slice.dim) {
      continue;
    }
    problems.push_back({.kind = PlanProblem::Kind::kTask,
                        .slice = index,
                        .table = slice.table,
                        .what = "slice " + std::to_string(index) + " is said to be " +
                                described(stated, stated.rows) + ", but for this task it is " +
                                described(slice, slice.rows),
                        .remedy = kGiveItsTask});
  }
}

/// Writers of JSON put U+FFFD in the place of bytes that are not UTF-8.
bool same_name(const std::string& stated, const std::string& name) {
  if (stated == name) return true;
  std::string as_written;
  std::string as_stated;
  json_text::append(as_written, name);
  json_text::append(as_stated, stated);
  return as_stated == as_written;
}

/// Tables that the file calls otherwise than `task` does, each name once.
void add_misnomers(const PlanRecord& record, const Task& task, std::vector<PlanProblem>& problems) {
  std::set<std::pair<int, std::string_view>> said;
  for (const auto& [slice, table, stated] : record.names) {
    if (table < 0 || std::cmp_greater_equal(table, task.tables.size())) continue;
    const std::string& name = task.tables[static_cast<std::size_t>(table)].name;
    if (stated.empty() || name.empty() || same_name(stated, name)) continue;
    if (!said.emplace(table, stated).second) continue;
    std::string what =
        "slice " + std::to_string(slice) + " is said to be of table " + std::to_string(table);
    what.append(" '").append(stated).append("', but in this task that is '");
    what.append(name).append("'");
    problems.push_back({.kind = PlanProblem::Kind::kTask,
                        .slice = slice,
                        .table = table,
                        .what = std::move(what),
                        .remedy = kGiveTaskOrLeaveNames});
  }
}

}  // namespace

std::vector<PlanProblem> check_plan(const PlanRecord& record, const Task& task) {
  if (!record.plan) throw Error(record.where + ": has no plan; the search found none");
  std::vector<PlanProblem> problems = record.faults;
  if (record.tables && static_cast<std::size_t>(*record.tables) != task.tables.size()) {
    problems.push_back({.kind = PlanProblem::Kind::kTask,
                        .what = "is a plan for " + std::to_string(*record.tables) +
                                " tables; the task has " + std::to_string(task.tables.size()),
                        .remedy = kGiveItsTask});
  }
  add_misnomers(record, task, problems);
  std::vector<PlanProblem> others =
      std::visit([&](const auto& plan) { return check_plan(plan, task); }, *record.plan);
  const bool splits = std::ranges::none_of(
      others, [](const PlanProblem& p) { return p.kind == PlanProblem::Kind::kSplit; });
  const auto* halved = std::get_if<HalvedPlan>(&*record.plan);
  if (halved != nullptr && splits) add_misstatements(record, *halved, task, problems);
  std::ranges::move(others, std::back_inserter(problems));
  return problems;
}

Plan plan_for(const PlanRecord& record, const Task& task) {
  std::vector<PlanProblem> problems = check_plan(record, task);
  std::erase_if(problems, [](const PlanProblem& p) {
    return p.kind == PlanProblem::Kind::kMemory || p.kind == PlanProblem::Kind::kRule;
  });
  if (problems.empty()) {
    const auto* halved = std::get_if<HalvedPlan>(&*record.plan);
    return halved != nullptr ? plan_from_halvings(task, *halved) : std::get<Plan>(*record.plan);
  }
  std::string message = record.where + ": " + problems.front().message();
  if (problems.size() > 1) {
    message += " (and " + counted(problems.size() - 1, "more problem") + ")";
  }
  throw Error(message);
}

}  // namespace neuroshard
