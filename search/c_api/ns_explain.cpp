#include <optional>
#include <type_traits>
#include <variant>

#include "neuroshard/c_api.h"
#include "neuroshard/explanation_file.h"
#include "search/c_api/handles.h"
#include "search/c_api/sized_struct.h"
#include "search/c_api/status.h"

namespace neuroshard::c_api {
namespace {

constexpr std::size_t kFirstExplainOptions = 32;  // In version 8, the first to have them.

/// Explains a PlanDocument or a NoPlanDocument.
template <typename Document>
ExplanationDocument explanation_of(const ns_planner& planner, const Document& document,
                                   const ns_explain_options& given) {
  ExplanationDocument explained{.task = document.task,
                                .task_name = document.task_name,
                                .weights = planner.weights,
                                .notes = document.notes};
  std::optional<Plan> plan;
  if constexpr (std::is_same_v<Document, PlanDocument>) {
    plan = document.plan;
    explained.explanation = planner.planner.explain(document.task, *plan);
  } else {
    explained.infeasible = document.infeasible;
  }
  if (given.rules != 0) {
    explained.rules =
        costs_of_rules(planner.planner, document.task, timed_request(given.deadline_ms, given.stop),
                       cost_with_rules_ms(planner.planner, document.task, plan));
  }
  return explained;
}

}  // namespace
}  // namespace neuroshard::c_api

using namespace neuroshard;
using namespace neuroshard::c_api;

ns_status ns_planner_explain(const ns_planner* planner, const ns_plan* plan,
                             const ns_explain_options* options, char** explanation) {
  return guarded([&] {
    clear_handle(explanation, "explanation");
    const ns_explain_options given =
        options_from(options, kFirstExplainOptions, "ns_explain_options");
    (void)timed_request(given.deadline_ms, given.stop);  // Wrong ones are, without rules, too.
    const ns_planner& with = required(planner, "planner");
    const ns_plan& what = required(plan, "plan");
    *explanation = new_text(explanation_to_json(
        std::visit([&](const auto& document) { return explanation_of(with, document, given); },
                   what.document)));
    return status_of(what);
  });
}
