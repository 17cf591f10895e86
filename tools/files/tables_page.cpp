#include "tools/files/tables_page.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <span>
#include <variant>

#include "core/base/count_up.h"
#include "core/base/message_text.h"
#include "core/tables/devices_text.h"
#include "core/tables/exchange_fields.h"
#include "core/tables/host_memory_fields.h"
#include "core/tables/overlap_fields.h"
#include "core/tables/table_groups.h"
#include "tools/text/text.h"

namespace neuroshard::tools {
namespace {

constexpr std::size_t kLargestListed = 10;

template <typename Value, typename Format>
void add_spread(TextTable& spread, const std::string& name, std::vector<Value> values,
                bool with_sum, const Format& format) {
  std::sort(values.begin(), values.end());
  const Value sum = std::accumulate(values.begin(), values.end(), Value{});
  spread.add_row({name, format(values.front()), format(values[values.size() / 2]),
                  format(values.back()), with_sum ? format(sum) : ""});
}

template <typename Get>
auto each(const std::vector<Table>& tables, const Get& get) {
  std::vector<decltype(get(tables[0]))> values;
  values.reserve(tables.size());
  for (const Table& table : tables) values.push_back(get(table));
  return values;
}

std::string format_rows(std::int64_t rows) {
  return format_count(static_cast<std::uint64_t>(rows));
}

// Smallest, median, largest and sum of each field; then the largest tables.
std::string tables_text(const std::vector<Table>& tables, std::size_t derived) {
  const bool have_dims =
      std::all_of(tables.begin(), tables.end(), [](const Table& table) { return table.dim > 0; });
  using enum TextTable::Align;
  TextTable spread({kLeft, kRight, kRight, kRight, kRight});
  spread.add_row({"", "min", "median", "max", "sum"});
  add_spread(spread, "rows", each(tables, [](const Table& t) { return t.rows; }), true,
             format_rows);
  add_spread(spread, "pooling factor",
             each(tables, [](const Table& t) { return t.pooling_factor; }), true,
             [](double x) { return format_number(x, 2); });
  if (have_dims) {
    add_spread(spread, "dim", each(tables, [](const Table& t) { return std::int64_t{t.dim}; }),
               true, format_rows);
    add_spread(spread, "size", each(tables, [](const Table& t) { return t.size_bytes(); }), true,
               format_bytes);
  }
  std::string text = spread.str();
  if (derived > 0) {
    text += "\naccess histograms: " + format_count(derived) + " of " + format_count(tables.size()) +
            " are computed from rows, pooling factor and a Zipf exponent, not measured\n";
  }
  std::vector<std::size_t> order = count_up<std::size_t>(tables.size());
  const auto weight = [&](std::size_t i) {
    return have_dims ? tables[i].size_bytes() : tables[i].rows;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return weight(a) > weight(b); });
  order.resize(std::min(order.size(), kLargestListed));
  TextTable largest({kRight, kLeft, kRight, kRight, kRight, kRight});
  largest.add_row({"table", "name", "rows", "pooling factor", "dim", "size"});
  for (const std::size_t i : order) {
    const Table& table = tables[i];
    largest.add_row({std::to_string(i), printable(table.name), format_rows(table.rows),
                     format_number(table.pooling_factor, 2),
                     have_dims ? format_rows(table.dim) : "-",
                     have_dims ? format_bytes(table.size_bytes()) : "-"});
  }
  return text + "\nlargest\n" + largest.str();
}

/// How many more slices there are than tables, which a plan of slices says only of a valid one.
std::string splits_of(const PlanRecord& record) {
  if (const auto* halved = std::get_if<HalvedPlan>(&*record.plan)) {
    return format_count(halved->column_splits.size());
  }
  const auto& slices = std::get<Plan>(*record.plan).slices;
  std::set<int> tables;
  for (const TableSlice& slice : slices) tables.insert(slice.table);
  return format_count(slices.size() - tables.size());
}

std::string groups_lines(const TaskFile& task) {
  constexpr std::size_t kGroupsListed = 10;
  constexpr std::size_t kTablesListed = 8;
  if (task.groups.empty()) return "";
  std::string text = groups_text(task.groups) + '\n';
  for (std::size_t g = 0; g < std::min(task.groups.size(), kGroupsListed); ++g) {
    const TableGroup& group = task.groups[g];
    text += "  " + std::to_string(g);
    if (!group.name.empty()) text += " '" + printable(group.name) + "'";
    text.append(", ").append(name_of(group.keep)).append(": tables ");
    text += joined(std::span(group.tables).first(std::min(group.tables.size(), kTablesListed)));
    if (group.tables.size() > kTablesListed) {
      text += " and " + format_count(group.tables.size() - kTablesListed) + " more";
    }
    text += '\n';
  }
  if (task.groups.size() > kGroupsListed) {
    text += "  and " + format_count(task.groups.size() - kGroupsListed) + " more\n";
  }
  return text;
}

/// Settings beside tables and devices on which plans and their costs depend, as far as the file
/// states them.
std::string setting_lines(const TaskFile& task) {
  std::string text;
  if (task.hardware) text += "hardware: " + printable(task.hardware->name) + '\n';
  if (task.batch_size != kDefaultBatchSize) {
    text += "batch: " + format_count(static_cast<std::uint64_t>(task.batch_size)) + " samples\n";
  }
  const std::string nodes = nodes_text(devices_per_node_of(task), task.links);
  if (!nodes.empty()) text += "nodes: " + nodes + '\n';
  const std::string exchange = exchange_text(task.exchange);
  if (!exchange.empty()) text += "exchange: " + exchange + '\n';
  const std::string overlap = overlap_text(task.overlap);
  if (!overlap.empty()) text += "overlap: " + overlap + '\n';
  const std::string host = host_memory_text(task.host, task.device_list);
  if (!host.empty()) text += "host memory: " + host + '\n';
  const auto ruled = std::ranges::count_if(
      task.tables, [](const Table& table) { return table.rules != TableRules{}; });
  if (ruled > 0) text += "rules: of " + counted(static_cast<std::uint64_t>(ruled), "table") + '\n';
  return text + groups_lines(task);
}

}  // namespace

std::string task_page(const TaskFile& task, const std::string& name) {
  std::string text = printable(name) + ": task";
  if (!task.name.empty()) text += " '" + printable(task.name) + "'";
  text += ", " + counted(task.tables.size(), "table");
  if (!task.device_list.empty()) {
    text += ", " + devices_text({.tables = {},
                                 .devices = *task.devices,
                                 .memory_bytes = 0,
                                 .device_list = task.device_list});
  } else if (task.devices) {
    text.append(", ").append(counted(static_cast<std::uint64_t>(*task.devices), "device"));
  }
  if (task.memory_bytes && task.device_list.empty()) {
    text.append(" of ").append(format_bytes(*task.memory_bytes));
  }
  text += '\n';
  for (const std::string& source : task.source) {
    text += "source: " + printable(source) + '\n';
  }
  if (!task.notes.empty()) text += "notes: " + printable(task.notes) + '\n';
  text += setting_lines(task);
  return text + '\n' + tables_text(task.tables, task.derived_histograms.size());
}

std::string table_configs_page(const TableConfigs& configs, const std::string& name) {
  return printable(name) + ": table list, " + counted(configs.tables.size(), "table") + "\n\n" +
         tables_text(configs.tables, configs.derived_histograms.size());
}

std::string plans_page(const std::vector<PlanRecord>& plans, const std::string& name) {
  std::string text = printable(name) + ": " + counted(plans.size(), "plan") + "\n\n";
  using enum TextTable::Align;
  TextTable table({kRight, kRight, kRight, kRight, kRight, kLeft});
  table.add_row({"task", "tables", "devices", "splits", "cost ms", "slices per device"});
  for (const PlanRecord& record : plans) {
    std::vector<std::string> row = {
        record.task ? std::to_string(*record.task) : "-",
        record.tables ? format_count(static_cast<std::uint64_t>(*record.tables)) : "-"};
    if (!record.plan) {
      row.insert(row.end(), {"-", "-", "-", "no plan"});
    } else {
      std::string slices;
      for (const auto& shard : record.shards()) {
        if (!slices.empty()) slices += ' ';
        slices += format_count(shard.size());
      }
      row.insert(row.end(), {format_count(record.shards().size()), splits_of(record),
                             record.cost_ms ? format_ms(*record.cost_ms) : "-", slices});
    }
    table.add_row(std::move(row));
  }
  return text + table.str();
}

}  // namespace neuroshard::tools
