#pragma once

#include <string>

#include "neuroshard/error.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace neuroshard::tools {

/// --rendezvous, the file by which ranks meet without MPI. `options` names the options that take
/// it.
CLI::Option* add_rendezvous_option(CLI::App& command, std::string& rendezvous,
                                   const std::string& options);

/// Throws Error if `rendezvous` is empty.
void require_rendezvous(const std::string& rendezvous);

/// That a process was started as the only rank, though it should have others; `otherwise` is what
/// else may be done.
[[nodiscard]] Error only_rank_error(const std::string& otherwise);

}  // namespace neuroshard::tools
