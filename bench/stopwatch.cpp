#include "bench/stopwatch.h"

#include <ctime>

namespace neuroshard::bench {
namespace {

double now_ms(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

}  // namespace

Stopwatch::Stopwatch()
    : wall_start_ms_(now_ms(CLOCK_MONOTONIC)), cpu_start_ms_(now_ms(CLOCK_PROCESS_CPUTIME_ID)) {}

Elapsed Stopwatch::elapsed() const {
  return {now_ms(CLOCK_MONOTONIC) - wall_start_ms_,
          now_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu_start_ms_};
}

}  // namespace neuroshard::bench
