#include "tools/files/torchrec_plan.h"

#include <cstdlib>

#include "fuzz/fuzz_reader.h"
#include "neuroshard/plan_file.h"

using namespace neuroshard;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const TaskFile task = [] {
    TaskFile three;
    for (const char* name : {"ebc.a", "b", "c"}) {
      three.tables.push_back({.name = name, .rows = 1000, .dim = 64, .pooling_factor = 1.0});
    }
    return three;
  }();
  return fuzz::run(data, size, [](std::string_view bytes) {
    const tools::ConvertedPlan plan = tools::plan_of_torchrec(bytes, "plan", task);
    // The result is a plan.
    try {
      (void)parse_plans(plan.line, "converted");
    } catch (const Error&) {
      std::abort();
    }
  });
}
