#include "fuzz/fuzz_reader.h"
#include "neuroshard/task_file.h"

using namespace neuroshard;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::run(data, size, [](std::string_view bytes) { (void)parse_task(bytes, "task"); });
}
