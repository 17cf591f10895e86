#pragma once

#include <string>
#include <utility>
#include <vector>

namespace neuroshard::bench {

/// Key and value, in the order in which they are shown.
using Context = std::vector<std::pair<std::string, std::string>>;

/// Conditions of a figure besides the code under test: commit, compiler and its flags, CPU and its
/// clocks, memory, system load, OpenBLAS, GPUs. Leaves out what names the machine (host, user,
/// paths), as results are published.
[[nodiscard]] Context machine_context();

/// "key: value" lines, as a block that opens a report.
[[nodiscard]] std::string context_block(const Context& context);

}  // namespace neuroshard::bench
