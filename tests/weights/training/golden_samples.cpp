#include "weights/training/golden_samples.h"

#include "golden.h"

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

const std::vector<CommSamples>& golden_comm_samples() {
  static const std::vector<CommSamples> samples =
      read_comm_samples(std::vector<std::filesystem::path>{
          golden_path("cost/comm_2"), golden_path("cost/comm_4"), golden_path("cost/comm_8")});
  return samples;
}

}  // namespace neuroshard::testing
