#include "search/backend_choice.h"

#include <cstdlib>

#include "core/cpu_kernels.h"
#include "neuroshard/error.h"

namespace neuroshard {
namespace {

void require_known(const std::string& name, const std::string& where) {
  if (name == "auto" || name == "cuda") return;
  std::string names = "auto";
  for (const CpuKernels* kernels : all_cpu_kernels()) {
    if (name == kernels->name) return;
    names.append(", ").append(kernels->name);
  }
  throw Error(where + "there is no backend '" + name + "'; use " + names + " or cuda");
}

}  // namespace

std::string chosen_backend(const std::string& option) {
  require_known(option, "");
  const char* environment = std::getenv("NEUROSHARD_BACKEND");
  if (option != "auto" || environment == nullptr || *environment == '\0') return option;
  require_known(environment, "NEUROSHARD_BACKEND: ");
  return environment;
}

}  // namespace neuroshard
