#include <string_view>

#include "neuroshard/weights.h"
#include "weights/default_weights.h"

namespace neuroshard {

const CostModels& builtin_weights() {
  // Never destroyed: a planner in a static object may come after it at the end of the program.
  static const CostModels& models = *new CostModels(parse_weights(
      {reinterpret_cast<const char*>(kDefaultWeights), kDefaultWeightsSize}, "built-in weights"));
  return models;
}

}  // namespace neuroshard
