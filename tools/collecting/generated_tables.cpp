#include "tools/collecting/generated_tables.h"

#include <optional>
#include <system_error>
#include <vector>

#include "core/base/message_text.h"
#include "neuroshard/error.h"
#include "neuroshard/table_configs.h"
#include "tools/console/interrupt.h"
#include "tools/console/progress_bar.h"
#include "weights/files/atomic_file.h"
#include "weights/lookups/access_stream.h"
#include "weights/lookups/npy_writer.h"

namespace neuroshard::tools {
namespace {

// The lookups of all tables, in two files.
class StreamFiles {
 public:
  StreamFiles(const std::filesystem::path& folder, const PopulationOptions& options,
              std::int64_t lookups)
      : batch_(options.batch),
        indices_(folder / "indices.npy", {lookups}),
        lengths_(folder / "lengths.npy", {options.tables, options.batch}) {}

  void add(const Table& table, std::span<const std::uint32_t> touches, Random& random) {
    const AccessStream stream = make_stream(table, touches, batch_, random);
    indices_.write(stream.indices);
    std::vector<std::int64_t> lengths(batch_);
    for (std::int64_t s = 0; s < batch_; ++s) {
      lengths[s] = stream.offsets[s + 1] - stream.offsets[s];
    }
    lengths_.write(lengths);
  }

  void commit() {
    indices_.commit();
    lengths_.commit();
  }

 private:
  std::int64_t batch_;
  NpyWriter indices_;
  NpyWriter lengths_;
};

std::int64_t lookups_of(const std::vector<PopulationTable>& population,
                        const PopulationOptions& options) {
  std::int64_t lookups = 0;
  for (const PopulationTable& drawn : population) {
    lookups += lookups_of_batch(drawn.table, options.batch);
  }
  return lookups;
}

}  // namespace

TableStatistics write_generated_tables(const std::filesystem::path& folder,
                                       const PopulationOptions& options, bool streams,
                                       Console& console) {
  const std::vector<PopulationTable> population = draw_population(options);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw Error(folder.string() + ": cannot be created: " + error.message(), ErrorKind::kIo);
  }
  const InterruptGuard guard;  // Before there are files of which a part would stay.
  std::optional<StreamFiles> files;
  if (streams) files.emplace(folder, options, lookups_of(population, options));

  StatisticsSum sum;
  std::vector<Table> tables;
  {
    ProgressBar progress(console, "generating", population.size());
    for (const PopulationTable& drawn : population) {
      if (guard.interrupted()) {
        throw Error("interrupted after " + counted(tables.size(), "table") +
                    "; nothing of them is kept");
      }
      Random random(options.seed, drawn.stream);
      const auto touches = plan_touches(drawn.table, options.batch, random);
      tables.push_back(with_statistics_of(drawn.table, touches, options.batch));
      sum.add(tables.back(), touches);
      if (files) files->add(drawn.table, touches, random);
      progress.update(tables.size());
    }
  }
  if (files) files->commit();
  write_file(folder / "table_configs.json", serialize_table_configs(tables, false, options.batch));
  return sum.result();
}

}  // namespace neuroshard::tools
