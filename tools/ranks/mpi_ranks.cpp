#include "tools/ranks/mpi_ranks.h"

#include <unistd.h>

#include <array>
#include <string>

#include "core/message_text.h"
#include "tools/command_line/exit_code.h"

namespace neuroshard::tools {
namespace {

std::string place(const ranks::RankGroup& group) {
  std::array<char, 256> host{};
  (void)::gethostname(host.data(), host.size() - 1);
  return "rank " + std::to_string(group.rank()) + " of " + std::to_string(group.size()) + " on " +
         host.data();
}

}  // namespace

void abort_all(const ranks::RankGroup& group, Console& console, const char* what) {
  console.err << "neuroshard: error: " << printable(place(group) + ": " + what) << '\n'
              << std::flush;
  ranks::MpiGroup::abort(kExitBadInput);
}

}  // namespace neuroshard::tools
