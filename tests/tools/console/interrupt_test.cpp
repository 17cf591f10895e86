#include "tools/console/interrupt.h"

#include <gtest/gtest.h>

#include <csignal>

namespace neuroshard::tools {
namespace {

TEST(InterruptGuard, RemembersSignalsWhileItLives) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const InterruptGuard guard;
    EXPECT_FALSE(guard.interrupted());
    std::raise(signal);
    EXPECT_TRUE(guard.interrupted());
  }
}

TEST(InterruptGuard, LeavesIgnoredSignalsIgnored) {
  const auto before = std::signal(SIGHUP, SIG_IGN);  // nohup starts programs like this.
  {
    const InterruptGuard guard;
    std::raise(SIGHUP);
    EXPECT_FALSE(guard.interrupted());
  }
  EXPECT_EQ(std::signal(SIGHUP, before), SIG_IGN);
}

}  // namespace
}  // namespace neuroshard::tools
