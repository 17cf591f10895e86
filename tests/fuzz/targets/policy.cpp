#include "fuzz/fuzz_reader.h"
#include "neuroshard/policy_file.h"

using namespace neuroshard;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::run(data, size, [](std::string_view bytes) {
    // A policy that was read can be written, and read again.
    (void)parse_policy(serialize_policy(parse_policy(bytes, "policy")), "written");
  });
}
