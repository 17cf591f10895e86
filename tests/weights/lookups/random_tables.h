#pragma once

#include <cmath>

#include "core/base/random.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// A table with a random shape and a random access histogram.
inline Table random_table(Random& random, int dim) {
  Table table;
  table.rows = static_cast<std::int64_t>(std::exp(random.uniform() * 16.0)) + 100;
  table.dim = dim;
  table.pooling_factor = std::exp(random.normal() + 1.5);
  double sum = 0.0;
  for (double& share : table.access_histogram) sum += share = random.uniform() * random.uniform();
  for (double& share : table.access_histogram) share /= sum;
  return table;
}

}  // namespace neuroshard
