#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tools/built_programs.h"
#include "tools/run_command.h"
#include "tools/start_process.h"

namespace neuroshard::tools {

/// The program really run by mpirun, with ranks on this machine. Skips where there is no MPI.
class OverMpi : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string(NEUROSHARD_MPIRUN).empty()) GTEST_SKIP() << "built without MPI";
    if (::access(NEUROSHARD_MPIRUN, X_OK) != 0) {
      GTEST_SKIP() << NEUROSHARD_MPIRUN << " cannot be run here";
    }
    // Open MPI: more ranks than cores, and as root, which containers often are.
    ::setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    ::setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", 1);
  }

  /// Starts `ranks` processes of the program; nothing waits for them.
  pid_t start_program(int ranks, const std::vector<std::string>& program_arguments) {
    std::vector<std::string> arguments = {NEUROSHARD_MPIRUN, "-np", std::to_string(ranks),
                                          built_program()};
    arguments.insert(arguments.end(), program_arguments.begin(), program_arguments.end());
    // Under sanitizers MPI's own leaks are not ours to fix.
    return start_process(arguments, folder_ / "out", folder_ / "err",
                         {{"ASAN_OPTIONS", "detect_leaks=0"}});
  }

  Outcome finish(pid_t mpirun) {
    int status = 0;
    ::waitpid(mpirun, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents_of(folder_ / "out"),
            contents_of(folder_ / "err")};
  }

  /// Processes that `parent` has started.
  static std::vector<pid_t> children_of(pid_t parent) {
    std::vector<pid_t> children;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      std::ifstream status(entry.path() / "status");
      for (std::string line; std::getline(status, line);) {
        if (line.starts_with("PPid:") && std::stol(line.substr(5)) == parent) {
          children.push_back(static_cast<pid_t>(std::stol(name)));
        }
      }
    }
    return children;
  }

  TemporaryFolder folder_;
};

}  // namespace neuroshard::tools
