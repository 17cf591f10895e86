#pragma once

#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "neuroshard/c_api.h"
#include "neuroshard/hardware.h"
#include "neuroshard/plan_file.h"
#include "neuroshard/planner.h"
#include "neuroshard/task.h"

// Contents of the handles of the C interface.

struct ns_task {
  neuroshard::Task task;           ///< Devices and memory are 0 if the JSON does not say them.
  std::string name;                ///< May be empty.
  std::vector<std::string> notes;  ///< Assumptions that were made.
};

struct ns_planner {
  neuroshard::Planner planner;
  std::string backend;
  std::string weights;  ///< Where the cost models come from.
};

struct ns_stop_source {
  std::stop_source source;
};

struct ns_plan {
  std::variant<neuroshard::PlanDocument, neuroshard::NoPlanDocument> document;
};

namespace neuroshard::c_api {

/// The task of `handle`. Throws Error if it lacks the number of devices or their memory.
const Task& complete_task(const ns_task& handle);

/// `text` is a name or a datasheet. NULL: the default.
[[nodiscard]] Hardware hardware_from(const char* text);

/// A copy of `text` for ns_string_free().
[[nodiscard]] char* new_text(const std::string& text);

/// The deadline counts from now. Throws Error if it is not a time.
[[nodiscard]] PlanRequest timed_request(double deadline_ms, const ns_stop_source* stop);

/// `result` of planning `task`. Takes the plan, or the reason why there is none.
[[nodiscard]] std::unique_ptr<ns_plan> plan_handle(const ns_planner& planner, const ns_task& task,
                                                   PlanResult result);
/// Status that a function returns that has made `plan`.
[[nodiscard]] ns_status status_of(const ns_plan& plan) noexcept;

/// Null if there is no plan.
[[nodiscard]] inline const PlanDocument* document_of(const ns_plan& plan) {
  return std::get_if<PlanDocument>(&plan.document);
}

/// The plan that `json` states. Throws Error unless it is one for `task`.
[[nodiscard]] Plan plan_from_json(const Task& task, const char* json, std::size_t length);

}  // namespace neuroshard::c_api
