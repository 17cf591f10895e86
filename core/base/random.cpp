#include "core/base/random.h"

#include <cmath>
#include <numbers>

namespace neuroshard {

double Random::log_uniform(double low, double high) {
  return low * std::pow(high / low, uniform());
}

double Random::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

}  // namespace neuroshard
