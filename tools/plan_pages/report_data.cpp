#include "tools/plan_pages/report_data.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/plans/priced_plan.h"
#include "core/plans/replicas.h"
#include "tools/charts/svg.h"
#include "tools/plan_pages/plan_report.h"

namespace neuroshard::tools {
namespace {

using ReportJson = nlohmann::ordered_json;

/// To a nanosecond: more digits only make the file larger.
double rounded_ms(double ms) { return std::round(ms * 1e6) / 1e6; }

template <typename Item, typename Figure>
ReportJson column_of(const std::vector<Item>& items, const Figure& figure) {
  ReportJson column = ReportJson::array();
  for (const Item& item : items) column.push_back(figure(item));
  return column;
}

ReportJson devices_json(const PlanCost& cost) {
  const auto column = [&](const auto& figure) { return column_of(cost.devices, figure); };
  ReportJson terms = ReportJson::object();
  for (const auto& [name, ms] : shown_terms(cost)) terms[name] = column_of(ms, rounded_ms);
  return {
      {"terms", std::move(terms)},
      {"weights", column([](const DeviceCost& of) { return of.memory.weight_bytes; })},
      {"optimizer", column([](const DeviceCost& of) { return of.memory.optimizer_bytes; })},
      {"buffers", column([](const DeviceCost& of) { return of.memory.buffer_bytes; })},
      {"reserved", column([](const DeviceCost& of) { return of.reserved_bytes + of.base_bytes; })},
      {"free", column([](const DeviceCost& of) { return of.free_bytes; })},
      {"slices", column([](const DeviceCost& of) { return of.slices; })},
  };
}

ReportJson tables_json(const Task& task) {
  ReportJson names = ReportJson::array();
  for (std::size_t table = 0; table < task.tables.size(); ++table) {
    names.push_back(table_label(task, static_cast<int>(table)));
  }
  return {{"name", std::move(names)},
          {"dim", column_of(task.tables, [](const Table& table) { return table.dim; })},
          {"rows", column_of(task.tables, [](const Table& table) { return table.rows; })}};
}

/// Replicas come first, hot rows among them, and a device's part of those that nodes hold once.
ReportJson slices_json(const Task& listed, const Plan& given) {
  const PricedPlan priced(listed, given);
  const Plan& plan = priced.plan();
  const Task& task = priced.task();
  std::vector<TableSlice> slices;
  std::vector<std::int64_t> bytes;
  ReportJson device_column = ReportJson::array();
  const TouchedGradients touched(task);
  for (const int table : plan.replicas) {
    const Table& whole = task.tables[static_cast<std::size_t>(table)];
    slices.push_back(
        {.table = priced.listed(table), .dim = whole.dim, .rows = rows_of_replica(whole)});
    bytes.push_back(replica_memory(task, table, touched).total_bytes());
    device_column.push_back(-1);
  }
  const auto by_device = slices_by_device(plan);
  for (std::size_t device = 0; device < by_device.size(); ++device) {
    for (const TableSlice& slice : by_device[device]) {
      slices.push_back(slice);
      bytes.push_back(slice_bytes(task, slice));
      device_column.push_back(device);
    }
  }
  const auto column = [&](const auto& figure) { return column_of(slices, figure); };
  return {{"table", column([](const TableSlice& slice) { return slice.table; })},
          {"device", std::move(device_column)},
          {"first_column", column([](const TableSlice& slice) { return slice.first_column; })},
          {"dim", column([](const TableSlice& slice) { return slice.dim; })},
          {"first_row", column([](const TableSlice& slice) { return slice.first_row; })},
          {"rows", column([](const TableSlice& slice) { return slice.rows; })},
          {"bytes", bytes}};
}

ReportJson moves_json(const std::vector<TableMove>& moves) {
  const auto column = [&](const auto& figure) { return column_of(moves, figure); };
  return {
      {"table", column([](const TableMove& move) { return move.columns.table; })},
      {"first_column", column([](const TableMove& move) { return move.columns.first_column; })},
      {"dim", column([](const TableMove& move) { return move.columns.dim; })},
      {"first_row", column([](const TableMove& move) { return move.first_row; })},
      {"rows", column([](const TableMove& move) { return move.rows; })},
      {"from", column([](const TableMove& move) { return move.from; })},
      {"to", column([](const TableMove& move) { return move.to; })},
      {"bytes", column([](const TableMove& move) { return move.bytes; })},
  };
}

}  // namespace

std::string report_data(const PlanDocument& document) {
  ReportJson data = {{"devices_per_node", document.task.devices_per_node},
                     {"devices", devices_json(document.cost)},
                     {"tables", tables_json(document.task)},
                     {"slices", slices_json(document.task, document.plan)}};
  if (document.moves) data["moves"] = moves_json(document.moves->moves);
  const std::string text = data.dump(-1, ' ', false, ReportJson::error_handler_t::replace);
  // It occurs in names alone, where JSON has another way to say it.
  return charts::escaped(text, {{'<', "\\u003c"}});
}

}  // namespace neuroshard::tools
