#include "core/kernels/cpu_kernels.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "core/kernels/kernels_avx2.h"
#include "core/kernels/kernels_avx512.h"
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

// CPUs with AVX-512 of before Ice Lake (2019) lower their clock for it, of the whole core and for
// some while after; none of these has VBMI2, and all since have. A measurement at start-up would
// see neither.
bool wide_registers_are_fast() { return __builtin_cpu_supports("avx512vbmi2") != 0; }

}  // namespace
#endif

std::span<const CpuKernels* const> all_cpu_kernels() {
  static constexpr const CpuKernels* kKernels[] = {
#ifdef NEUROSHARD_X86_KERNELS
      &kAvx512Kernels,
      &kAvx2Kernels,
#endif
      &kScalarKernels,
  };
  return kKernels;
}

std::vector<const CpuKernels*> available_cpu_kernels() {
  std::vector<const CpuKernels*> kernels;
  std::ranges::copy_if(all_cpu_kernels(), std::back_inserter(kernels),
                       [](const CpuKernels* one) { return one->supported(); });
#ifdef NEUROSHARD_X86_KERNELS
  if (kernels.front() == &kAvx512Kernels && !wide_registers_are_fast()) {
    std::swap(kernels[0], kernels[1]);
  }
#endif
  return kernels;
}

const CpuKernels& select_cpu_kernels(std::string_view name) {
  if (name == "auto") return *available_cpu_kernels().front();
  std::string names = "auto";
  bool known = false;
  for (const CpuKernels* kernels : all_cpu_kernels()) {
    const bool wanted = name == kernels->name;
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
