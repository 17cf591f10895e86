#include "tools/version_page.h"

#include "build_info.h"
#include "core/base/message_text.h"
#include "neuroshard/backend.h"
#include "neuroshard/cuda_backend.h"
#include "neuroshard/version.h"
#include "neuroshard/weights.h"

namespace neuroshard::tools {
namespace {

std::string backends() {
  const std::string text = joined(available_cpu_backends());
  if (!cuda_backend_built()) return text + " (built without cuda)";
  int usable = 0;
  for (const CudaDevice& device : cuda_devices()) usable += device.usable ? 1 : 0;
  return text + ", cuda (" +
         (usable == 0 ? "no usable device here"
                      : counted(static_cast<std::uint64_t>(usable), "usable device")) +
         ")";
}

}  // namespace

std::string version_page() {
  return std::string("neuroshard " NEUROSHARD_VERSION "\ncommit    ") + build_info::kCommit +
         "\nbackends  " + backends() + "\nweights   " +
         printable(origin_of(builtin_weights(), builtin_place())) + "\n";
}

}  // namespace neuroshard::tools
