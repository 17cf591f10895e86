#include "bench/fma_ceiling.h"

#include "bench/fma_loop.h"

namespace neuroshard::bench {

std::uint64_t run_multiply_adds(std::uint64_t rounds) {
#ifdef NEUROSHARD_BENCH_HAS_AVX2
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return fma_loop_avx2(rounds);
  }
#endif
  (void)rounds;
  return 0;
}

}  // namespace neuroshard::bench
