#include "neuroshard/comm_setting.h"

#include <cmath>

#include "core/plans/deduplicated_task.h"
#include "core/tables/exchange_fields.h"
#include "core/tables/id_columns.h"

namespace neuroshard {
namespace {

/// A device has at most kMostSeenColumns units if all have as many. Samples of training have so
/// many columns, and some of their devices several times as many.
double column_unit(const Task& task) {
  if (!has_unpooled_tables(task)) return 1.0;
  double columns = 0.0;
  for (const Table& table : task.tables) columns += output_columns(table, table.dim);
  const double units = columns / task.devices / kMostSeenColumns;
  return units <= 1.0 ? 1.0 : std::exp2(std::ceil(std::log2(units)));
}

}  // namespace

CommSetting comm_setting(const Task& task, const std::optional<NodeNetwork>& hardware) {
  CommSetting setting;
  setting.batch_size = task.batch_size;
  setting.exchange = task.exchange;
  for (const auto& [name, flag] : kExchangeFlagFields) setting.exchange.*flag = false;
  setting.column_unit = column_unit(DeduplicatedTask(task).task());
  if (!task.links && !hardware && setting == CommSetting{}) return setting;
  setting.devices = task.devices;
  if (task.links) {
    setting.devices_per_node = task.devices_per_node;
    setting.links = hardware ? hardware->links_with(*task.links) : *task.links;
  } else if (hardware) {
    setting.devices_per_node = hardware->devices_per_node;
    setting.links = hardware->links;
    setting.nodes_anywhere = !hardware->shares_links();
  }
  return setting;
}

}  // namespace neuroshard
