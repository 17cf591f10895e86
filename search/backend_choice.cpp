#include "search/backend_choice.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>

#include "neuroshard/backend.h"
#include "neuroshard/cuda_backend.h"
#include "neuroshard/error.h"
#include "neuroshard/search_options.h"

namespace neuroshard {
namespace {

void require_known(const std::string& name, const std::string& where) {
  const std::vector<std::string> known = backends();
  if (name == "auto" || std::ranges::find(known, name) != known.end()) return;
  std::string names = "auto";
  for (const std::string& one : known) names += (one == known.back() ? " or " : ", ") + one;
  throw Error(where + "there is no backend '" + name + "'; use " + names);
}

}  // namespace

std::vector<std::string> backends() {
  std::vector<std::string> names{std::string(kCudaBackend)};
  std::ranges::move(cpu_backends(), std::back_inserter(names));
  return names;
}

std::string chosen_backend(const std::string& option) {
  require_known(option, "");
  const char* environment = std::getenv("NEUROSHARD_BACKEND");
  if (option != "auto" || environment == nullptr || *environment == '\0') return option;
  require_known(environment, "NEUROSHARD_BACKEND: ");
  return environment;
}

}  // namespace neuroshard
