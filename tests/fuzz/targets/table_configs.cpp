#include "neuroshard/table_configs.h"

#include "fuzz/fuzz_reader.h"

using namespace neuroshard;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::run(data, size, [](std::string_view bytes) {
    const TableConfigs configs = parse_table_configs(bytes, "tables");
    // Tables that were read can be written, and read again.
    if (configs.tables.front().dim > 0) return;
    (void)parse_table_configs(serialize_table_configs(configs.tables, false), "written");
  });
}
