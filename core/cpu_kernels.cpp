#include "core/cpu_kernels.h"

#include <string>

#include "core/kernels_avx2.h"
#include "neuroshard/error.h"

namespace neuroshard {

#ifdef NEUROSHARD_HAS_AVX2
// Not in a file compiled for AVX2: supported() runs on every CPU.
const CpuKernels kAvx2Kernels = {
    .name = "avx2",
    .supported =
        [] { return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0; },
    .dense_layer = avx2::dense_layer,
    .one_output_layer = avx2::one_output_layer,
    .two_layer_head = avx2::two_layer_head,
    .score_shards_32_64 = avx2::score_shards_32_64,
    .add_and_score = avx2::add_and_score,
    .add = avx2::add,
    .sum_embeddings = avx2::sum_embeddings,
    .index_of_lowest = avx2::index_of_lowest,
    .choose_device = avx2::choose_device,
};
#endif

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
  for (const CpuKernels* kernels : all_cpu_kernels()) {
    if ((name == "auto" || name == kernels->name) && kernels->supported()) return *kernels;
  }
  std::string names = "auto";
  for (const CpuKernels* kernels : all_cpu_kernels()) {
    if (name == kernels->name) {
      throw Error("backend '" + std::string(name) + "' cannot run on this CPU; use auto or scalar",
                  ErrorKind::kBackend);
    }
    names.append(", ").append(kernels->name);
  }
  throw Error("there is no CPU backend '" + std::string(name) + "'; use one of: " + names);
}

}  // namespace neuroshard
