#include "weights/collection/task_draws.h"

#include "core/base/message_text.h"
#include "neuroshard/error.h"
#include "weights/collection/sample_draws.h"

namespace neuroshard {
std::string draw_task_line(std::span<const Table> tables, const TaskDrawOptions& options,
                           Random& random) {
  constexpr int kMaxTries = 100'000;
  const std::vector<int> levels = dim_levels(options.max_dim);
  const auto [first, last] = tables_per_task(options.devices, options.min_tables_per_device,
                                             options.max_tables_per_device);
  if (tables.empty()) throw Error("no tables to draw tasks from; give at least one");
  std::vector<int> ids;
  std::vector<int> dims;
  for (int attempt = 0; attempt < kMaxTries; ++attempt) {
    ids.resize(static_cast<std::size_t>(first) + random.below(last - first));
    dims.resize(ids.size());
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      ids[i] = static_cast<int>(random.below(tables.size()));
      dims[i] = levels[random.below(levels.size())];
      bytes += slice_bytes(tables[ids[i]], dims[i]);
    }
    if (bytes <= options.memory_bytes) return joined(ids, ",") + ' ' + joined(dims, ",");
  }
  throw Error("in " + std::to_string(kMaxTries) + " draws no " + std::to_string(first) + " to " +
              std::to_string(last - 1) + " tables fitted in " +
              std::to_string(options.memory_bytes) +
              " bytes; allow more memory, smaller dims or fewer tables");
}

}  // namespace neuroshard
