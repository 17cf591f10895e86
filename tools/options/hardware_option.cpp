#include "tools/options/hardware_option.h"

#include "weights/files/json_document.h"
#include "weights/files/read_file.h"

namespace neuroshard::tools {

std::optional<Hardware> hardware_of_option(const std::string& option) {
  if (option.empty()) return std::nullopt;
  if (option.ends_with(".json")) return parse_hardware(read_file(option, kMaxJsonBytes), option);
  return parse_hardware(option, "--hardware");
}

}  // namespace neuroshard::tools
