#pragma once

#include "neuroshard/hardware.h"
#include "weights/files/json_reader.h"

namespace neuroshard {

/// The field `hardware` of an object: a name, or a datasheet. Throws Error naming the field.
[[nodiscard]] Hardware read_hardware(const JsonObject& holder);

}  // namespace neuroshard
