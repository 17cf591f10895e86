#include "neuroshard/task.h"

#include <cmath>
#include <optional>

#include "core/table_problem.h"
#include "neuroshard/error.h"

namespace neuroshard {
namespace {

constexpr double kGib = 1073741824.0;

std::string in_place(const std::string& where, const std::string& text) {
  return where.empty() ? text : where + ": " + text;
}

bool is_share(double value) { return std::isfinite(value) && value >= 0.0; }

std::string no_share(double value, const std::string& what) {
  return what + " is " + std::to_string(value) + "; give a finite number that is not negative";
}

}  // namespace

std::int64_t total_bytes(const Task& task) {
  std::int64_t bytes = 0;
  for (const Table& table : task.tables) bytes += table.size_bytes();
  return bytes;
}

std::int64_t bytes_from_gib(double gib) {
  if (!std::isfinite(gib) || gib <= 0.0 || gib >= 8589934592.0) {
    throw Error("device memory is " + std::to_string(gib) + " GiB; give a positive number, e.g. 4");
  }
  return static_cast<std::int64_t>(gib * kGib);
}

double gib_from_bytes(std::int64_t bytes) { return static_cast<double>(bytes) / kGib; }

std::optional<std::string> problem_of(const Table& table) {
  if (table.rows < 1 || table.rows > kMaxRows) {
    return "row is " + std::to_string(table.rows) + "; a table has between 1 and 2^40 rows";
  }
  if (table.dim < kDimMultiple || table.dim > kMaxDim) {
    return "dim is " + std::to_string(table.dim) + "; give a multiple of 4 between 4 and 65536";
  }
  if (table.dim % kDimMultiple != 0) {
    const int below = table.dim / kDimMultiple * kDimMultiple;
    return "dim " + std::to_string(table.dim) + " is not a multiple of 4; use " +
           std::to_string(below) + " or " + std::to_string(below + kDimMultiple);
  }
  if (!is_share(table.pooling_factor)) return no_share(table.pooling_factor, "pooling_factor");
  for (int bin = 0; bin < kHistogramBins; ++bin) {
    const double share = table.access_histogram[bin];
    if (!is_share(share)) return no_share(share, "bin_" + std::to_string(bin));
  }
  return std::nullopt;
}

void validate(const Table& table, const std::string& where) {
  if (const std::optional<std::string> problem = problem_of(table)) {
    throw Error(in_place(where, *problem));
  }
}

void validate(const Task& task, const std::string& where) {
  if (task.devices < 1 || task.devices > kMaxDevices) {
    throw Error(in_place(where, "devices is " + std::to_string(task.devices) +
                                    "; give a number between 1 and " +
                                    std::to_string(kMaxDevices)));
  }
  if (task.memory_bytes < 1) {
    throw Error(in_place(where, "device memory is " + std::to_string(task.memory_bytes) +
                                    " bytes; give a positive number"));
  }
  if (task.tables.empty()) throw Error(in_place(where, "there are no tables; give at least one"));
  std::int64_t total_bytes = 0;
  for (std::size_t i = 0; i < task.tables.size(); ++i) {
    const Table& table = task.tables[i];
    std::optional<std::string> problem = problem_of(table);
    if (!problem) {
      total_bytes += table.size_bytes();
      if (total_bytes <= kMaxTaskBytes) continue;
      problem = "the tables up to here exceed 2^60 bytes; check row";
    }
    std::string label = "table " + std::to_string(i);
    if (!table.name.empty()) label += " ('" + table.name + "')";
    throw Error(in_place(where, label + ": " + *problem));
  }
}

}  // namespace neuroshard
