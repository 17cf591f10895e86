#include "fuzz/fuzz_reader.h"
#include "weights/files/torch_file.h"
#include "weights/files/torch_writer.h"

using namespace neuroshard;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // In a sound zip file, with storages of 24 and 96 bytes beside it.
  return fuzz::run(data, size, [](std::string_view bytes) {
    const std::string file = testing::make_zip({{"m/data.pkl", std::string(bytes)},
                                                {"m/data/0", std::string(24, 1)},
                                                {"m/data/1", std::string(96, 2)}},
                                               testing::Packing::kStored);
    TorchFile torch(file, "pickle");
    for (pickle::Id id = 0; id < torch.pickle().nodes.size(); ++id) {
      if (torch.pickle().get_if<pickle::TensorView>(id) == nullptr) continue;
      fuzz::run(nullptr, 0, [&](std::string_view) { (void)torch.tensor(id, "x"); });
    }
  });
}
