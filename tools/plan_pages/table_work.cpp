#include "tools/plan_pages/table_work.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/base/message_text.h"
#include "core/plans/id_exchange.h"
#include "core/plans/priced_plan.h"
#include "core/plans/replicas.h"
#include "core/plans/slice_tables.h"
#include "neuroshard/hardware.h"
#include "neuroshard/waiting.h"
#include "weights/collection/analytic_compute.h"

namespace neuroshard::tools {
namespace {

/// Weights by which the work of a device is shared out to one of its slices.
struct Weights {
  int table = 0;
  double operator_ms = 0.0;
  double waiting_rows = 0.0;  ///< As operator_ms, for the share that waits in the host's memory.
  double columns = 0.0;
  double ids = 0.0;
};

double operator_ms(const GpuSpec& gpu, const Table& table, double samples) {
  const OperatorPart part = operator_part(gpu, table, table.dim, samples);
  return part.added_ms + part.ms_per_bit * std::log2(std::max<double>(2, table.rows));
}

template <typename Items, typename Weight>
void share_out(double ms, const Items& items, const Weight& weight, std::vector<double>& tables) {
  double sum = 0.0;
  for (const auto& item : items) sum += weight(item);
  if (!(sum > 0.0 && ms > 0.0)) return;
  for (const auto& item : items) {
    tables[static_cast<std::size_t>(item.table)] += ms * weight(item) / sum;
  }
}

void add_replicas(const Task& stated, const Task& task, const Plan& plan, const PlanCost& cost,
                  const GpuSpec& gpu, std::vector<double>& tables) {
  struct Replica {
    int table;
    double operator_ms;
    double bytes;
  };
  std::vector<Replica> replicas;
  for (const int id : plan.replicas) {
    const Table& table = task.tables[static_cast<std::size_t>(id)];
    replicas.push_back({id, operator_ms(gpu, table, samples_of_replicas(task)),
                        static_cast<double>(replica_memory(task, id).total_bytes())});
  }
  for (const int id : plan.deduplicated) {
    const Table& table = stated.tables[static_cast<std::size_t>(id)];
    replicas.push_back({id, operator_ms(gpu, table, samples_of_replicas(task)), 0.0});
  }
  for (const DeviceCost& device : cost.devices) {
    share_out(device.replicas_ms, replicas, std::mem_fn(&Replica::operator_ms), tables);
    share_out(device.all_reduce_ms, replicas, std::mem_fn(&Replica::bytes), tables);
  }
}

/// "device 3", "0 to 7", "0 to 3, 8 to 11", or "12 devices".
std::string ranges_text(const std::vector<int>& devices) {
  constexpr int kMostRanges = 3;
  std::string text;
  int ranges = 0;
  for (std::size_t first = 0; first < devices.size(); ++ranges) {
    if (ranges == kMostRanges) return counted(devices.size(), "device");
    std::size_t last = first;
    while (last + 1 < devices.size() && devices[last + 1] == devices[last] + 1) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(devices[first]);
    if (last > first) text += (last == first + 1 ? ", " : " to ") + std::to_string(devices[last]);
    first = last + 1;
  }
  return (devices.size() == 1 ? "device " : "") + text;
}

}  // namespace

std::vector<double> table_work_ms(const Task& listed, const Plan& given, const PlanCost& cost) {
  const PricedPlan priced(listed, given);
  const Task& stated = priced.with_all_ids();
  const Plan& plan = priced.plan();
  const Task& task = priced.task();
  const GpuSpec& gpu = hardware_named(kDefaultHardware).gpu;
  std::vector<double> tables(task.tables.size(), 0.0);
  const std::vector<double> waits = waits_ms(cost);
  SliceTables slice_tables(task);
  for (std::size_t d = 0; d < plan.shards.size(); ++d) {
    std::vector<Weights> slices;
    for (const int id : plan.shards[d]) {
      const TableSlice& slice = plan.slices[static_cast<std::size_t>(id)];
      const Table table = slice_tables.of(slice);
      const double ms = operator_ms(gpu, table, static_cast<double>(task.batch_size));
      const double in_hbm =
          cost.hbm_shares.empty() ? 1.0 : cost.hbm_shares[static_cast<std::size_t>(id)];
      slices.push_back({.table = slice.table,
                        .operator_ms = ms,
                        .waiting_rows = ms * (1.0 - in_hbm),
                        .columns = static_cast<double>(output_columns(table, slice.dim)),
                        .ids = static_cast<double>(id_units(table, task.exchange))});
    }
    const DeviceCost& device = cost.devices[d];
    const double slices_ms =
        device.compute_ms - device.replicas_ms - device.fetch_ms - device.base_ms;
    share_out(slices_ms, slices, std::mem_fn(&Weights::operator_ms), tables);
    share_out(device.fetch_ms - device.hidden_fetch_ms, slices, std::mem_fn(&Weights::waiting_rows),
              tables);
    share_out(device.forward_ms - waits[d] + device.backward_ms, slices,
              std::mem_fn(&Weights::columns), tables);
    share_out(device.ids_ms - device.hidden_ms, slices, std::mem_fn(&Weights::ids), tables);
  }
  add_replicas(stated, task, plan, cost, gpu, tables);
  for (std::size_t t = listed.tables.size(); t < tables.size(); ++t) {
    tables[static_cast<std::size_t>(priced.listed(static_cast<int>(t)))] += tables[t];
  }
  tables.resize(listed.tables.size());
  return tables;
}

ShardingWords::ShardingWords(const Task& task, const Plan& plan) : tables_(task.tables.size()) {
  for (std::size_t device = 0; device < plan.shards.size(); ++device) {
    for (const int id : plan.shards[device]) {
      const TableSlice& slice = plan.slices[static_cast<std::size_t>(id)];
      Pieces& pieces = tables_[static_cast<std::size_t>(slice.table)];
      ++pieces.slices;
      const int number = static_cast<int>(device);
      if (pieces.devices.empty() || pieces.devices.back() != number) {
        pieces.devices.push_back(number);
      }
    }
  }
  for (const HotRows& hot : plan.hot_rows) {
    Pieces& pieces = tables_[static_cast<std::size_t>(hot.table)];
    if (hot.rows > 0) pieces.hot_rows += ", hot rows on all";
    if (hot.node_rows > 0) pieces.hot_rows += ", rows on each node";
  }
  const std::vector<std::vector<ShardingKind>> kinds = sharding_kinds(task, plan);
  for (std::size_t table = 0; table < kinds.size(); ++table) {
    if (!kinds[table].empty()) tables_[table].kind = name_of(kinds[table].front());
  }
}

std::string ShardingWords::of(int table) const {
  const Pieces& pieces = tables_[static_cast<std::size_t>(table)];
  if (pieces.slices == 0) return "replicated on all";
  const std::string where = " on " + ranges_text(pieces.devices) + pieces.hot_rows;
  if (pieces.slices == 1) return "whole" + where;
  return (pieces.kind.empty() ? "" : pieces.kind + ": ") +
         counted(static_cast<std::uint64_t>(pieces.slices),
                 pieces.kind.ends_with("row") ? "block" : "slice") +
         where;
}

}  // namespace neuroshard::tools
