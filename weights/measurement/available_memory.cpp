#include "weights/measurement/available_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace neuroshard {
namespace {

constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();

std::int64_t kernel_estimate() {
  std::ifstream file("/proc/meminfo");
  for (std::string name, unit; file >> name;) {
    std::int64_t kib = 0;
    file >> kib;
    std::getline(file, unit);
    if (name == "MemAvailable:") return kib * 1024;
  }
  return kUnknown;
}

// What one number in a file says; `otherwise` if there is none ("max").
std::int64_t number_in(const std::string& path, std::int64_t otherwise) {
  std::ifstream file(path);
  std::int64_t number = 0;
  return file >> number ? number : otherwise;
}

std::int64_t group_room(const std::string& limit_file, const std::string& usage_file,
                        const std::string& cache_name) {
  const std::string folder = limit_file.substr(0, limit_file.rfind('/'));
  const std::int64_t limit = number_in(limit_file, kUnknown);
  if (limit == kUnknown) return kUnknown;
  std::int64_t used = number_in(usage_file, 0);
  std::ifstream statistics(folder + "/memory.stat");
  std::string name;
  for (std::int64_t bytes = 0; statistics >> name >> bytes;) {
    if (name == cache_name) used -= bytes;  // Given up when it is needed.
  }
  return std::max<std::int64_t>(0, limit - used);
}

}  // namespace

std::int64_t available_memory() {
  const std::string groups = "/sys/fs/cgroup";
  const std::int64_t version_2 =
      group_room(groups + "/memory.max", groups + "/memory.current", "inactive_file");
  const std::int64_t version_1 =
      group_room(groups + "/memory/memory.limit_in_bytes", groups + "/memory/memory.usage_in_bytes",
                 "total_inactive_file");
  return std::min({kernel_estimate(), version_2, version_1});
}

}  // namespace neuroshard
