#include <filesystem>

#include "fuzz/fuzz_reader.h"
#include "neuroshard/table_configs.h"
#include "neuroshard/training_data.h"

using namespace neuroshard;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::MemoryFile samples;
  static const std::filesystem::path folder = [] {
    std::string name = (std::filesystem::temp_directory_path() / "neuroshard-fuzz-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    static const fuzz::MemoryFile tables;
    Table table{.rows = 100, .dim = 8, .pooling_factor = 2.0};
    table.access_histogram[0] = 1.0;  // Given, so that reading them does not derive it each time.
    tables.set(serialize_table_configs(std::vector(2, table), true));
    std::filesystem::create_symlink(tables.path(), name + "/table_configs.json");
    std::filesystem::create_symlink(samples.path(), name + "/data.txt");
    std::atexit([] { std::filesystem::remove_all(folder); });
    return name;
  }();
  fuzz::run(data, size, [](std::string_view bytes) {
    samples.set(bytes);
    (void)read_compute_samples(std::span(&folder, 1));
  });
  return fuzz::run(data, size,
                   [](std::string_view) { (void)read_comm_samples(std::span(&folder, 1)); });
}
