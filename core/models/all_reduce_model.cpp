#include "neuroshard/all_reduce_model.h"

#include <cmath>
#include <iterator>

#include "neuroshard/cost_models.h"
#include "neuroshard/error.h"
#include "neuroshard/task.h"

namespace neuroshard {
namespace {

double milliseconds(const AllReduceModel::Line& line, double bytes) {
  return line.latency_ms + line.ms_per_gib * (bytes / static_cast<double>(bytes_from_gib(1.0)));
}

}  // namespace

double AllReduceModel::all_reduce_ms(int devices, double bytes) const {
  if (!(bytes >= 0.0) || !std::isfinite(bytes)) {
    throw Error("all-reduce of " + std::to_string(bytes) +
                " bytes; give a number that is finite and not negative");
  }
  if (lines.empty()) throw Error("the all-reduce model has no line; train one");
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

void validate(const AllReduceModel& model, const std::string& where) {
  const std::string label = (where.empty() ? "" : where + ": ") + "all-reduce model";
  if (model.lines.empty()) throw Error(label + ": has no line; train it on samples");
  for (const auto& [devices, line] : model.lines) {
    if (devices < 1 || devices > kMostDevicesOfModels) {
      throw Error(label + ": has a line for " + std::to_string(devices) +
                  " devices; give between 1 and " + std::to_string(kMostDevicesOfModels));
    }
    for (const double number : {line.latency_ms, line.ms_per_gib}) {
      if (std::isfinite(number) && number >= 0.0) continue;
      throw Error(label + ", line for " + std::to_string(devices) + " devices: is " +
                  std::to_string(line.latency_ms) + " ms and " + std::to_string(line.ms_per_gib) +
                  " ms per GiB; both must be finite and not negative");
    }
  }
}

}  // namespace neuroshard
