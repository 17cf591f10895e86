#pragma once

#include <optional>
#include <string>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace neuroshard::tools {

inline constexpr int kDefaultRankTimeoutSeconds = 300;

/// --rank-timeout-s: how long ranks of MPI wait for one that hangs. `uses` names the option and
/// its values with which it counts.
CLI::Option* add_rank_timeout_option(CLI::App& command, std::optional<int>& seconds,
                                     const std::string& uses);

/// Throws Error if `seconds` is there though the ranks are none of MPI (`over_mpi`), or below 0.
void require_rank_timeout(const std::optional<int>& seconds, bool over_mpi,
                          const std::string& uses);

}  // namespace neuroshard::tools
