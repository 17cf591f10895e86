#include "fuzz/fuzz_reader.h"
#include "neuroshard/plan_file.h"

using namespace neuroshard;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Task task = [] {
    Task three{.devices = 2, .memory_bytes = 1 << 30};
    three.tables.resize(3);
    for (Table& table : three.tables) {
      table.rows = 1000;
      table.dim = 64;
    }
    return three;
  }();
  return fuzz::run(data, size, [](std::string_view bytes) {
    for (const PlanRecord& record : parse_plans(bytes, "plan")) (void)plan_for(record, task);
  });
}
