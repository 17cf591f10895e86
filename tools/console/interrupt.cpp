#include "tools/console/interrupt.h"

namespace neuroshard::tools {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

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
  for (std::size_t i = 0; i < before_.size(); ++i) {
    before_[i] = std::signal(kSignals[i], remember);
    // Who started the program wants it to go on, as nohup does.
    if (before_[i] == SIG_IGN) std::signal(kSignals[i], SIG_IGN);
  }
}

InterruptGuard::~InterruptGuard() {
  for (std::size_t i = 0; i < before_.size(); ++i) std::signal(kSignals[i], before_[i]);
}

bool InterruptGuard::interrupted() const { return received != 0; }

}  // namespace neuroshard::tools
