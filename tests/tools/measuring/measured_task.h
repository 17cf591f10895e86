#pragma once

#include <string>
#include <vector>

#include "tools/run_command.h"

namespace neuroshard::tools {

/// Six small tables for four devices.
inline constexpr std::string_view kMeasuredTask =
    R"({"format": "neuroshard.task", "version": 1, "name": "small", "devices": 4, "memory_gb": 1,
        "batch_size": 1024, "tables": [
        {"name": "a", "row": 3000, "dim": 64, "pooling_factor": 4},
        {"name": "b", "row": 2000, "dim": 32, "pooling_factor": 2},
        {"name": "c", "row": 100, "dim": 16, "pooling_factor": 8},
        {"name": "d", "row": 10, "dim": 4, "pooling_factor": 1},
        {"name": "e", "row": 500, "dim": 128, "pooling_factor": 1},
        {"name": "f", "row": 900, "dim": 32, "pooling_factor": 3}]})";

/// A plan of it with whole tables, columns, row blocks and a replica, written by hand.
inline constexpr std::string_view kMeasuredPlan =
    R"({"task": 0, "tables": 6, "slices": [[0, 0, 12, 0, 3000], [0, 12, 52, 0, 3000],
        [1, 0, 32, 0, 700], [1, 0, 32, 700, 1300], [2, 0, 16, 0, 100], [4, 0, 64, 0, 250],
        [4, 64, 64, 0, 250], [4, 0, 64, 250, 250], [4, 64, 64, 250, 250], [5, 0, 32, 0, 900]],
        "shards": [[0, 2, 5], [3, 6], [1, 7], [4, 8, 9]], "replicas": [3]})";

/// `text` in one line, as files of many plans have them.
inline std::string in_one_line(std::string_view text) {
  std::string line;
  for (const char c : text) line += c == '\n' ? ' ' : c;
  return line + '\n';
}

/// Few iterations.
inline std::vector<std::string> quickly(std::vector<std::string> args) {
  args.insert(args.end(),
              {"--warm-up", "1", "--iterations", "2", "--threads", "1", "--keep-caches"});
  return args;
}

}  // namespace neuroshard::tools
