#include <nanobind/nanobind.h>
#include <nanobind/operators.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/message_text.h"
#include "core/tables/table_problem.h"
#include "neuroshard/error.h"
#include "neuroshard/task.h"
#include "neuroshard/zipf_histogram.h"
#include "tools/python/bindings/bindings.h"

namespace neuroshard::python {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;

using PopularityCurve = std::vector<std::pair<double, double>>;
/// The points of a curve, none if nothing is known, or the exponent of Zipf's law.
using Popularity = std::variant<double, PopularityCurve>;

using Histogram = std::array<double, kHistogramBins>;

Table make_table(std::int64_t rows, int dim, double pooling_factor,
                 const std::optional<Histogram>& access_histogram, std::string name,
                 double zipf_exponent, std::string_view weight_type, std::string_view optimizer,
                 TableRules rules, std::vector<double> row_shares,
                 std::string_view replica_gradients, double features, std::string_view pooling,
                 bool weighted, const Popularity& popularity) {
  Table table{.name = std::move(name), .rows = rows, .dim = dim, .pooling_factor = pooling_factor};
  if (access_histogram) table.access_histogram = *access_histogram;
  table.memory.weight_type = weight_type_from_name(weight_type);
  table.memory.optimizer = optimizer_from_name(optimizer);
  table.rules = std::move(rules);
  table.row_shares = std::move(row_shares);
  table.replica_gradients = replica_gradients_from_name(replica_gradients);
  table.features = features;
  table.pooling = pooling_from_name(pooling);
  table.weighted = weighted;
  if (const auto* const curve = std::get_if<PopularityCurve>(&popularity)) {
    for (const auto& [hottest, share] : *curve) table.popularity.push_back({hottest, share});
  }
  validate(table, table.name.empty() ? "table" : "table " + table.name);
  if (access_histogram) {
    if (const std::optional<std::string> problem = histogram_problem_of(*access_histogram)) {
      throw Error("access_histogram: " + *problem);
    }
  } else {
    table.access_histogram = zipf_histogram(rows, pooling_factor, zipf_exponent);
  }
  if (const auto* const exponent = std::get_if<double>(&popularity)) {
    table.popularity = zipf_popularity(rows, *exponent);
  }
  return table;
}

std::string table_text(const Table& table) {
  return "Table(" + std::string(nb::repr(nb::str(table.name.c_str())).c_str()) + ": " +
         format_count(static_cast<std::uint64_t>(table.rows)) + " x " + std::to_string(table.dim) +
         ", pooling factor " + format_number(table.pooling_factor, 2) + ", " +
         format_bytes(table.size_bytes()) + ")";
}

std::vector<ShardingKind> kinds_from_names(const std::vector<std::string>& names) {
  std::vector<ShardingKind> kinds;
  for (const std::string& name : names) kinds.push_back(sharding_kind_from_name(name));
  return kinds;
}

std::vector<std::string> names_of(const std::vector<ShardingKind>& kinds) {
  std::vector<std::string> names;
  for (const ShardingKind kind : kinds) names.emplace_back(name_of(kind));
  return names;
}

void bind_rules(nb::module_& module) {
  nb::class_<TableRules>(module, "TableRules",
                         "Rules that every plan keeps for a table (docs/task_format.md).")
      .def(
          "__init__",
          [](TableRules* self, bool no_split, int min_width, int max_slices,
             std::vector<int> devices, std::vector<int> not_devices, std::vector<int> nodes,
             std::vector<int> not_nodes, const std::vector<std::string>& kinds, bool keep_in_hbm,
             double hbm_share) {
            new (self) TableRules{no_split,
                                  min_width,
                                  max_slices,
                                  std::move(devices),
                                  std::move(not_devices),
                                  std::move(nodes),
                                  std::move(not_nodes),
                                  kinds_from_names(kinds),
                                  keep_in_hbm,
                                  hbm_share};
          },
          nb::kw_only(), "no_split"_a = false, "min_width"_a = 0, "max_slices"_a = 0,
          "devices"_a = std::vector<int>{}, "not_devices"_a = std::vector<int>{},
          "nodes"_a = std::vector<int>{}, "not_nodes"_a = std::vector<int>{},
          "kinds"_a = std::vector<std::string>{}, "keep_in_hbm"_a = false, "hbm_share"_a = 0.0,
          "By default they rule out nothing.")
      .def_ro("no_split", &TableRules::no_split, "The table is one slice.")
      .def_ro("min_width", &TableRules::min_width,
              "Columns that each slice has at least, if the table has so many; 0: no rule.")
      .def_ro("max_slices", &TableRules::max_slices,
              "Slices that the table has at most, row blocks included; 0: no rule.")
      .def_ro("devices", &TableRules::devices, "The only devices that may hold slices; empty: all.")
      .def_ro("not_devices", &TableRules::not_devices, "Devices that may not hold slices.")
      .def_ro("nodes", &TableRules::nodes,
              "Nodes, of Task.devices_per_node devices, whose devices alone may hold slices; "
              "empty: all.")
      .def_ro("not_nodes", &TableRules::not_nodes, "Nodes whose devices may not hold slices.")
      .def_prop_ro(
          "kinds", [](const TableRules& rules) { return names_of(rules.kinds); },
          "Ways in which the table may be sharded: \"table\", \"column\", \"row\", \"table_row\", "
          "\"grid\", \"part_row\", \"replicate\"; empty: all.")
      .def_ro("keep_in_hbm", &TableRules::keep_in_hbm, "No row of it waits in the host's memory.")
      .def_ro("hbm_share", &TableRules::hbm_share,
              "HBM has room for this share of the rows of each slice; 0: no rule.")
      .def(nb::self == nb::self, nb::sig("def __eq__(self, other: object, /) -> bool"));
}

void bind_table(nb::module_& module) {
  nb::class_<Table>(module, "Table",
                    "An embedding table. Not changed once made: tasks copy what they are given.")
      .def(
          "__init__",
          [](Table* self, std::int64_t rows, int dim, double pooling_factor,
             const std::optional<Histogram>& access_histogram, std::string name,
             double zipf_exponent, std::string_view weight_type, std::string_view optimizer,
             std::optional<TableRules> rules, std::optional<std::vector<double>> row_shares,
             std::string_view replica_gradients, double features, std::string_view pooling,
             bool weighted, std::optional<Popularity> popularity) {
            new (self) Table(make_table(
                rows, dim, pooling_factor, access_histogram, std::move(name), zipf_exponent,
                weight_type, optimizer, std::move(rules).value_or(TableRules{}),
                std::move(row_shares).value_or(std::vector<double>{}), replica_gradients, features,
                pooling, weighted, popularity.value_or(PopularityCurve{})));
          },
          "rows"_a, "dim"_a, "pooling_factor"_a, nb::kw_only(), "access_histogram"_a = nb::none(),
          "name"_a = "", "zipf_exponent"_a = kDefaultZipfExponent, "weight_type"_a = "fp32",
          "optimizer"_a = "sgd", "rules"_a = nb::none(), "row_shares"_a = nb::none(),
          "replica_gradients"_a = "dense", "features"_a = 1.0, "pooling"_a = "sum",
          "weighted"_a = false, "popularity"_a = nb::none(),
          "`dim` columns, a multiple of 4. `pooling_factor`: mean number of lookups per sample, of "
          "all features that read the table together. `access_histogram`: of the distinct rows "
          "that a batch of 65,536 samples touches, the shares touched 1, 2, 3-4, ..., 16385-32768 "
          "and more times (17 numbers); if there is none it is computed, as if popularity fell by "
          "Zipf's law with `zipf_exponent`. `weight_type` and `optimizer` decide memory "
          "(docs/memory.md), and the type what operators cost if the weights know operator "
          "features, as the built-in ones do. `rules`: None for none. `row_shares`: shares of the "
          "lookups in up to 1,024 equal, consecutive parts of the rows, which row blocks are "
          "priced by; None: all rows are looked up evenly. `replica_gradients`: what devices "
          "exchange if every one of them holds the table: \"dense\", an all-reduce of all rows, or "
          "\"touched\", the rows that each device's part of the batch touches. `features`: how "
          "many read the table; above 0, at most 4,096. `pooling`: a sample has an output of each "
          "of them, \"sum\" or \"mean\", or \"none\": one of each lookup. `weighted`: a number "
          "comes with each id, by which its row is multiplied. `popularity`: [(rows, share of all "
          "lookups), ...] of the hottest rows, both growing, to all rows that are ever looked up "
          "and 1; or the exponent of Zipf's law; None: estimated from the access histogram. The "
          "rows that are fetched from the host depend on it.")
      .def_ro("name", &Table::name)
      .def_ro("rows", &Table::rows)
      .def_ro("dim", &Table::dim)
      .def_ro("pooling_factor", &Table::pooling_factor)
      .def_ro("features", &Table::features)
      .def_prop_ro("pooling",
                   [](const Table& table) { return std::string(name_of(table.pooling)); })
      .def_ro("weighted", &Table::weighted)
      .def_prop_ro("popularity",
                   [](const Table& table) {
                     PopularityCurve curve;
                     for (const auto& [rows, share] : table.popularity) {
                       curve.emplace_back(rows, share);
                     }
                     return curve;
                   })
      .def_ro("access_histogram", &Table::access_histogram)
      .def_prop_ro(
          "weight_type",
          [](const Table& table) { return std::string(name_of(table.memory.weight_type)); })
      .def_prop_ro("optimizer",
                   [](const Table& table) { return std::string(name_of(table.memory.optimizer)); })
      .def_ro("rules", &Table::rules)
      .def_prop_ro("replica_gradients",
                   [](const Table& table) { return std::string(name_of(table.replica_gradients)); })
      .def_ro("row_shares", &Table::row_shares, "Empty: all rows are looked up evenly.")
      .def_prop_ro("size_bytes", &Table::size_bytes,
                   "Memory of the weights and the optimizer's state; for a table of a task that "
                   "has a batch size, ids and outputs included.")
      .def("__repr__", &table_text);
}

std::string group_text(const TableGroup& group) {
  return "TableGroup(" + std::string(nb::repr(nb::str(group.name.c_str())).c_str()) + ": " +
         counted(group.tables.size(), "table") + " " + std::string(name_of(group.keep)) + ")";
}

void bind_group(nb::module_& module) {
  nb::class_<TableGroup>(module, "TableGroup",
                         "Tables of a task that every plan keeps together on one device, or apart: "
                         "no device holds anything of two of them.")
      .def(
          "__init__",
          [](TableGroup* self, std::vector<int> tables, std::string_view keep, std::string name) {
            new (self) TableGroup{
                .name = std::move(name), .tables = std::move(tables), .keep = keep_from_name(keep)};
          },
          "tables"_a, "keep"_a, nb::kw_only(), "name"_a = "",
          "`tables`: at least two, by their place in the task from 0 on. `keep`: \"together\" or "
          "\"apart\". `name`: for messages. Tasks check them.")
      .def_ro("tables", &TableGroup::tables)
      .def_prop_ro("keep", [](const TableGroup& group) { return std::string(name_of(group.keep)); })
      .def_ro("name", &TableGroup::name)
      .def(nb::self == nb::self, nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__repr__", &group_text);
}

}  // namespace

void bind_tables(nb::module_& module) {
  bind_rules(module);
  bind_table(module);
  bind_group(module);
}

}  // namespace neuroshard::python
