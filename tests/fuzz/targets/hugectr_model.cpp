#include "tools/files/hugectr_model.h"

#include <cstdlib>

#include "fuzz/fuzz_reader.h"
#include "neuroshard/task_file.h"

using namespace neuroshard;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::run(data, size, [](std::string_view bytes) {
    const std::string task = tools::task_of_hugectr_model(bytes, "model");
    // The result is a task.
    try {
      (void)parse_task(task, "task");
    } catch (const Error&) {
      std::abort();
    }
  });
}
