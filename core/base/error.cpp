#include "neuroshard/error.h"

#include "core/base/message_text.h"

namespace neuroshard {

Error::Error(const std::string& message, ErrorKind kind)
    : std::runtime_error(printable(message)), kind_(kind) {}

}  // namespace neuroshard
