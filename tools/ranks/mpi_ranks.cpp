#include "tools/ranks/mpi_ranks.h"

#include <unistd.h>

#include <array>
#include <string>

#include "core/base/message_text.h"
#include "tools/collecting/collect_on_ranks.h"
#include "tools/command_line/exit_code.h"

namespace neuroshard::tools {
namespace {

std::string place(const ranks::RankGroup& group) {
  std::array<char, 256> host{};
  (void)::gethostname(host.data(), host.size() - 1);
  return "rank " + std::to_string(group.rank()) + " of " + std::to_string(group.size()) + " on " +
         host.data();
}

void say_error(Console& console, const std::string& what) {
  console.err << "neuroshard: error: " << printable(what) << '\n' << std::flush;
}

}  // namespace

ranks::MpiGroup start_mpi(const std::optional<int>& timeout_s, Console& console) {
  return ranks::MpiGroup(
      {.timeout = std::chrono::seconds(timeout_s.value_or(kDefaultRankTimeoutSeconds)),
       .say = [&](const std::string& what) { say_error(console, what); },
       .exit_code = kExitBadInput});
}

void abort_all(const ranks::RankGroup& group, Console& console, const char* what) {
  say_error(console, place(group) + ": " + what);
  ranks::abort_ranks(kExitBadInput);
}

}  // namespace neuroshard::tools
