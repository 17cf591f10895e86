#include "bench/scoring/fma_ceiling.h"

#include "bench/scoring/fma_loop.h"

namespace neuroshard::bench {
namespace {

using Loop = std::uint64_t (*)(std::uint64_t rounds);

struct Instructions {
  std::string_view name;
  Loop loop = nullptr;
};

Instructions widest() {
#ifdef NEUROSHARD_BENCH_X86_LOOPS
  if (__builtin_cpu_supports("avx512f")) return {"AVX-512", fma_loop_avx512};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return {"AVX2", fma_loop_avx2};
  }
#endif
  return {};
}

}  // namespace

std::uint64_t run_multiply_adds(std::uint64_t rounds) {
  const Loop loop = widest().loop;
  return loop == nullptr ? 0 : loop(rounds);
}

std::string_view multiply_add_instructions() { return widest().name; }

}  // namespace neuroshard::bench
