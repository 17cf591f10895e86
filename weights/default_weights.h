#pragma once

#include <cstddef>

namespace neuroshard {

// pretrained/default.safetensors, byte by byte; defined in a source that is made when the library
// is built.
extern const unsigned char kDefaultWeights[];
extern const std::size_t kDefaultWeightsSize;

}  // namespace neuroshard
