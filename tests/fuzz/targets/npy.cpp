#include "fuzz/fuzz_reader.h"
#include "weights/lookups/access_data.h"

using namespace neuroshard;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::MemoryFile indices;
  static const fuzz::MemoryFile samples;
  return fuzz::run(data, size, [](std::string_view bytes) {
    const fuzz::TwoFiles files(bytes);
    indices.set(files.first);
    samples.set(files.second);
    const auto read = [](const AccessData& accesses) {
      for (std::size_t t = 0; t < accesses.tables() && t < 8; ++t) {
        (void)read_stream(accesses, t, 1000);
      }
    };
    fuzz::run(nullptr, 0,
              [&](std::string_view) { read(open_npy_offsets(indices.path(), samples.path(), 3)); });
    read(open_npy_accesses(indices.path(), samples.path()));
  });
}
