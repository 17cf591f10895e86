#include "bench/machine/clock_rate.h"

#include <algorithm>
#include <cstdint>

#include "bench/stopwatch.h"

namespace neuroshard::bench {

double measured_clock_ghz() {
  double best = 0.0;
#if defined(__x86_64__) && defined(__GNUC__)
  constexpr int kRounds = 100000;
  constexpr int kAdditionsARound = 16;
  // A core that was idle takes tens of milliseconds to bring its clock up.
  for (int attempt = 0; attempt < 200; ++attempt) {
    std::uint64_t sum = 0;
    const std::uint64_t one = 1;
    const Stopwatch watch;
    for (int round = 0; round < kRounds; ++round) {
      __asm__ volatile(
          "add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\t"
          "add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\t"
          "add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\t"
          "add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\t"
          : "+r"(sum)
          : "r"(one)
          : "cc");
    }
    best = std::max(best, kRounds * kAdditionsARound / (watch.elapsed().cpu_ms * 1e6));
  }
#endif
  return best;
}

}  // namespace neuroshard::bench
