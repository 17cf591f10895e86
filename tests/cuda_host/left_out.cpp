#include "cuda_host/left_out.h"

#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cuda_host/host_cuda.h"

namespace host_cuda {
namespace {

// A file of the library by its path in the repository.
std::string path_in_repository(std::string_view file) {
  const std::size_t folder = file.rfind("/cuda/");
  return std::string(folder == std::string_view::npos ? file : file.substr(folder + 1));
}

std::string name_of_place(const char* file, int line) {
  return path_in_repository(file) + ":" + std::to_string(line);
}

// Kernels may run on several threads of the operating system. Set before any do.
struct {
  std::string left_out;
  int left_out_line = 0;
  bool notes = false;
  std::mutex mutex;
  std::set<std::pair<const char*, int>> reached;  ///< A file may have several names here.
} places;

}  // namespace

bool left_out(const char* file, int line) {
  if (places.notes) {
    const std::lock_guard lock(places.mutex);
    places.reached.insert({file, line});
  }
  return line == places.left_out_line && name_of_place(file, line) == places.left_out;
}

void leave_out(const std::string& place) {
  places.left_out = place;
  places.left_out_line = std::stoi(place.substr(place.rfind(':') + 1));
}

std::vector<std::string> take_reached() {
  const std::lock_guard lock(places.mutex);
  places.notes = true;
  std::set<std::string> names;
  for (const auto& [file, line] : std::exchange(places.reached, {})) {
    names.insert(name_of_place(file, line));
  }
  return {names.begin(), names.end()};
}

}  // namespace host_cuda
