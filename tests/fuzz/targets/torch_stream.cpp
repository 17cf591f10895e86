#include "fuzz/fuzz_reader.h"
#include "weights/lookups/access_data.h"

using namespace neuroshard;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::MemoryFile file;
  return fuzz::run(data, size, [](std::string_view bytes) {
    file.set(bytes);
    const AccessData accesses = open_torch_accesses(file.path());
    for (std::size_t t = 0; t < accesses.tables() && t < 8; ++t) {
      (void)read_stream(accesses, t, 1000);
    }
  });
}
