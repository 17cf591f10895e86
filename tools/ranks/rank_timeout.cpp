#include "tools/ranks/rank_timeout.h"

#include <CLI/CLI.hpp>

#include "neuroshard/error.h"

namespace neuroshard::tools {

CLI::Option* add_rank_timeout_option(CLI::App& command, std::optional<int>& seconds,
                                     const std::string& uses) {
  return command
      .add_option("--rank-timeout-s", seconds,
                  uses + ": a rank that the others have waited for so long ends the run (default " +
                      std::to_string(kDefaultRankTimeoutSeconds) + "; 0: they wait for ever)")
      ->type_name("SECONDS");
}

void require_rank_timeout(const std::optional<int>& seconds, bool over_mpi,
                          const std::string& uses) {
  if (!seconds) return;
  if (!over_mpi) throw Error("--rank-timeout-s is for " + uses + "; leave it out");
  if (*seconds < 0) {
    throw Error("--rank-timeout-s is " + std::to_string(*seconds) +
                "; give seconds, or 0 to wait for ever");
  }
}

}  // namespace neuroshard::tools
