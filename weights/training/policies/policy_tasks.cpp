#include "weights/training/policies/policy_tasks.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/count_up.h"
#include "neuroshard/column_halvings.h"
#include "neuroshard/error.h"
#include "neuroshard/simulator.h"
#include "weights/collection/analytic_compute.h"
#include "weights/collection/analytic_plan_cost.h"
#include "weights/collection/sample_draws.h"
#include "weights/training/epoch_loop.h"

namespace neuroshard::training {
namespace {

constexpr std::size_t kLeastTables = 20;
constexpr std::size_t kMostTables = 80;
constexpr std::uint64_t kDimLevels = 6;  // Up to 128.
constexpr std::int64_t kRoomForAll = std::int64_t{1} << 50;

Plan plan_of(const Task& task, const Placement& placement) {
  Plan plan;
  plan.slices = whole_tables(task);
  plan.shards.resize(static_cast<std::size_t>(task.devices));
  for (std::size_t t = 0; t < placement.size(); ++t) {
    plan.shards[placement[t]].push_back(static_cast<int>(t));
  }
  return plan;
}

PolicyPrices::Price analytic_price(const Hardware& hardware, const Task& task,
                                   const Placement& placement) {
  const PlanCost cost =
      analytic_plan_cost(hardware.gpu, hardware.network, task, plan_of(task, placement));
  PolicyPrices::Price price{.devices = {}, .cost_ms = cost.cost_ms};
  const std::vector<std::vector<Table>> tables = tables_by_device(task, placement);
  for (std::size_t d = 0; d < tables.size(); ++d) {
    const AnalyticCompute compute = analytic_compute(hardware.gpu, tables[d]);
    price.devices.push_back({compute.forward_ms, cost.devices[d].backward_ms, compute.backward_ms});
  }
  return price;
}

PolicyPrices::Price predicted_price(const Backend& backend, const Task& task,
                                    const Placement& placement) {
  const PlanCost cost = simulate(backend, task, plan_of(task, placement));
  PolicyPrices::Price price{.devices = {}, .cost_ms = cost.cost_ms};
  for (const DeviceCost& device : cost.devices) {
    const double half_ms = device.slices == 0 ? 0.0 : device.compute_ms / 2.0;
    price.devices.push_back({half_ms, device.backward_ms, half_ms});
  }
  return price;
}

}  // namespace

std::vector<Task> draw_policy_tasks(std::span<const Table> tables,
                                    std::span<const int> device_counts, int tasks, Random& random) {
  std::vector<Task> drawn;
  std::vector<std::size_t> order = count_up<std::size_t>(tables.size());
  for (int i = 0; i < tasks; ++i) {
    Task task;
    task.devices = device_counts[random.below(device_counts.size())];
    task.memory_bytes = kRoomForAll;
    const std::vector<int> dims = dim_levels(kDimMultiple << random.below(kDimLevels));
    shuffle(std::span(order), random);
    const std::size_t count =
        std::min(tables.size(), kLeastTables + random.below(kMostTables - kLeastTables + 1));
    for (std::size_t t = 0; t < count; ++t) {
      task.tables.push_back(tables[order[t]]);
      task.tables.back().dim = dims[random.below(dims.size())];
    }
    drawn.push_back(std::move(task));
  }
  return drawn;
}

std::vector<std::vector<Table>> tables_by_device(const Task& task, const Placement& placement) {
  std::vector<std::vector<Table>> tables(static_cast<std::size_t>(task.devices));
  for (std::size_t t = 0; t < placement.size(); ++t) {
    tables[placement[t]].push_back(task.tables[t]);
  }
  return tables;
}

PolicyPrices::PolicyPrices(const CostModels& models) : source_(make_cpu_backend(models)) {
  std::erase_if(device_counts_, [&](int devices) { return !models.has_comm_for(devices); });
  if (!device_counts_.empty()) return;
  throw Error("--weights: policies train on 2, 4 and 8 devices, and the models know none of these");
}

PolicyPrices::Price PolicyPrices::price(const Task& task, const Placement& placement) const {
  if (const auto* hardware = std::get_if<Hardware>(&source_)) {
    return analytic_price(*hardware, task, placement);
  }
  return predicted_price(*std::get<std::shared_ptr<const Backend>>(source_), task, placement);
}

std::vector<double> PolicyPrices::compute_ms(const Task& task, const Placement& placement) const {
  std::vector<double> ms;
  if (const auto* hardware = std::get_if<Hardware>(&source_)) {
    for (const std::vector<Table>& tables : tables_by_device(task, placement)) {
      ms.push_back(analytic_compute(hardware->gpu, tables).total_ms());
    }
    return ms;
  }
  for (const Device& device : price(task, placement).devices) {
    ms.push_back(device.forward_ms + device.backward_ms);
  }
  return ms;
}

std::uint32_t best_device(std::span<const float> logits) {
  return static_cast<std::uint32_t>(std::ranges::max_element(logits) - logits.begin());
}

std::uint32_t drawn_device(std::span<const float> logits, Random& random) {
  const float most = std::ranges::max(logits);
  std::vector<double> shares;
  for (const float logit : logits) shares.push_back(std::exp(static_cast<double>(logit - most)));
  double left = random.uniform() * std::accumulate(shares.begin(), shares.end(), 0.0);
  for (std::size_t d = 0; d + 1 < shares.size(); ++d) {
    if (left < shares[d]) return static_cast<std::uint32_t>(d);
    left -= shares[d];
  }
  return static_cast<std::uint32_t>(logits.size() - 1);
}

}  // namespace neuroshard::training
