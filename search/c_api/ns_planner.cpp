#include <chrono>
#include <memory>
#include <utility>

#include "neuroshard/c_api.h"
#include "neuroshard/weights.h"
#include "search/c_api/handles.h"
#include "search/c_api/sized_struct.h"
#include "search/c_api/status.h"

namespace neuroshard::c_api {
namespace {

// Sizes in the first version of the interface.
constexpr std::size_t kFirstPlannerOptions = 48;
constexpr std::size_t kFirstPlanOptions = 32;
// Longer than anybody waits, and no trouble for clocks.
constexpr double kLongestDeadlineMs = 1e9;

PlannerOptions planner_options(const ns_planner_options& given) {
  PlannerOptions options;
  if (given.algorithm != nullptr) options.algorithm = algorithm_from_name(given.algorithm);
  if (given.effort != nullptr) options.effort = effort_from_name(given.effort);
  if (given.backend != nullptr) options.backend = given.backend;
  options.threads = given.threads;
  return options;
}

std::unique_ptr<ns_planner> planner_handle(const ns_planner_options& given) {
  const bool builtin = given.weights_path == nullptr;
  const CostModels models = builtin ? builtin_weights() : load_weights(given.weights_path);
  std::string weights = origin_of(models, builtin ? "built-in weights" : given.weights_path);
  Planner planner(models, planner_options(given));
  std::string backend(planner.backend());
  return std::make_unique<ns_planner>(
      ns_planner{std::move(planner), std::move(backend), std::move(weights)});
}

// The deadline counts from now.
PlanRequest plan_request(const ns_plan_options& given) {
  PlanRequest request;
  if (!(given.deadline_ms >= 0.0 && given.deadline_ms <= kLongestDeadlineMs)) {
    throw Error("deadline_ms is not a time; give up to 1e9 milliseconds, or 0 for none");
  }
  if (given.deadline_ms > 0.0) {
    using Clock = std::chrono::steady_clock;
    const std::chrono::duration<double, std::milli> time(given.deadline_ms);
    request.deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(time);
  }
  if (given.stop != nullptr) request.stop = given.stop->source.get_token();
  request.alternatives = given.alternatives;
  return request;
}

// What is worth saying beside the costs.
std::vector<std::string> notes_of(const ns_task& task, const PlanCost& cost) {
  std::vector<std::string> notes = task.notes;
  if (!cost.warning.empty()) notes.push_back(cost.warning);
  return notes;
}

std::unique_ptr<ns_plan> plan_handle(const ns_planner& planner, const ns_task& task,
                                     PlanResult result) {
  auto handle = std::make_unique<ns_plan>();
  if (result.plan) {
    std::vector<std::string> notes = notes_of(task, result.cost);
    handle->document = PlanDocument{.task = task.task,
                                    .plan = std::move(*result.plan),
                                    .cost = std::move(result.cost),
                                    .stats = std::move(result.stats),
                                    .task_name = task.name,
                                    .weights = planner.weights,
                                    .notes = std::move(notes),
                                    .complete = result.complete,
                                    .alternatives = std::move(result.alternatives)};
  } else {
    handle->document = NoPlanDocument{.task = task.task,
                                      .infeasible = std::move(*result.infeasible),
                                      .task_name = task.name,
                                      .weights = planner.weights,
                                      .notes = task.notes};
  }
  return handle;
}

}  // namespace
}  // namespace neuroshard::c_api

using namespace neuroshard;
using namespace neuroshard::c_api;

ns_status ns_planner_create(const ns_planner_options* options, ns_planner** planner) {
  return guarded([&] {
    clear_handle(planner, "planner");
    *planner =
        planner_handle(options_from(options, kFirstPlannerOptions, "ns_planner_options")).release();
    return NS_OK;
  });
}

const char* ns_planner_backend(const ns_planner* planner) {
  return planner == nullptr ? "" : planner->backend.c_str();
}

void ns_planner_free(ns_planner* planner) { delete planner; }

ns_status ns_planner_plan(const ns_planner* planner, const ns_task* task,
                          const ns_plan_options* options, ns_plan** plan) {
  return guarded([&] {
    clear_handle(plan, "plan");
    const PlanRequest request =
        plan_request(options_from(options, kFirstPlanOptions, "ns_plan_options"));
    const ns_planner& with = required(planner, "planner");
    const ns_task& what = required(task, "task");
    *plan = plan_handle(with, what, with.planner.plan(complete_task(what), request)).release();
    const auto* none = std::get_if<NoPlanDocument>(&(*plan)->document);
    return none == nullptr ? NS_OK : failed(NS_INFEASIBLE, none->infeasible.message.c_str());
  });
}

ns_status ns_planner_simulate(const ns_planner* planner, const ns_task* task, const char* json,
                              size_t length, ns_plan** plan) {
  return guarded([&] {
    clear_handle(plan, "plan");
    const ns_planner& with = required(planner, "planner");
    const ns_task& what = required(task, "task");
    const Task& complete = complete_task(what);
    validate(complete, "task");
    PlanDocument document{.task = complete,
                          .plan = plan_from_json(complete, json, length),
                          .cost = {},
                          .task_name = what.name,
                          .weights = with.weights};
    document.cost = with.planner.simulate(complete, document.plan);
    document.notes = notes_of(what, document.cost);
    *plan = new ns_plan{std::move(document)};
    return NS_OK;
  });
}

ns_status ns_planner_fingerprint(const ns_planner* planner, const ns_task* task,
                                 uint64_t* fingerprint) {
  return guarded([&] {
    const ns_planner& with = required(planner, "planner");
    required(fingerprint, "fingerprint") =
        with.planner.fingerprint(complete_task(required(task, "task")));
    return NS_OK;
  });
}

ns_status ns_stop_source_create(ns_stop_source** source) {
  return guarded([&] {
    clear_handle(source, "source");
    *source = new ns_stop_source;
    return NS_OK;
  });
}

void ns_stop_source_request(ns_stop_source* source) {
  if (source != nullptr) source->source.request_stop();
}

void ns_stop_source_free(ns_stop_source* source) { delete source; }
