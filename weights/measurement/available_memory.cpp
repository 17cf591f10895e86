#include "weights/measurement/available_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace neuroshard {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();

// A version of control groups, as far as it limits memory.
struct GroupFiles {
  const char* file_system;
  const char* controller;  // In /proc/self/cgroup, and among the mount's options.
  const char* limit;
  const char* usage;
  const char* cache;  // In memory.stat: given up when it is needed.
};
constexpr GroupFiles kVersions[] = {
    {"cgroup2", "", "memory.max", "memory.current", "inactive_file"},
    {"cgroup", "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"},
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

bool has_word(const std::string& list, const std::string& word) {
  const std::vector<std::string> words = split(list, ',');
  return std::ranges::find(words, word) != words.end();
}

std::int64_t kernel_estimate(const fs::path& root) {
  std::ifstream file(root / "proc/meminfo");
  for (std::string name, unit; file >> name;) {
    std::int64_t kib = 0;
    file >> kib;
    std::getline(file, unit);
    if (name == "MemAvailable:") return kib * 1024;
  }
  return kUnknown;
}

// What one number in a file says; `otherwise` if there is none ("max").
std::int64_t number_in(const fs::path& path, std::int64_t otherwise) {
  std::ifstream file(path);
  std::int64_t number = 0;
  return file >> number ? number : otherwise;
}

std::int64_t group_room(const fs::path& folder, const GroupFiles& files) {
  const std::int64_t limit = number_in(folder / files.limit, kUnknown);
  if (limit == kUnknown) return kUnknown;
  std::int64_t used = number_in(folder / files.usage, 0);
  std::ifstream statistics(folder / "memory.stat");
  std::string name;
  for (std::int64_t bytes = 0; statistics >> name >> bytes;) {
    if (name == files.cache) used -= bytes;
  }
  return std::max<std::int64_t>(0, limit - used);
}

// This process's group, as /proc/self/cgroup names it: lines "NUMBER:CONTROLLERS:PATH".
std::optional<fs::path> group_of_process(const fs::path& root, const GroupFiles& files) {
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool version_2 = *files.controller == '\0';
    if (version_2 ? controllers.empty() : has_word(controllers, files.controller)) {
      return line.substr(second + 1);
    }
  }
  return std::nullopt;
}

// Where the groups are to be seen, and which of them stands at the top there.
struct Mount {
  fs::path point;
  fs::path top;
};

// From /proc/self/mountinfo: "... TOP POINT OPTIONS ... - FILE_SYSTEM SOURCE SUPER_OPTIONS".
std::optional<Mount> mount_of(const fs::path& root, const GroupFiles& files) {
  std::ifstream file(root / "proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> words = split(line, ' ');
    const auto dash = std::ranges::find(words, "-");
    if (words.size() < 6 || words.end() - dash < 4 || dash[1] != files.file_system) continue;
    if (*files.controller != '\0' && !has_word(dash[3], files.controller)) continue;
    return Mount{root / fs::path(words[4]).relative_path(), words[3]};
  }
  return std::nullopt;
}

// The least room of the process's group and those that it lies in, as far as they are to be seen.
std::int64_t room_of(const fs::path& root, const GroupFiles& files) {
  const std::optional<Mount> mount = mount_of(root, files);
  if (!mount) return kUnknown;
  std::int64_t room = group_room(mount->point, files);
  const std::optional<fs::path> group = group_of_process(root, files);
  if (!group) return room;
  const fs::path below = group->lexically_relative(mount->top);
  if (below.empty() || *below.begin() == "..") return room;
  fs::path folder = mount->point;
  for (const fs::path& part : below) {
    folder /= part;
    room = std::min(room, group_room(folder, files));
  }
  return room;
}

}  // namespace

std::int64_t available_memory(const fs::path& root) {
  std::int64_t room = kernel_estimate(root);
  for (const GroupFiles& files : kVersions) room = std::min(room, room_of(root, files));
  return room;
}

}  // namespace neuroshard
