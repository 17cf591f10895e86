#include "weights/training/golden_samples.h"

#include "golden.h"
#include "neuroshard/hardware.h"
#include "weights/collection/cost_sources.h"
#include "weights/collection/sample_draws.h"

namespace neuroshard::testing {

void write_compute_folder(const TemporaryFolder& folder, const std::string& data,
                          const std::vector<int>& dims) {
  // "[{...}, {...}]": no dims, and no braces inside. A JSON library is not worth its compile time.
  const std::string tables = contents_of(golden_path("tables/table_configs.json"));
  std::string augmented;
  for (const int dim : dims) {
    augmented += augmented.empty() ? '[' : ',';
    for (std::size_t at = tables.find('{'); at < tables.rfind(']'); ++at) {
      if (tables[at] == '}') augmented += ",\"dim\":" + std::to_string(dim);
      augmented += tables[at];
    }
  }
  folder.write("table_configs.json", augmented + ']');
  folder.write("data.txt", data);
}

const ComputeSamples& golden_compute_samples() {
  static const ComputeSamples samples = [] {
    const TemporaryFolder folder;
    write_compute_folder(folder, contents_of(golden_path("cost/compute/data.txt")),
                         {128, 64, 32, 16, 8, 4});
    return read_compute_samples(std::vector<std::filesystem::path>{folder / ""});
  }();
  return samples;
}

ComputeSamples analytic_samples(std::string_view gpu, std::size_t count, std::uint64_t seed) {
  ComputeSamples samples;
  samples.tables = augment_dims(golden_tables());
  const auto source =
      make_analytic_compute_source(gpu_named(gpu), samples.tables, kDefaultBatchSize);
  for (std::uint64_t i = 0; i < count; ++i) {
    Random random(seed, i);
    const std::vector<int> ids = draw_shard(samples.tables, {}, random);
    samples.add(ids, source->cost_ms(ids));
  }
  return samples;
}

const std::vector<CommSamples>& golden_comm_samples() {
  static const std::vector<CommSamples> samples =
      read_comm_samples(std::vector<std::filesystem::path>{
          golden_path("cost/comm_2"), golden_path("cost/comm_4"), golden_path("cost/comm_8")});
  return samples;
}

}  // namespace neuroshard::testing
