#pragma once

#include <cstddef>

namespace neuroshard {

// The files in pretrained/, byte by byte; defined in sources that are made when the library is
// built.
extern const unsigned char kWeightsOfA100[];
extern const std::size_t kWeightsOfA100Size;
extern const unsigned char kWeightsOfH100[];
extern const std::size_t kWeightsOfH100Size;
extern const unsigned char kWeightsOfH200[];
extern const std::size_t kWeightsOfH200Size;

}  // namespace neuroshard
