#include "neuroshard/collective_model.h"

#include <cmath>
#include <iterator>

#include "core/tables/stated_gib.h"
#include "neuroshard/cost_models.h"
#include "neuroshard/error.h"
#include "neuroshard/task.h"

namespace neuroshard {
namespace {

double milliseconds(const CollectiveModel::Line& line, double bytes) {
  return line.latency_ms + line.ms_per_gib * (bytes / kGib);
}

}  // namespace

double CollectiveModel::cost_ms(int devices, double bytes) const {
  if (!(bytes >= 0.0) || !std::isfinite(bytes)) {
    throw Error("a collective of " + std::to_string(bytes) +
                " bytes; give a number that is finite and not negative");
  }
  if (lines.empty()) throw Error("the model of a collective has no line; train one");
  if (bytes == 0.0) return 0.0;
  const auto above = lines.lower_bound(devices);
  if (above == lines.end()) return milliseconds(lines.rbegin()->second, bytes);
  if (above->first == devices || above == lines.begin()) return milliseconds(above->second, bytes);
  const auto below = std::prev(above);
  const double part = static_cast<double>(devices - below->first) /
                      static_cast<double>(above->first - below->first);
  return (1.0 - part) * milliseconds(below->second, bytes) +
         part * milliseconds(above->second, bytes);
}

void validate(const CollectiveModel& model, const std::string& name) {
  if (model.lines.empty()) throw Error(name + ": has no line; train it on samples");
  for (const auto& [devices, line] : model.lines) {
    if (devices < 1 || devices > kMostDevicesOfModels) {
      throw Error(name + ": has a line for " + std::to_string(devices) +
                  " devices; give between 1 and " + std::to_string(kMostDevicesOfModels));
    }
    for (const double number : {line.latency_ms, line.ms_per_gib}) {
      if (std::isfinite(number) && number >= 0.0) continue;
      throw Error(name + ", line for " + std::to_string(devices) + " devices: is " +
                  std::to_string(line.latency_ms) + " ms and " + std::to_string(line.ms_per_gib) +
                  " ms per GiB; both must be finite and not negative");
    }
  }
}

}  // namespace neuroshard
