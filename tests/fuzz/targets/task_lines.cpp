#include "fuzz/fuzz_reader.h"
#include "neuroshard/task_file.h"

using namespace neuroshard;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const TableConfigs configs = [] {
    TableConfigs three;
    three.tables.resize(3);
    for (Table& table : three.tables) table.rows = 1000;
    three.derived_histograms = {1};
    return three;
  }();
  return fuzz::run(data, size,
                   [](std::string_view bytes) { (void)parse_task_lines(bytes, "tasks", configs); });
}
