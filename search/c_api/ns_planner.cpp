#include <algorithm>
#include <memory>
#include <utility>

#include "neuroshard/c_api.h"
#include "neuroshard/policy_file.h"
#include "neuroshard/weights.h"
#include "search/c_api/handles.h"
#include "search/c_api/sized_struct.h"
#include "search/c_api/status.h"

namespace neuroshard::c_api {
namespace {

// Sizes in the first version of the interface.
constexpr std::size_t kFirstPlannerOptions = 48;
constexpr std::size_t kFirstPlanOptions = 32;
// Most tasks of a batch; more than memory holds.
constexpr std::size_t kMostTasks = std::size_t{1} << 24;

PlannerOptions planner_options(const ns_planner_options& given) {
  PlannerOptions options;
  if (given.algorithm != nullptr) options.algorithm = algorithm_from_name(given.algorithm);
  if (given.effort != nullptr) options.effort = effort_from_name(given.effort);
  if (given.backend != nullptr) options.backend = given.backend;
  options.threads = given.threads;
  if (given.policy_path != nullptr) {
    options.policy =
        std::make_shared<const PlacementPolicy>(load_trained_policy(given.policy_path));
  }
  options.cuts = given.cuts != nullptr ? cuts_from_name(given.cuts) : Cuts::kColumns;
  return options;
}

std::unique_ptr<ns_planner> planner_handle(const ns_planner_options& given) {
  const bool builtin = given.weights_path == nullptr;
  if (!builtin && given.hardware != nullptr) {
    throw Error("hardware chooses built-in weights, but there is a weights_path; give one of them");
  }
  const Hardware hardware = hardware_from(given.hardware);
  const CostModels models = builtin ? builtin_weights(hardware) : load_weights(given.weights_path);
  std::string weights =
      origin_of(models, builtin ? builtin_place(hardware.name) : std::string(given.weights_path));
  Planner planner(models, planner_options(given));
  std::string backend(planner.backend());
  return std::make_unique<ns_planner>(
      ns_planner{std::move(planner), std::move(backend), std::move(weights)});
}

PlanRequest plan_request(const ns_plan_options& given) {
  PlanRequest request = timed_request(given.deadline_ms, given.stop);
  request.alternatives = given.alternatives;
  return request;
}

PlanDocument document_with(const ns_planner& planner, const ns_task& task, Plan plan,
                           PlanCost cost) {
  return {.task = task.task,
          .plan = std::move(plan),
          .cost = std::move(cost),
          .task_name = task.name,
          .weights = planner.weights,
          .notes = task.notes};
}

// Tells the caller of each better plan of `task`.
auto improvement_teller(const ns_plan_options& options, const ns_planner& planner,
                        const ns_task& task) {
  return [&](const Improvement& better) {
    PlanDocument document = document_with(planner, task, better.plan, better.cost);
    document.complete = false;
    const ns_plan plan{std::move(document)};
    options.on_improvement(&plan, better.elapsed_ms, options.context);
  };
}

}  // namespace

PlanRequest timed_request(double deadline_ms, const ns_stop_source* stop) {
  PlanRequest request{.deadline = deadline_in(deadline_ms)};
  if (!request.deadline) {
    throw Error("deadline_ms is not a time; give up to 1e9 milliseconds, or 0 for none");
  }
  if (deadline_ms == 0.0) request.deadline.reset();
  if (stop != nullptr) request.stop = stop->source.get_token();
  return request;
}

std::unique_ptr<ns_plan> plan_handle(const ns_planner& planner, const ns_task& task,
                                     PlanResult result) {
  auto handle = std::make_unique<ns_plan>();
  if (result.plan) {
    PlanDocument document =
        document_with(planner, task, std::move(*result.plan), std::move(result.cost));
    document.stats = std::move(result.stats);
    document.complete = result.complete;
    document.alternatives = std::move(result.alternatives);
    handle->document = std::move(document);
  } else {
    handle->document = NoPlanDocument{.task = task.task,
                                      .infeasible = std::move(*result.infeasible),
                                      .task_name = task.name,
                                      .weights = planner.weights,
                                      .notes = task.notes};
  }
  return handle;
}

ns_status status_of(const ns_plan& plan) noexcept {
  const auto* none = std::get_if<NoPlanDocument>(&plan.document);
  return none == nullptr ? NS_OK : failed(NS_INFEASIBLE, none->infeasible.message.c_str());
}

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
    const ns_plan_options given = options_from(options, kFirstPlanOptions, "ns_plan_options");
    PlanRequest request = plan_request(given);
    const ns_planner& with = required(planner, "planner");
    const ns_task& what = required(task, "task");
    if (given.on_improvement != nullptr) {
      request.on_improvement = improvement_teller(given, with, what);
    }
    *plan = plan_handle(with, what, with.planner.plan(complete_task(what), request)).release();
    return status_of(**plan);
  });
}

ns_status ns_planner_plan_batch(const ns_planner* planner, const ns_task* const* tasks,
                                size_t count, const ns_plan_options* options, ns_plan** plans,
                                ns_status* statuses) {
  return guarded([&] {
    const ns_plan_options given = options_from(options, kFirstPlanOptions, "ns_plan_options");
    const PlanRequest request = plan_request(given);
    if (given.on_improvement != nullptr) {
      throw Error("on_improvement is for one plan; set it to NULL for a batch");
    }
    const ns_planner& with = required(planner, "planner");
    if (required_count(count, kMostTasks, "count") == 0) return NS_OK;
    std::fill_n(&required(plans, "plans"), count, nullptr);
    (void)required(statuses, "statuses");
    std::vector<Task> all(count);
    for (std::size_t i = 0; i < count; ++i) {
      all[i] = required((&required(tasks, "tasks"))[i], "a task").task;
    }
    std::vector<PlanOutcome> outcomes = with.planner.plan_batch(all, request);
    std::vector<std::unique_ptr<ns_plan>> made(count);
    for (std::size_t i = 0; i < count; ++i) {
      statuses[i] = guarded([&] {
        (void)complete_task(*tasks[i]);  // Says better what is missing than the planner can.
        made[i] = plan_handle(with, *tasks[i], std::move(outcomes[i]).value());
        return status_of(*made[i]);
      });
    }
    for (std::size_t i = 0; i < count; ++i) plans[i] = made[i].release();
    return NS_OK;
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
    const Plan stated = plan_from_json(complete, json, length);
    *plan = new ns_plan{document_with(with, what, stated, with.planner.simulate(complete, stated))};
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
