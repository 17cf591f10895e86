#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "tools/commands.h"

namespace {

// A closed standard stream would lend its number to the next file opened, and what is meant for
// the stream would land in that file. /dev/null, opened the wrong way round, makes it fail instead.
void occupy_closed_streams() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) != -1) continue;
    const int mode = descriptor == 0 ? O_WRONLY : O_RDONLY;
    if (open("/dev/null", mode) != descriptor) _exit(neuroshard::tools::kExitBadInput);
  }
}

}  // namespace

int main(int argc, char** argv) {
  occupy_closed_streams();
  std::signal(SIGPIPE, SIG_IGN);  // A reader that has gone is a write error like any other.
  neuroshard::tools::Console console = neuroshard::tools::standard_console();
  return neuroshard::tools::run_program({argv + (argc > 0 ? 1 : 0), argv + argc}, console);
}
