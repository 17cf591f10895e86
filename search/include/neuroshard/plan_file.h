#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "neuroshard/column_halvings.h"
#include "neuroshard/error.h"
#include "neuroshard/plan.h"
#include "neuroshard/plan_check.h"
#include "neuroshard/planner.h"

#pragma GCC visibility push(default)
namespace neuroshard {

// The formats are described in docs/plan_format.md.

/// What a plan changes about the one that runs.
struct PlanMoves {
  double running_cost_ms = 0.0;  ///< Of the running plan for its own task.
  // As in ReplanResult.
  std::int64_t must_move_bytes = 0;
  std::int64_t moved_bytes = 0;
  std::int64_t unspent_bytes = 0;
  std::vector<TableMove> moves;
};
[[nodiscard]] PlanMoves plan_moves(const ReplanResult& result);

/// What goes into a plan file.
struct PlanDocument {
  Task task;
  Plan plan;
  PlanCost cost;
  std::optional<SearchStats> stats{};  ///< Empty: the plan was given, not searched for.
  std::string task_name{};             ///< May be empty, like the two below.
  std::string weights{};               ///< Where the cost models come from.
  std::vector<std::string> notes{};    ///< What was assumed.
  bool complete = true;                ///< As in PlanResult.
  std::vector<CostedPlan> alternatives{};
  std::optional<PlanMoves> moves{};  ///< Of a plan near to one that runs.
  std::optional<double> read_ms{};   ///< What reading the task took, access histograms included.
};

/// A plan as JSON for people and programs: per device its table slices, memory and predicted costs.
[[nodiscard]] std::string plan_to_json(const PlanDocument& document);

/// What goes into the file of a task that has no plan.
struct NoPlanDocument {
  Task task;
  Infeasibility infeasible;
  std::string task_name{};           ///< May be empty, like the two below.
  std::string weights{};             ///< Where the cost models come from.
  std::vector<std::string> notes{};  ///< What was assumed.
};
/// The same document with the reason in place of cost, column splits and devices.
[[nodiscard]] std::string plan_to_json(const NoPlanDocument& document);

/// One task's result as one line of JSON, without the line's end.
[[nodiscard]] std::string plan_to_json_line(int task_index, const Task& task,
                                            const PlanResult& result);
/// The same for a plan that was given, not searched for.
[[nodiscard]] std::string plan_to_json_line(int task_index, const Task& task, const Plan& plan,
                                            const PlanCost& cost);
/// The line of a task that was not planned because of `error`: it is invalid, or planning failed.
[[nodiscard]] std::string error_to_json_line(int task_index, const Error& error);

/// What a file says of a slice of its plan.
struct StatedSlice {
  int index = 0;  ///< Of the plan's slices.
  TableSlice slice;
};

/// What a file calls the table of one of its slices.
struct StatedName {
  int slice = 0;  ///< As the file numbers it.
  int table = 0;  ///< Index into `Task::tables`.
  std::string name;
};

/// What becomes of values of a plan that have another type than they should, or lie outside their
/// range, or of slices and devices that are not numbered 0, 1, ...
enum class PlanFaults {
  kThrown,  ///< The first one is an Error.
  /// They are in PlanRecord::faults, or for check_plan() to find, and what can be read of the plan
  /// is there. Only for those who then ask check_plan(). What is no JSON, no plan document or no
  /// plan line is an Error all the same.
  kListed,
};

/// A plan as a file states it.
struct PlanRecord {
  std::string where;        ///< File, and line if there are several, for messages.
  std::optional<int> task;  ///< Index of its task in a file of several.
  /// Column splits of tables, which the file does not say (version 1 and published lines), or
  /// slices (version 2). Empty: the file says that there is none.
  std::optional<std::variant<HalvedPlan, Plan>> plan;
  std::optional<double> cost_ms;  ///< As predicted when the plan was written.
  /// What re-planning left of its budget for later changes (`ReplanResult`). 0 of other plans.
  std::int64_t unspent_bytes = 0;

  // What the file says of the task that the plan is for, as far as it does.
  std::optional<int> tables;
  /// Of a document of version 1, as listed, device by device; their rows are not said, and 0 here.
  std::vector<StatedSlice> slices;
  std::vector<StatedName> names;          ///< Of a document, as listed.
  std::optional<std::string> error_kind;  ///< Why there is no plan, e.g. "packing".
  std::vector<PlanProblem> faults;        ///< If they are to be listed.

  /// Slice indices of each device. There is a plan.
  [[nodiscard]] const std::vector<std::vector<int>>& shards() const;
};

/// All plans of a file: one JSON document, or one line per task in either form; at least one.
/// Throws Error: kIo if the file cannot be read, kInvalidInput naming file, line and field.
[[nodiscard]] std::vector<PlanRecord> load_plans(const std::filesystem::path& path,
                                                 PlanFaults faults = PlanFaults::kThrown);
[[nodiscard]] std::vector<PlanRecord> parse_plans(std::string_view text, const std::string& where,
                                                  PlanFaults faults = PlanFaults::kThrown);

/// Everything that is wrong with the plan of `record` for the valid task `task`: what check_plan()
/// finds, after its faults and what the file says of its task and is not true of `task`: number and
/// names of tables, and columns of slices. Tables without a name, there or here, may be any. Throws
/// Error if there is no plan.
[[nodiscard]] std::vector<PlanProblem> check_plan(const PlanRecord& record, const Task& task);

/// A JSON array with an object for each of `problems` that a plan for `task` has.
[[nodiscard]] std::string problems_to_json(const std::vector<PlanProblem>& problems,
                                           const Task& task);

/// The plan of `record`. Throws Error unless there is one, it is a valid plan for `task`
/// (`validate`), and what the file says of its task is true of `task`. The message has the first
/// problem and the number of the others. Does not look at memory.
[[nodiscard]] Plan plan_for(const PlanRecord& record, const Task& task);

}  // namespace neuroshard
#pragma GCC visibility pop
