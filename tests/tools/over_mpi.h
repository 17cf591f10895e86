#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
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

  /// Some ranks, and the command that each of them runs.
  struct Ranks {
    int count = 0;
    std::vector<std::string> command;
  };
  /// Starts ranks, numbered as they are here; nothing waits for them.
  pid_t start_ranks(const std::vector<Ranks>& all) {
    std::vector<std::string> arguments = {NEUROSHARD_MPIRUN};
    for (const Ranks& some : all) {
      if (&some != &all.front()) arguments.emplace_back(":");
      arguments.insert(arguments.end(), {"-np", std::to_string(some.count)});
      arguments.insert(arguments.end(), some.command.begin(), some.command.end());
    }
    // Under sanitizers MPI's own leaks are not ours to fix.
    return start_process(arguments, folder_ / "out", folder_ / "err",
                         {{"ASAN_OPTIONS", "detect_leaks=0"}});
  }
  /// Starts `ranks` processes of the program.
  pid_t start_program(int ranks, const std::vector<std::string>& program_arguments) {
    return start_ranks({{ranks, command_of(program_arguments)}});
  }
  static std::vector<std::string> command_of(std::vector<std::string> program_arguments) {
    program_arguments.insert(program_arguments.begin(), built_program());
    return program_arguments;
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

  /// Which rank a process is that mpirun of Open MPI or MPICH has started; -1: none.
  static int rank_of(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/environ", std::ios::binary);
    for (std::string variable; std::getline(file, variable, '\0');) {
      for (const std::string name : {"OMPI_COMM_WORLD_RANK=", "PMI_RANK="}) {
        if (variable.starts_with(name)) return std::stoi(variable.substr(name.size()));
      }
    }
    return -1;
  }

  /// Waits for the end of a run that may be one that never ends: false, and all is killed, if it
  /// takes minutes.
  bool ends_by_itself(pid_t mpirun, int& status) {
    for (int i = 0; i < 1200; ++i) {
      if (::waitpid(mpirun, &status, WNOHANG) == mpirun) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    for (const pid_t child : children_of(mpirun)) ::kill(child, SIGKILL);
    ::kill(mpirun, SIGKILL);
    ::waitpid(mpirun, &status, 0);
    return false;
  }

  TemporaryFolder folder_;
};

}  // namespace neuroshard::tools
