#include "bench/measured/fused_operators.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "bench/markdown_table.h"
#include "neuroshard/error.h"
#include "weights/lookups/sequential_file.h"

namespace neuroshard::bench {
namespace {

using nlohmann::json;

std::string unpacked(const std::filesystem::path& path) {
  SequentialFile file(path);
  std::string text;
  for (std::string_view part = file.peek(SequentialFile::kMaxPeek); !part.empty();
       part = file.peek(SequentialFile::kMaxPeek)) {
    text += part;
    file.skip_to(file.position() + static_cast<std::int64_t>(part.size()));
  }
  return text;
}

/// [rows, dim, lookups of the batch, [distinct rows by bin of the access histogram]].
Table measured_table(const json& fields, std::int64_t batch) {
  Table table{.rows = fields.at(0).get<std::int64_t>(),
              .dim = fields.at(1).get<int>(),
              .pooling_factor = fields.at(2).get<double>() / static_cast<double>(batch)};
  const auto rows_by_bin = fields.at(3).get<std::vector<double>>();
  if (rows_by_bin.size() > table.access_histogram.size()) throw Error("a table has too many bins");
  double distinct = 0.0;
  for (const double rows : rows_by_bin) distinct += rows;
  for (std::size_t bin = 0; bin < rows_by_bin.size() && distinct > 0.0; ++bin) {
    table.access_histogram[bin] = rows_by_bin[bin] / distinct;
  }
  return table;
}

/// "weighted", "adam", ...: what the operators of a term have in common, besides sums of fp32 rows.
std::string kind_of(const Table& table) {
  if (table.weighted) return "weighted";
  if (table.pooling != Pooling::kSum) return std::string(name_of(table.pooling));
  if (table.memory.optimizer == Optimizer::kAdam) return std::string(name_of(Optimizer::kAdam));
  return std::string(name_of(table.memory.weight_type)) + " sum";
}

void append_measurements(const json& line, std::vector<MeasuredTime>& measurements) {
  const auto batch = line.at("batch").get<std::int64_t>();
  std::vector<Table> tables;
  for (const json& fields : line.at("tables")) {
    Table table = measured_table(fields, batch);
    table.memory.optimizer = optimizer_from_name(line.at("optimizer").get<std::string>());
    table.memory.weight_type = weight_type_from_name(line.at("weight_type").get<std::string>());
    table.pooling = pooling_from_name(line.at("pooling").get<std::string>());
    table.weighted = line.at("weighted").get<bool>();
    validate(table, "tables");
    tables.push_back(std::move(table));
  }
  if (tables.empty()) throw Error("tables: is empty");
  const std::string setup = line.at("draw").get<std::string>() + ": " +
                            std::to_string(tables.size()) + " tables, batch " +
                            with_separators(batch);
  for (const auto& [name, times] : line.at("us").items()) {
    const GpuSpec& gpu = gpu_named(name);
    for (const OperatorPass pass : {OperatorPass::kForward, OperatorPass::kBackward}) {
      const bool forward = pass == OperatorPass::kForward;
      measurements.push_back(
          {.term = std::string("FBGEMM ") + (forward ? "forward, " : "backward, ") +
                   kind_of(tables.front()) + ", " + name,
           .setup = setup,
           .what = MeasuredOperator{.gpu = gpu, .pass = pass, .tables = tables, .batch = batch},
           .us = times.at(forward ? 0 : 1).get<double>(),
           .source = line.at("source").get<std::string>()});
    }
  }
}

}  // namespace

std::vector<MeasuredTime> read_fused_operators(const std::filesystem::path& path) {
  const std::string text = unpacked(path);
  std::vector<MeasuredTime> measurements;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    try {
      append_measurements(json::parse(text.begin() + static_cast<std::ptrdiff_t>(begin),
                                      text.begin() + static_cast<std::ptrdiff_t>(end)),
                          measurements);
    } catch (const std::exception& error) {
      throw Error(path.string() + ":" + std::to_string(number + 1) + ": " + error.what());
    }
    begin = end + 1;
  }
  return measurements;
}

}  // namespace neuroshard::bench
