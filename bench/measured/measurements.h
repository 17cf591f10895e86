#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "neuroshard/hardware.h"
#include "neuroshard/task.h"

namespace neuroshard::bench {

enum class Collective { kAllToAll, kAllReduce };

struct MeasuredCollective {
  Collective collective{};
  NetworkSpec network{};
  int devices = 0;
  /// All-to-all: what each device sends, its own part included. All-reduce: the buffer.
  double bytes = 0.0;
};

enum class OperatorPass { kForward, kBackward };

/// The fused embedding operator on one GPU. Histograms of the tables are of `batch` samples.
struct MeasuredOperator {
  GpuSpec gpu{};
  OperatorPass pass{};
  std::vector<Table> tables{};
  std::int64_t batch = 0;
};

/// A training iteration, its dense part included.
struct MeasuredIteration {
  std::string hardware{};  ///< One of known_hardware(), if there is a task.
  /// Empty if embeddings are a small part of the iteration, so that their price says nothing of it.
  std::filesystem::path task{};
  int devices = 0;
  std::int64_t batch = 0;
};

/// Published by others, or in bench/results/.
struct MeasuredTime {
  std::string term{};   ///< Kind of time, by which measurements are summed up.
  std::string setup{};  ///< For people.
  std::variant<MeasuredCollective, MeasuredOperator, MeasuredIteration> what{};
  double us = 0.0;
  std::string source{};  ///< Its id in sources.csv.
};

/// Reads collectives.csv, operators.csv, iterations.csv and fused_operators.jsonl.gz of `folder`;
/// docs/analytic_sources.md describes them. Throws Error naming file, line and column.
[[nodiscard]] std::vector<MeasuredTime> read_measurements(const std::filesystem::path& folder);

}  // namespace neuroshard::bench
