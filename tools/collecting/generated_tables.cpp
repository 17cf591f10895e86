#include "tools/collecting/generated_tables.h"

#include <optional>
#include <string>
#include <vector>

#include "core/base/message_text.h"
#include "neuroshard/error.h"
#include "neuroshard/table_configs.h"
#include "tools/console/interrupt.h"
#include "tools/console/progress_bar.h"
#include "weights/files/atomic_file.h"
#include "weights/lookups/access_stream.h"
#include "weights/lookups/npy_writer.h"
#include "weights/lookups/zipf_lookups.h"

namespace neuroshard::tools {
namespace {

// The lookups of all tables, in two files.
class StreamFiles {
 public:
  StreamFiles(const std::filesystem::path& folder, std::int64_t tables, std::int64_t samples,
              std::int64_t lookups)
      : indices_(folder / "indices.npy", {lookups}),
        lengths_(folder / "lengths.npy", {tables, samples}) {}

  void add(const AccessStream& stream) {
    indices_.write(stream.indices);
    std::vector<std::int64_t> lengths(stream.offsets.size() - 1);
    for (std::size_t s = 0; s < lengths.size(); ++s) {
      lengths[s] = stream.offsets[s + 1] - stream.offsets[s];
    }
    lengths_.write(lengths);
  }

  void commit() {
    indices_.commit();
    lengths_.commit();
  }

 private:
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

void stop_if_interrupted(const InterruptGuard& guard, std::size_t tables) {
  if (!guard.interrupted()) return;
  throw Error("interrupted after " + counted(tables, "table") + "; nothing of them is kept");
}

void check(const GeneratedLog& log, std::int64_t batch) {
  if (log.batches < 1 || log.batches > kMaxBatchSize / batch) {
    throw Error("--batches is " + std::to_string(log.batches) +
                "; give at least 1, and at most 2^40 samples in all");
  }
  if (!(log.drift >= 0.0 && log.drift <= 1.0)) {
    throw Error("--drift is " + shortest_text(log.drift) + "; give a share between 0 and 1");
  }
}

}  // namespace

TableStatistics write_generated_tables(const std::filesystem::path& folder,
                                       const PopulationOptions& options, bool streams,
                                       Console& console) {
  const std::vector<PopulationTable> population = draw_population(options);
  create_folder(folder);
  const InterruptGuard guard;  // Before there are files of which a part would stay.
  std::optional<StreamFiles> files;
  if (streams) {
    files.emplace(folder, options.tables, options.batch, lookups_of(population, options));
  }

  StatisticsSum sum;
  std::vector<Table> tables;
  {
    ProgressBar progress(console, "generating", population.size());
    for (const PopulationTable& drawn : population) {
      stop_if_interrupted(guard, tables.size());
      Random random(options.seed, drawn.stream);
      const auto touches = plan_touches(drawn.table, options.batch, random);
      tables.push_back(with_statistics_of(drawn.table, touches, options.batch));
      sum.add(tables.back(), touches);
      if (files) files->add(make_stream(drawn.table, touches, options.batch, random));
      progress.update(tables.size());
    }
  }
  if (files) files->commit();
  write_file(folder / "table_configs.json", serialize_table_configs(tables, false, options.batch));
  return sum.result();
}

std::int64_t write_generated_log(const std::filesystem::path& folder,
                                 const PopulationOptions& options, const GeneratedLog& log,
                                 Console& console) {
  const std::vector<PopulationTable> population = draw_population(options);
  check(log, options.batch);
  std::vector<Table> tables;
  for (const PopulationTable& drawn : population) {
    Table table = drawn.table;
    table.pooling_factor = static_cast<double>(lookups_of_batch(table, options.batch)) /
                           static_cast<double>(options.batch);
    table.access_histogram =
        zipf_histogram(table.rows, table.pooling_factor, log.zipf_exponent, options.batch);
    if (table.pooling_factor > 0.0) {
      table.popularity = zipf_popularity(table.rows, log.zipf_exponent);
    }
    tables.push_back(table);
  }
  create_folder(folder);
  const InterruptGuard guard;  // Before there are files of which a part would stay.
  const std::int64_t lookups = lookups_of(population, options) * log.batches;
  StreamFiles files(folder, options.tables, options.batch * log.batches, lookups);
  {
    ProgressBar progress(console, "generating", population.size());
    for (std::size_t t = 0; t < tables.size(); ++t) {
      Random random(options.seed, population[t].stream);
      ZipfLookups drawn(tables[t].rows, log.zipf_exponent, log.drift);
      const std::int64_t of_batch = lookups_of_batch(tables[t], options.batch);
      for (std::int64_t batch = 0; batch < log.batches; ++batch) {
        stop_if_interrupted(guard, t);
        files.add(drawn.batch(of_batch, options.batch, random));
      }
      progress.update(t + 1);
    }
  }
  files.commit();
  write_file(folder / "table_configs.json", serialize_table_configs(tables, false, options.batch));
  return lookups;
}

}  // namespace neuroshard::tools
