#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <span>
#include <string>

#include "neuroshard/c_api.h"
#include "search/c_api/handles.h"
#include "search/c_api/sized_struct.h"
#include "search/c_api/status.h"

namespace neuroshard::c_api {
namespace {

// Sizes in the first version of the interface.
constexpr std::size_t kFirstSummary = 48;
constexpr std::size_t kFirstInfeasibility = 48;

ns_plan_summary summary_of(const ns_plan& plan) {
  ns_plan_summary summary{};
  summary.complete = 1;
  summary.slowest_device = -1;
  summary.cost_ms = std::numeric_limits<double>::infinity();
  const PlanDocument* document = document_of(plan);
  if (document == nullptr) {
    using Kind = Infeasibility::Kind;
    summary.complete =
        std::get<NoPlanDocument>(plan.document).infeasible.kind == Kind::kNoTime ? 0 : 1;
    return summary;
  }
  const PlanCost& cost = document->cost;
  const auto slowest = std::ranges::max_element(cost.devices, {}, &DeviceCost::total_ms);
  summary.slowest_device = static_cast<int32_t>(slowest - cost.devices.begin());
  summary.cost_ms = cost.cost_ms;
  summary.search_ms = document->stats ? document->stats->search_ms : 0.0;
  summary.devices = static_cast<int32_t>(cost.devices.size());
  for (const DeviceCost& device : cost.devices) summary.slices += device.slices;
  summary.alternatives = static_cast<int32_t>(document->alternatives.size());
  summary.complete = document->complete ? 1 : 0;
  summary.fits_memory = cost.fits_memory ? 1 : 0;
  return summary;
}

/// By device.
void add_blocks(const PlanDocument& document, std::vector<ns_block>& blocks) {
  const auto by_device = slices_by_device(document.plan);
  for (std::size_t device = 0; device < by_device.size(); ++device) {
    for (const TableSlice& slice : by_device[device]) {
      blocks.push_back({.device = static_cast<int32_t>(device),
                        .table = slice.table,
                        .first_column = slice.first_column,
                        .dim = slice.dim,
                        .first_row = slice.first_row,
                        .rows = slice.rows});
    }
  }
}

ns_infeasibility infeasibility_of(const ns_plan& plan) {
  ns_infeasibility result{};
  result.table = -1;
  const auto* document = std::get_if<NoPlanDocument>(&plan.document);
  if (document == nullptr) return result;
  const Infeasibility& infeasible = document->infeasible;
  result.kind = name_of(infeasible.kind).data();  // A literal, so it ends with a zero.
  result.needed_bytes = infeasible.needed_bytes;
  result.available_bytes = infeasible.available_bytes;
  result.largest_piece_bytes = infeasible.largest_piece_bytes;
  result.table = infeasible.table;
  return result;
}

/// Writes what `add(document, items)` adds to no items; none of an answer without a plan.
template <typename Item, typename Add>
ns_status write_list(const ns_plan* plan, Item* room, size_t capacity, const char* name,
                     size_t* count, const Add& add) {
  return guarded([&] {
    std::vector<Item> all;
    if (const PlanDocument* document = document_of(required(plan, "plan"))) add(*document, all);
    return write_array(std::span<const Item>(all), room, capacity, name, count);
  });
}

/// Writes what `figures` makes of each device's cost.
template <typename Figures, typename FiguresOf>
ns_status write_by_device(const ns_plan* plan, Figures* devices, size_t capacity, size_t* count,
                          const FiguresOf& figures) {
  return write_list(plan, devices, capacity, "devices", count,
                    [&](const PlanDocument& document, std::vector<Figures>& all) {
                      for (const DeviceCost& cost : document.cost.devices) {
                        all.push_back(figures(cost));
                      }
                    });
}

ns_status write_tables(const ns_plan* plan, std::vector<int> Plan::*of_plan, int32_t* tables,
                       size_t capacity, size_t* count) {
  return write_list(plan, tables, capacity, "tables", count,
                    [&](const PlanDocument& document, std::vector<int32_t>& all) {
                      std::ranges::copy(document.plan.*of_plan, std::back_inserter(all));
                    });
}

ns_status write_hot_rows(const ns_plan* plan, std::int64_t HotRows::*rows, ns_hot_rows* hot_rows,
                         size_t capacity, size_t* count) {
  return write_list(plan, hot_rows, capacity, "hot_rows", count,
                    [&](const PlanDocument& document, std::vector<ns_hot_rows>& all) {
                      for (const HotRows& hot : document.plan.hot_rows) {
                        if (hot.*rows > 0) all.push_back({hot.table, hot.*rows});
                      }
                    });
}

/// By slice, device after device.
ns_status write_shares(const ns_plan* plan, std::vector<double> PlanCost::*of_slices,
                       double* shares, size_t capacity, size_t* count) {
  return write_list(plan, shares, capacity, "shares", count,
                    [&](const PlanDocument& document, std::vector<double>& all) {
                      const std::vector<double>& known = document.cost.*of_slices;
                      if (known.empty()) return;
                      for (const std::vector<int>& shard : document.plan.shards) {
                        for (const int s : shard) all.push_back(known[static_cast<std::size_t>(s)]);
                      }
                    });
}

}  // namespace

char* new_text(const std::string& text) {
  char* copy = new char[text.size() + 1];
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

}  // namespace neuroshard::c_api

using namespace neuroshard;
using namespace neuroshard::c_api;

ns_status ns_plan_get_summary(const ns_plan* plan, ns_plan_summary* summary) {
  return guarded([&] {
    write_to(summary, summary_of(required(plan, "plan")), kFirstSummary, "ns_plan_summary");
    return NS_OK;
  });
}

ns_status ns_plan_get_slices(const ns_plan* plan, ns_slice* slices, size_t capacity,
                             size_t* count) {
  return write_list(
      plan, slices, capacity, "slices", count,
      [](const PlanDocument& document, std::vector<ns_slice>& all) {
        if (has_row_blocks(document.task, document.plan)) {
          throw Error("the plan has row blocks; call ns_plan_get_blocks");
        }
        if (!document.plan.replicas.empty()) {
          throw Error("the plan has replicas; call ns_plan_get_replicas and ns_plan_get_blocks");
        }
        if (!document.plan.deduplicated.empty()) {
          throw Error(
              "the plan deduplicates tables; call ns_plan_get_deduplicated and ns_plan_get_blocks");
        }
        if (!document.plan.hot_rows.empty()) {
          throw Error("the plan has hot rows; call ns_plan_get_hot_rows and ns_plan_get_blocks");
        }
        std::vector<ns_block> blocks;
        add_blocks(document, blocks);
        for (const ns_block& block : blocks) {
          all.push_back({block.device, block.table, block.first_column, block.dim});
        }
      });
}

ns_status ns_plan_get_blocks(const ns_plan* plan, ns_block* blocks, size_t capacity,
                             size_t* count) {
  return write_list(plan, blocks, capacity, "blocks", count, add_blocks);
}

ns_status ns_plan_get_replicas(const ns_plan* plan, int32_t* tables, size_t capacity,
                               size_t* count) {
  return write_tables(plan, &Plan::replicas, tables, capacity, count);
}

ns_status ns_plan_get_deduplicated(const ns_plan* plan, int32_t* tables, size_t capacity,
                                   size_t* count) {
  return write_tables(plan, &Plan::deduplicated, tables, capacity, count);
}

ns_status ns_plan_get_hot_rows(const ns_plan* plan, ns_hot_rows* hot_rows, size_t capacity,
                               size_t* count) {
  return write_hot_rows(plan, &HotRows::rows, hot_rows, capacity, count);
}

ns_status ns_plan_get_node_rows(const ns_plan* plan, ns_hot_rows* node_rows, size_t capacity,
                                size_t* count) {
  return write_hot_rows(plan, &HotRows::node_rows, node_rows, capacity, count);
}

ns_status ns_plan_get_device_terms(const ns_plan* plan, ns_device_terms* devices, size_t capacity,
                                   size_t* count) {
  return write_by_device(plan, devices, capacity, count, [](const DeviceCost& cost) {
    return ns_device_terms{cost.ids_ms, cost.all_reduce_ms, cost.replicas_ms};
  });
}

ns_status ns_plan_get_device_overlap(const ns_plan* plan, ns_device_overlap* devices,
                                     size_t capacity, size_t* count) {
  return write_by_device(plan, devices, capacity, count, [](const DeviceCost& cost) {
    return ns_device_overlap{cost.dense_ms, cost.hidden_ms};
  });
}

ns_status ns_plan_get_device_host(const ns_plan* plan, ns_device_host* devices, size_t capacity,
                                  size_t* count) {
  return write_by_device(plan, devices, capacity, count, [](const DeviceCost& cost) {
    return ns_device_host{cost.fetch_ms, cost.hidden_fetch_ms, cost.host_bytes};
  });
}

ns_status ns_plan_get_device_ssd(const ns_plan* plan, ns_device_ssd* devices, size_t capacity,
                                 size_t* count) {
  return write_by_device(plan, devices, capacity, count, [](const DeviceCost& cost) {
    return ns_device_ssd{cost.ssd_ms, cost.ssd_bytes};
  });
}

ns_status ns_plan_get_hbm_shares(const ns_plan* plan, double* shares, size_t capacity,
                                 size_t* count) {
  return write_shares(plan, &PlanCost::hbm_shares, shares, capacity, count);
}

ns_status ns_plan_get_ssd_shares(const ns_plan* plan, double* shares, size_t capacity,
                                 size_t* count) {
  return write_shares(plan, &PlanCost::ssd_shares, shares, capacity, count);
}

ns_status ns_plan_get_devices(const ns_plan* plan, ns_device_cost* devices, size_t capacity,
                              size_t* count) {
  return write_by_device(plan, devices, capacity, count, [](const DeviceCost& cost) {
    return ns_device_cost{cost.compute_ms, cost.forward_ms, cost.backward_ms, cost.memory_bytes,
                          cost.dim_sum};
  });
}

ns_status ns_plan_get_device_memory(const ns_plan* plan, ns_device_memory* devices, size_t capacity,
                                    size_t* count) {
  return write_by_device(plan, devices, capacity, count, [](const DeviceCost& cost) {
    return ns_device_memory{cost.memory.weight_bytes, cost.memory.optimizer_bytes,
                            cost.memory.buffer_bytes, cost.reserved_bytes,
                            cost.free_bytes,          cost.base_bytes};
  });
}

ns_status ns_plan_get_infeasibility(const ns_plan* plan, ns_infeasibility* infeasibility) {
  return guarded([&] {
    write_to(infeasibility, infeasibility_of(required(plan, "plan")), kFirstInfeasibility,
             "ns_infeasibility");
    return NS_OK;
  });
}

ns_status ns_plan_get_alternative(const ns_plan* plan, size_t index, ns_plan** alternative) {
  return guarded([&] {
    clear_handle(alternative, "alternative");
    const PlanDocument* document = document_of(required(plan, "plan"));
    const std::size_t number = document == nullptr ? 0 : document->alternatives.size();
    if (index >= number) {
      throw Error("index is " + std::to_string(index) + ", but the plan has " +
                  std::to_string(number) + " alternatives; count from 0");
    }
    const CostedPlan& other = document->alternatives[index];
    *alternative = new ns_plan{PlanDocument{.task = document->task,
                                            .plan = other.plan,
                                            .cost = other.cost,
                                            .task_name = document->task_name,
                                            .weights = document->weights,
                                            .notes = document->notes}};
    return NS_OK;
  });
}

ns_status ns_plan_to_json(const ns_plan* plan, char** json) {
  return guarded([&] {
    clear_handle(json, "json");
    *json = new_text(std::visit([](const auto& document) { return plan_to_json(document); },
                                required(plan, "plan").document));
    return NS_OK;
  });
}

void ns_string_free(char* text) { delete[] text; }

void ns_plan_free(ns_plan* plan) { delete plan; }
