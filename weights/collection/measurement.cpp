#include "weights/collection/measurement.h"

#include <algorithm>
#include <string>
#include <vector>

#include "neuroshard/error.h"

namespace neuroshard {

void require_runs(const MeasurementProtocol& protocol) {
  if (protocol.warm_up >= 0 && protocol.iterations >= 1) return;
  throw Error("a measurement of " + std::to_string(protocol.iterations) + " iterations after " +
              std::to_string(protocol.warm_up) + " to warm up; give at least 1 and 0");
}

double median_ms(const MeasurementProtocol& protocol, const std::function<void()>& prepare,
                 const std::function<double()>& timed_ms) {
  require_runs(protocol);
  std::vector<double> times;
  for (int i = 0; i < protocol.warm_up + protocol.iterations; ++i) {
    prepare();
    const double ms = timed_ms();
    if (i >= protocol.warm_up) times.push_back(ms);
  }
  std::sort(times.begin(), times.end());
  const std::size_t middle = times.size() / 2;
  return times.size() % 2 == 1 ? times[middle] : 0.5 * (times[middle - 1] + times[middle]);
}

}  // namespace neuroshard
