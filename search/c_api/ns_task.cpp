#include <cmath>
#include <memory>
#include <string_view>
#include <utility>

#include "neuroshard/c_api.h"
#include "neuroshard/cost_bound.h"
#include "neuroshard/task_file.h"
#include "search/c_api/handles.h"
#include "search/c_api/status.h"
#include "weights/files/json_document.h"
#include "weights/files/read_file.h"

namespace neuroshard::c_api {
namespace {

std::unique_ptr<ns_task> task_handle(TaskFile file) {
  auto handle = std::make_unique<ns_task>();
  const std::string doubt = doubtful_histograms_note(file.tables);
  handle->name = std::move(file.name);
  if (!file.notes.empty()) handle->notes.push_back(std::move(file.notes));
  if (file.hardware) handle->notes.push_back(hardware_note(*file.hardware));
  if (!file.derived_histograms.empty()) {
    handle->notes.push_back(derived_histograms_note(file.derived_histograms.size()));
  }
  if (!doubt.empty()) handle->notes.push_back(doubt);
  handle->task = stated_task(std::move(file));
  return handle;
}

// Not longer than files may be.
std::string_view given_json(const char* json, std::size_t length, std::size_t most) {
  return {&required(json, "json"), required_count(length, most, "length")};
}

PlanRecord record_from_json(const char* json, std::size_t length) {
  std::vector<PlanRecord> records = parse_plans(given_json(json, length, kMaxFileBytes), "plan");
  if (records.size() != 1) {
    throw Error("plan: there are " + std::to_string(records.size()) + "; give one");
  }
  return std::move(records[0]);
}

const Task& valid_task(const ns_task& handle) {
  const Task& task = complete_task(handle);
  validate(task, "task");
  return task;
}

}  // namespace

const Task& complete_task(const ns_task& handle) {
  if (handle.task.devices == 0) {
    throw Error("task: says nothing of devices; call ns_task_set_devices");
  }
  if (handle.task.memory_bytes == 0 && handle.task.device_list.empty()) {
    throw Error("task: says nothing of their memory; call ns_task_set_memory");
  }
  return handle.task;
}

Hardware hardware_from(const char* text) {
  return text != nullptr ? parse_hardware(text, "hardware") : hardware_named(kDefaultHardware);
}

Plan plan_from_json(const Task& task, const char* json, std::size_t length) {
  return plan_for(record_from_json(json, length), task);
}

}  // namespace neuroshard::c_api

using namespace neuroshard;
using namespace neuroshard::c_api;

ns_status ns_task_from_json(const char* json, size_t length, ns_task** task) {
  return guarded([&] {
    clear_handle(task, "task");
    *task = task_handle(parse_task(given_json(json, length, kMaxJsonBytes), "task")).release();
    return NS_OK;
  });
}

ns_status ns_task_set_devices(ns_task* task, int32_t devices) {
  return guarded([&] {
    Task& changed = required(task, "task").task;
    if (devices < 1 || devices > kMaxDevices) {
      throw Error("devices is " + std::to_string(devices) + "; give a number between 1 and " +
                  std::to_string(kMaxDevices));
    }
    changed.devices = devices;
    changed.device_list.clear();
    return NS_OK;
  });
}

ns_status ns_task_set_memory(ns_task* task, int64_t bytes_per_device) {
  return guarded([&] {
    Task& changed = required(task, "task").task;
    if (bytes_per_device < 1) {
      throw Error("bytes_per_device is " + std::to_string(bytes_per_device) +
                  "; give a number above 0");
    }
    set_memory(changed, bytes_per_device);
    return NS_OK;
  });
}

ns_status ns_task_set_host_memory(ns_task* task, int64_t bytes) {
  return guarded([&] {
    Task& changed = required(task, "task").task;
    if (bytes < 0) {
      throw Error("bytes is " + std::to_string(bytes) + "; give the host memory, or 0 for none");
    }
    set_host_memory(changed, bytes);
    return NS_OK;
  });
}

void ns_task_free(ns_task* task) { delete task; }

ns_status ns_task_check_plan(const ns_task* task, const char* json, size_t length) {
  return guarded([&] {
    const Task& valid = valid_task(required(task, "task"));
    const PlanRecord record = record_from_json(json, length);
    (void)plan_for(record, valid);
    const std::vector<PlanProblem> others = check_plan(record, valid);
    if (others.empty()) return static_cast<ns_status>(NS_OK);
    return failed(NS_INFEASIBLE, ("plan: " + others[0].message()).c_str());
  });
}

ns_status ns_task_list_problems(const ns_task* task, const char* json, size_t length,
                                char** problems) {
  return guarded([&] {
    clear_handle(problems, "problems");
    const Task& valid = valid_task(required(task, "task"));
    *problems =
        new_text(problems_to_json(check_plan(record_from_json(json, length), valid), valid));
    return NS_OK;
  });
}

ns_status ns_task_get_cost_bound(const ns_task* task, const char* hardware, double* bound_ms) {
  return guarded([&] {
    double& bound = required(bound_ms, "bound_ms");
    const Task& valid = valid_task(required(task, "task"));
    const Hardware of = hardware_from(hardware);
    bound = cost_bound_ms(of.gpu, of.network, valid);
    if (std::isfinite(bound)) return static_cast<ns_status>(NS_OK);
    return failed(NS_INFEASIBLE, "no plan fits and keeps all rules");
  });
}
