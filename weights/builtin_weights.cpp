#include <cstddef>
#include <string_view>

#include "neuroshard/weights.h"

namespace neuroshard {

// Made from pretrained/default.safetensors when the library is built.
extern const unsigned char kDefaultWeights[];
extern const std::size_t kDefaultWeightsSize;

const CostModels& builtin_weights() {
  // Never destroyed: a planner in a static object may come after it at the end of the program.
  static const CostModels& models = *new CostModels(parse_weights(
      {reinterpret_cast<const char*>(kDefaultWeights), kDefaultWeightsSize}, "built-in weights"));
  return models;
}

}  // namespace neuroshard
