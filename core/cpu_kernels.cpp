#include "core/cpu_kernels.h"

#include <string>

#include "neuroshard/error.h"

namespace neuroshard {

std::span<const CpuKernels* const> all_cpu_kernels() {
  static constexpr const CpuKernels* kKernels[] = {
#ifdef NEUROSHARD_HAS_AVX2
      &kAvx2Kernels,
#endif
      &kScalarKernels,
  };
  return kKernels;
}

const CpuKernels& select_cpu_kernels(std::string_view name) {
  if (name != "auto" && name != "avx2" && name != "scalar") {
    throw Error("there is no CPU backend '" + std::string(name) + "'; use auto, avx2 or scalar");
  }
  for (const CpuKernels* kernels : all_cpu_kernels()) {
    if ((name == "auto" || name == kernels->name) && kernels->supported()) return *kernels;
  }
  throw Error("backend '" + std::string(name) + "' cannot run on this CPU; use auto or scalar",
              ErrorKind::kBackend);
}

}  // namespace neuroshard
