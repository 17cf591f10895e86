#include "weights/collection/ranks/exchange.h"

#include <thread>

namespace neuroshard::ranks {

void wait_until(Clock::time_point start) {
  // More than a kernel oversleeps.
  constexpr std::chrono::microseconds kSpin{300};
  if (start - Clock::now() > kSpin) std::this_thread::sleep_until(start - kSpin);
  while (Clock::now() < start) std::this_thread::yield();
}

}  // namespace neuroshard::ranks
