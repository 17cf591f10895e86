#include "weights/files/tensor.h"

#include "core/base/message_text.h"

namespace neuroshard {

std::string shape_text(const std::vector<std::int64_t>& shape) { return "[" + joined(shape) + "]"; }

}  // namespace neuroshard
