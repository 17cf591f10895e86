#include "fuzz/fuzz_reader.h"
#include "neuroshard/weights.h"

using namespace neuroshard;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::run(data, size, [](std::string_view bytes) { (void)parse_comm_checkpoint(bytes, "comm"); });
  return fuzz::run(
      data, size, [](std::string_view bytes) { (void)parse_compute_checkpoint(bytes, "compute"); });
}
