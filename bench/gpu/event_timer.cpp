#include "bench/gpu/event_timer.h"

namespace neuroshard::bench {

double EventTimer::seconds_until_now(const gpu::Stream& stream) {
  stop_.record(stream);
  stream.synchronize();
  return 1e-3 * stop_.ms_since(start_);
}

}  // namespace neuroshard::bench
