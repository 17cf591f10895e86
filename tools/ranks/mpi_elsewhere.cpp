// The program `neuroshard` knows nothing of MPI and has this in place of collect_over_ranks.cpp: it
// becomes the program `neuroshard-mpi` beside it.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "neuroshard/error.h"
#include "tools/collecting/collect_on_ranks.h"

namespace neuroshard::tools {

int collect_over_ranks(const RankOptions& options, const RankSamples& /*samples*/,
                       Console& console) {
  const std::filesystem::path program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "neuroshard-mpi";
  if (!std::filesystem::exists(program)) {
    throw Error("--backend " + options.backend + ": this build has no MPI (" + program.string() +
                    " is not there); install one (libopenmpi-dev), configure and build again, or "
                    "collect with --backend analytic",
                ErrorKind::kBackend);
  }
  // The arguments stay as they are: each ends in a null byte.
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<char*> arguments;
  for (std::size_t at = 0; at < text.size(); at = text.find('\0', at) + 1) {
    arguments.push_back(&text[at]);
  }
  arguments.push_back(nullptr);
  console.out << std::flush;
  console.err << std::flush;
  ::execv(program.c_str(), arguments.data());
  throw Error(program.string() + ": cannot be started: " + std::strerror(errno), ErrorKind::kIo);
}

}  // namespace neuroshard::tools
