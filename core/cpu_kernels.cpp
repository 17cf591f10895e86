#include "core/cpu_kernels.h"

#include <string>

#include "core/kernels_avx2.h"
#include "core/kernels_avx512.h"
#include "neuroshard/error.h"

namespace neuroshard {

#ifdef NEUROSHARD_X86_KERNELS
namespace {

// Not in files compiled for AVX: supported() runs on every CPU.
const CpuKernels kAvx2Kernels = {
    .name = "avx2",
    .supported =
        [] { return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0; },
    .dense_layer = avx2::dense_layer,
    .one_output_layer = avx2::one_output_layer,
    .two_layer_head = avx2::two_layer_head,
    .mlp_columns = avx2::mlp_columns,
    .score_published_shards = avx2::score_published_shards,
    .add_and_score = avx2::add_and_score,
    .add = avx2::add,
    .sum_embeddings = avx2::sum_embeddings,
    .index_of_lowest = avx2::index_of_lowest,
    .choose_device = avx2::choose_device,
};

const CpuKernels kAvx512Kernels = {
    .name = "avx512",
    .supported =
        [] {
          return kAvx2Kernels.supported() && __builtin_cpu_supports("avx512f") != 0 &&
                 __builtin_cpu_supports("avx512vl") != 0 &&
                 __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512bw") != 0;
        },
    .dense_layer = avx512::dense_layer,
    .one_output_layer = avx2::one_output_layer,
    .two_layer_head = avx512::two_layer_head,
    .mlp_columns = avx512::mlp_columns,
    .score_published_shards = avx512::score_published_shards,
    .add_and_score = avx512::add_and_score,
    .add = avx2::add,
    .sum_embeddings = avx2::sum_embeddings,
    .index_of_lowest = avx2::index_of_lowest,
    .choose_device = avx2::choose_device,
};

}  // namespace
#endif

std::span<const CpuKernels* const> all_cpu_kernels() {
  static constexpr const CpuKernels* kKernels[] = {
#ifdef NEUROSHARD_X86_KERNELS
      &kAvx2Kernels,
      // Twice as fast on batches, but whole plans, which score one shard at a time, gain too little
      // to be sure of (docs/performance.md).
      &kAvx512Kernels,
#endif
      &kScalarKernels,
  };
  return kKernels;
}

const CpuKernels& select_cpu_kernels(std::string_view name) {
  std::string names = "auto";
  bool known = false;
  for (const CpuKernels* kernels : all_cpu_kernels()) {
    const bool wanted = name == "auto" || name == kernels->name;
    if (wanted && kernels->supported()) return *kernels;
    known |= wanted;
    names += kernels == all_cpu_kernels().back() ? " or " : ", ";
    names += kernels->name;
  }
  if (known) {
    throw Error("backend '" + std::string(name) + "' cannot run on this CPU; use auto or scalar",
                ErrorKind::kBackend);
  }
  throw Error("there is no CPU backend '" + std::string(name) + "'; use " + names);
}

}  // namespace neuroshard
