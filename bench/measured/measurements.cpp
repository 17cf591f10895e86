#include "bench/measured/measurements.h"

#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "bench/markdown_table.h"
#include "bench/measured/csv_table.h"
#include "bench/measured/fused_operators.h"
#include "neuroshard/error.h"
#include "neuroshard/zipf_histogram.h"

namespace neuroshard::bench {
namespace {

constexpr std::array<std::string_view, 9> kCollectiveColumns = {
    "term",    "collective", "gpu",         "network", "between_nodes_gb_s",
    "devices", "bytes",      "measured_us", "source"};
constexpr std::array<std::string_view, 12> kOperatorColumns = {
    "term",           "gpu",           "pass",      "tables", "rows",        "dim",
    "pooling_factor", "zipf_exponent", "optimizer", "batch",  "measured_us", "source"};
constexpr std::array<std::string_view, 8> kIterationColumns = {
    "term", "hardware", "model", "task", "devices", "batch", "measured_us", "source"};
constexpr std::array<std::string_view, 3> kSourceColumns = {"id", "published_in", "measured"};

constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;
constexpr std::int64_t kMostTables = 10'000;

// In the order of the enumerators.
constexpr std::array<std::string_view, 2> kCollectives = {"all_to_all", "all_reduce"};
constexpr std::array<std::string_view, 2> kPasses = {"forward", "backward"};

std::string size_text(double bytes) {
  constexpr std::array<const char*, 4> kUnits = {" B", " KiB", " MiB", " GiB"};
  std::size_t unit = 0;
  for (; unit + 1 < kUnits.size() && bytes >= 1024.0; ++unit) bytes /= 1024.0;
  return three_digits(bytes) + kUnits[unit];
}

int devices_of(const CsvRow& row) {
  return static_cast<int>(row.integer("devices", 1, kMaxDevices));
}

MeasuredTime measured_collective(const CsvRow& row) {
  MeasuredCollective what{
      .collective = static_cast<Collective>(row.one_of("collective", kCollectives)),
      .network = row.converted("network", network_named),
      .devices = devices_of(row),
      .bytes = static_cast<double>(row.integer("bytes", 1, kMostBytes))};
  std::string setup = row.text("gpu") + " x" + std::to_string(what.devices) + ", ";
  if (!row.cell("between_nodes_gb_s").empty()) {
    what.network.links.between_nodes_gb_s = row.positive("between_nodes_gb_s");
    setup += three_digits(what.network.links.between_nodes_gb_s) + " GB/s between nodes, ";
  }
  setup += size_text(what.bytes);
  return {.term = row.text("term"), .setup = setup, .what = what};
}

MeasuredTime measured_operator(const CsvRow& row) {
  MeasuredOperator what{.gpu = row.converted("gpu", gpu_named),
                        .pass = static_cast<OperatorPass>(row.one_of("pass", kPasses)),
                        .batch = row.integer("batch", 1, kMaxBatchSize)};
  Table table{.rows = row.integer("rows", 1, kMaxRows),
              .dim = static_cast<int>(row.integer("dim", kDimMultiple, kMaxDim)),
              .pooling_factor = row.positive("pooling_factor")};
  table.memory.optimizer = row.converted("optimizer", optimizer_from_name);
  const double exponent = row.positive("zipf_exponent");
  table.access_histogram = row.converted("zipf_exponent", [&](const std::string&) {
    return zipf_histogram(table.rows, table.pooling_factor, exponent, what.batch);
  });
  what.tables.assign(static_cast<std::size_t>(row.integer("tables", 1, kMostTables)), table);
  const std::string setup = row.text("gpu") + ", " + row.text("tables") + " tables of " +
                            with_separators(table.rows) + " rows, " + row.text("optimizer");
  return {.term = row.text("term"), .setup = setup, .what = std::move(what)};
}

MeasuredTime measured_iteration(const CsvRow& row) {
  MeasuredIteration what{.hardware = row.text("hardware"),
                         .devices = devices_of(row),
                         .batch = row.integer("batch", 1, kMaxBatchSize)};
  if (!row.cell("task").empty()) {
    what.task = row.cell("task");
    (void)row.converted("hardware", [](const std::string& name) { return hardware_named(name); });
  }
  const std::string setup = what.hardware + " x" + std::to_string(what.devices) + ", " +
                            row.text("model") + ", batch " + with_separators(what.batch);
  return {.term = row.text("term"), .setup = setup, .what = std::move(what)};
}

}  // namespace

std::vector<MeasuredTime> read_measurements(const std::filesystem::path& folder) {
  std::set<std::string> sources;
  for (const CsvRow& row : read_csv(folder / "sources.csv", kSourceColumns)) {
    if (!sources.insert(row.text("id")).second) row.fail("id", "another line has it, too");
  }
  std::vector<MeasuredTime> measurements;
  const auto read = [&](const char* name, std::span<const std::string_view> columns,
                        MeasuredTime (*measured)(const CsvRow&)) {
    for (const CsvRow& row : read_csv(folder / name, columns)) {
      MeasuredTime measurement = measured(row);
      measurement.us = row.positive("measured_us");
      measurement.source = row.text("source");
      if (!sources.contains(measurement.source)) {
        row.fail("source", "sources.csv has no '" + measurement.source + "'; add it there");
      }
      measurements.push_back(std::move(measurement));
    }
  };
  read("collectives.csv", kCollectiveColumns, measured_collective);
  read("operators.csv", kOperatorColumns, measured_operator);
  read("iterations.csv", kIterationColumns, measured_iteration);
  const std::filesystem::path fused = folder / "fused_operators.jsonl.gz";
  for (MeasuredTime& measurement : read_fused_operators(fused)) {
    if (!sources.contains(measurement.source)) {
      throw Error(fused.string() + ": sources.csv has no '" + measurement.source +
                  "'; add it there");
    }
    measurements.push_back(std::move(measurement));
  }
  return measurements;
}

}  // namespace neuroshard::bench
