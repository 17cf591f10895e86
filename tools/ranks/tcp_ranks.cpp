#include "tools/ranks/tcp_ranks.h"

#include <CLI/CLI.hpp>

namespace neuroshard::tools {

CLI::Option* add_rendezvous_option(CLI::App& command, std::string& rendezvous,
                                   const std::string& options) {
  return command
      .add_option("--rendezvous", rendezvous,
                  options +
                      ": file by which ranks find each other without MPI; srun, mpirun or "
                      "NEUROSHARD_RANK and NEUROSHARD_RANKS say which of how many one is")
      ->type_name("FILE");
}

void require_rendezvous(const std::string& rendezvous) {
  if (!rendezvous.empty()) return;
  throw Error("--rendezvous is missing; give a file in a folder that all ranks' machines see");
}

Error only_rank_error(const std::string& otherwise) {
  return Error(
      "this process is the only rank: NEUROSHARD_RANK and NEUROSHARD_RANKS are not set, nor are "
      "the variables of srun or of an mpirun that is known; set both for each rank, or " +
      otherwise);
}

}  // namespace neuroshard::tools
