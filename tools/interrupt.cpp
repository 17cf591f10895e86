#include "tools/interrupt.h"

#include <csignal>

namespace neuroshard::tools {
namespace {

volatile std::sig_atomic_t received = 0;

void remember(int signal) {
  if (received != 0) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  received = 1;
}

}  // namespace

InterruptGuard::InterruptGuard() {
  received = 0;
  std::signal(SIGINT, remember);
  std::signal(SIGTERM, remember);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool InterruptGuard::interrupted() const { return received != 0; }

}  // namespace neuroshard::tools
