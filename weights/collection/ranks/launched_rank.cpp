#include "weights/collection/ranks/launched_rank.h"

#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

#include "neuroshard/error.h"

namespace neuroshard::ranks {
namespace {

struct Launcher {
  const char* rank;
  const char* size;
};

// srun comes last: within a job of Slurm its variables are there for ranks of mpirun, too, but are
// those of mpirun's own processes.
constexpr Launcher kLaunchers[] = {
    {"NEUROSHARD_RANK", "NEUROSHARD_RANKS"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
};

int number_of(const char* variable) {
  const std::string_view text = std::getenv(variable);
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw Error("the environment has " + std::string(variable) + "=" + std::string(text) +
                "; give a whole number");
  }
  return number;
}

}  // namespace

LaunchedRank launched_rank() {
  const auto& own = kLaunchers[0];
  const bool has_rank = std::getenv(own.rank) != nullptr;
  if (has_rank != (std::getenv(own.size) != nullptr)) {
    throw Error("the environment has " + std::string(has_rank ? own.rank : own.size) + ", but no " +
                (has_rank ? own.size : own.rank) + "; set both, or none");
  }
  for (const Launcher& launcher : kLaunchers) {
    if (std::getenv(launcher.rank) == nullptr || std::getenv(launcher.size) == nullptr) continue;
    const LaunchedRank launched{number_of(launcher.rank), number_of(launcher.size)};
    if (launched.rank >= 0 && launched.rank < launched.size) return launched;
    throw Error("the environment has " + std::string(launcher.rank) + "=" +
                std::to_string(launched.rank) + " and " + launcher.size + "=" +
                std::to_string(launched.size) + "; ranks count from 0 to below the size");
  }
  return {};
}

}  // namespace neuroshard::ranks
