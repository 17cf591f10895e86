#include "neuroshard/weights.h"

#include "fuzz/fuzz_reader.h"

using namespace neuroshard;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::run(data, size, [](std::string_view bytes) {
    // Weights that were read can be written, and read again.
    (void)parse_weights(serialize_weights(parse_weights(bytes, "weights")), "written");
  });
}
