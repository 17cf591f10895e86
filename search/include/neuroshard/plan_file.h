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

/// Changes that a plan makes to the one that runs.
struct PlanMoves {
  double running_cost_ms = 0.0;  ///< Cost of the running plan for its own task.
  // Fields of ReplanResult.
  std::int64_t must_move_bytes = 0;
  std::int64_t moved_bytes = 0;
  std::int64_t unspent_bytes = 0;
  std::vector<TableMove> moves;
};
[[nodiscard]] PlanMoves plan_moves(const ReplanResult& result);

/// Contents of a plan file.
struct PlanDocument {
  Task task;
  Plan plan;
  PlanCost cost;
  std::optional<SearchStats> stats{};  ///< Empty: the plan was given, not searched for.
  std::string task_name{};             ///< May be empty, like the two below.
  std::string weights{};               ///< Source of the cost models.
  std::vector<std::string> notes{};    ///< Assumptions that were made.
  bool complete = true;                ///< As in PlanResult.
  std::vector<CostedPlan> alternatives{};
  std::optional<PlanMoves> moves{};  ///< Moves of a plan near to one that runs.
  std::optional<double> read_ms{};   ///< Time to read the task, access histograms included.
};

/// Writes a plan as JSON for people and programs: per device its table slices, memory and predicted
/// costs. The cost's warning is the last of the notes.
[[nodiscard]] std::string plan_to_json(const PlanDocument& document);

/// Contents of the file of a task that has no plan.
struct NoPlanDocument {
  Task task;
  Infeasibility infeasible;
  std::string task_name{};           ///< May be empty, like the two below.
  std::string weights{};             ///< Source of the cost models.
  std::vector<std::string> notes{};  ///< Assumptions that were made.
};
/// Writes the document with the reason in place of cost, column splits and devices.
[[nodiscard]] std::string plan_to_json(const NoPlanDocument& document);

/// Writes one task's result as one line of JSON, without the line's end.
[[nodiscard]] std::string plan_to_json_line(int task_index, const Task& task,
                                            const PlanResult& result);
/// Writes a plan that was given, not searched for.
[[nodiscard]] std::string plan_to_json_line(int task_index, const Task& task, const Plan& plan,
                                            const PlanCost& cost);
/// Writes the line of a task that was not planned because of `error`: it is invalid, or planning
/// failed.
[[nodiscard]] std::string error_to_json_line(int task_index, const Error& error);

/// A slice of a plan as a file states it.
struct StatedSlice {
  int index = 0;  ///< Index among the plan's slices.
  TableSlice slice;
};

/// Name that a file gives to the table of one of its slices.
struct StatedName {
  int slice = 0;  ///< Number that the file gives it.
  int table = 0;  ///< Index into `Task::tables`.
  std::string name;
};

/// Handling of faults of a plan: values that have another type than they should or lie outside
/// their range, and slices and devices that are not numbered 0, 1, ...
enum class PlanFaults {
  kThrown,  ///< The first one is an Error.
  /// They are in PlanRecord::faults, or for check_plan() to find, and what can be read of the plan
  /// is there. It is only for callers who then ask check_plan(). Text that is no JSON, no plan
  /// document or no plan line is an Error all the same.
  kListed,
};

/// A plan as a file states it.
struct PlanRecord {
  std::string where;        ///< File, and line if there are several, for messages.
  std::optional<int> task;  ///< Index of its task in a file of several.
  /// Column splits, or slices. Version 1 and published lines have column splits of tables that the
  /// file does not state; version 2 has slices. Empty: the file says that there is none.
  std::optional<std::variant<HalvedPlan, Plan>> plan;
  std::optional<double> cost_ms;  ///< Cost predicted when the plan was written.
  /// Bytes that re-planning left of its budget for later changes (`ReplanResult`). Other plans have
  /// 0.
  std::int64_t unspent_bytes = 0;

  // These say what the file states of the task that the plan is for, as far as it does.
  std::optional<int> tables;
  /// Slices of a document of version 1, as listed, device by device. It does not state their rows,
  /// which are 0 here.
  std::vector<StatedSlice> slices;
  std::vector<StatedName> names;          ///< Names in a document, as listed.
  std::optional<std::string> error_kind;  ///< Reason why there is no plan, e.g. "packing".
  std::vector<PlanProblem> faults;        ///< Faults, if they are to be listed.

  /// Slice indices of each device. Requires a plan.
  [[nodiscard]] const std::vector<std::vector<int>>& shards() const;
};

/// Reads all plans of a file: one JSON document, or one line per task in either form; at least one.
/// Throws Error: kIo if the file cannot be read, kInvalidInput naming file, line and field.
[[nodiscard]] std::vector<PlanRecord> load_plans(const std::filesystem::path& path,
                                                 PlanFaults faults = PlanFaults::kThrown);
[[nodiscard]] std::vector<PlanRecord> parse_plans(std::string_view text, const std::string& where,
                                                  PlanFaults faults = PlanFaults::kThrown);

/// Lists everything that is wrong with the plan of `record` for the valid task `task`. First come
/// its faults, then what the file says of its task and is not true of `task`: number and names of
/// tables, and columns of slices. The findings of check_plan() come last. Tables without a name,
/// there or here, may be any. Throws Error if there is no plan.
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
