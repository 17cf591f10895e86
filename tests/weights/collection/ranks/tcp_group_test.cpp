#include "weights/collection/ranks/tcp_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

#include "core/random.h"
#include "message_of.h"
#include "neuroshard/error.h"
#include "repetitions.h"
#include "weights/collection/ranks/expected_of_ranks.h"
#include "weights/collection/ranks/tcp_ranks.h"
#include "weights/collection/ranks/tcp_socket.h"

namespace neuroshard::ranks {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class TcpGroupTest : public ::testing::Test, protected TcpRanks {};

TEST_F(TcpGroupTest, SpeaksToAllAndHearsAll) {
  run_well(5, [](TcpGroup& group) { expect_five_ranks_speak(group); });
}

TEST_F(TcpGroupTest, OneRankNeedsNobody) {
  TcpGroup group({}, "/no/such/folder/ranks");
  EXPECT_FALSE(group.any(false));
  std::array<float, 2> values = {1.0F, 2.0F};
  group.add_up(values);
  EXPECT_EQ(values, (std::array<float, 2>{1.0F, 2.0F}));
}

TEST_F(TcpGroupTest, SendsEachRankItsPartHoweverLarge) {
  for (std::uint64_t seed = 0; seed < testing::repetitions(6); ++seed) {
    Random random(seed);
    // More than sockets buffer, or next to nothing.
    const PartSizes sizes = random_part_sizes(4, seed % 2 == 0 ? 900'000 : 3, random);
    run_well(4, [&](TcpGroup& group) { expect_each_gets_its_part(group, sizes); });
  }
}

TEST_F(TcpGroupTest, AddsUpTheSameOnAll) {
  for (const std::size_t count : {0U, 1U, 3U, 100'000U}) {
    run_well(4, [&](TcpGroup& group) {
      std::vector<float> values(count);
      for (std::size_t i = 0; i < count; ++i) {
        values[i] = static_cast<float>(i % 100) + static_cast<float>(group.rank());
      }
      group.add_up(values);
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ(values[i], 4.0F * static_cast<float>(i % 100) + 6.0F);
      }
    });
  }
}

TEST_F(TcpGroupTest, AgreesOnAnInstantThatIsBehindNobody) {
  run_well(3, [](TcpGroup& group) {
    group.compare_clocks();
    for (int i = 0; i < 20; ++i) {
      constexpr std::chrono::nanoseconds kAhead{1000};
      const Clock::time_point before = Clock::now();
      const Clock::time_point start = group.common_start(kAhead);
      EXPECT_GE(start, before + kAhead);
      const auto starts =
          group.gather(std::chrono::duration<double>(start.time_since_epoch()).count());
      for (const double other : starts) EXPECT_EQ(other, starts[0]);
    }
  });
}

TEST_F(TcpGroupTest, FindsNoDifferenceBetweenClocksBeyondTheRoundTrip) {
  run_well(2, [](TcpGroup& group) {
    const ClockDifference difference = group.compare_clock_with(1, 20);
    if (group.rank() != 1) return;
    EXPECT_GT(difference.round_trip.count(), 0);
    EXPECT_LE(std::abs(difference.ahead.count()), difference.round_trip.count() / 2 + 1);
  });
}

TEST_F(TcpGroupTest, TheEndOfARankEndsTheOthers) {
  for (int failing = 0; failing < 4; ++failing) {
    const auto errors = run(4, [&](TcpGroup& group) {
      for (int i = 0; i < 10; ++i) {
        if (i == 5 && group.rank() == failing) throw Error("of rank");
        (void)group.any(false);
      }
      ADD_FAILURE() << "rank " << group.rank() << " went on";
    });
    for (int rank = 0; rank < 4; ++rank) {
      EXPECT_THAT(errors[static_cast<std::size_t>(rank)],
                  HasSubstr(rank == failing ? "of rank" : " is gone"));
    }
  }
}

TEST_F(TcpGroupTest, AFileOfAnEarlierRunDoesNoHarm) {
  // A port on which nobody listens any more, other words, and half a line.
  for (const char* earlier : {"neuroshard.ranks 0.1.0 0123456789abcdef boot 1 1 127.0.0.1\n",
                              "something else\n", "neuroshard.ranks 0.1.0 01"}) {
    folder_.write("ranks", earlier);
    run_well(3, [](TcpGroup& group) { EXPECT_FALSE(group.any(false)); });
  }
}

// What rank 0 writes for the others, waited for until `end`.
std::string line_of_meeting(const std::string& path, SocketClock::time_point end) {
  std::string line;
  while (!std::getline(std::ifstream(path), line) || !line.starts_with("neuroshard")) {
    if (SocketClock::now() > end) throw Error(path + ": rank 0 has written nothing");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return line;
}

TEST_F(TcpGroupTest, TheFileIsForItsOwnerAloneToRead) {
  folder_.write("ranks", "of an earlier run\n");
  std::filesystem::permissions(rendezvous_, std::filesystem::perms(0644));
  constexpr std::chrono::seconds kPatience{60};
  const std::jthread first([&] { EXPECT_NO_THROW(TcpGroup({0, 2}, rendezvous_, kPatience)); });
  (void)line_of_meeting(rendezvous_, SocketClock::now() + kPatience);
  // It is there until the other rank comes.
  EXPECT_EQ(std::filesystem::status(rendezvous_).permissions(), std::filesystem::perms(0600));
  EXPECT_NO_THROW(TcpGroup({1, 2}, rendezvous_, kPatience));
}

// Calls rank 0 as rank 1 of 3; its answer is for the caller to read.
Socket call_rank_0(const std::string& rendezvous, SocketClock::time_point end) {
  std::istringstream text(line_of_meeting(rendezvous, end));
  std::string word;
  std::string token;
  std::string ip;
  int port = 0;
  text >> word >> word >> token >> word >> port >> word >> ip;
  std::optional<Socket> socket = connect_to(ip, port, end);
  if (!socket || !send_line(*socket, "neuroshard.ranks " + token + " 1 0 3 machine 1 0", end)) {
    throw Error("rank 0 cannot be called");
  }
  return std::move(*socket);
}

TEST_F(TcpGroupTest, ARankThatHungUpMayCallAgainButTwoMayNotBeTheSame) {
  constexpr std::chrono::seconds kPatience{60};
  const auto end = SocketClock::now() + kPatience;
  std::string error;
  {
    const std::jthread rank_0([&] {
      error = testing::message_of(
          [&] {
            TcpGroup({0, 3}, rendezvous_, kPatience);
          },
          ErrorKind::kBackend);
    });
    {
      const Socket hung_up = call_rank_0(rendezvous_, end);
      EXPECT_EQ(receive_line(hung_up, end), "welcome");
    }
    // It has come once, so rank 2 is still waited for.
    const Socket again = call_rank_0(rendezvous_, end);
    EXPECT_EQ(receive_line(again, end), "welcome");
    const Socket other = call_rank_0(rendezvous_, end);
    EXPECT_EQ(receive_line(other, end), std::nullopt);
  }
  EXPECT_THAT(error, HasSubstr("rank 1 came twice"));
}

TEST_F(TcpGroupTest, NamesTheRanksThatDoNotCome) {
  const auto alone = [&](const LaunchedRank& self, ErrorKind kind = ErrorKind::kBackend) {
    return testing::message_of([&] { TcpGroup(self, rendezvous_, std::chrono::seconds(1)); }, kind);
  };
  EXPECT_THAT(alone({0, 3}), AllOf(HasSubstr("rank 0 waited 1 s in vain for rank 1, 2"),
                                   HasSubstr("NEUROSHARD_INTERFACE")));
  EXPECT_TRUE(folder_.names().empty());
  EXPECT_THAT(alone({1, 2}), HasSubstr("rank 1 waited 1 s in vain for rank 0"));
  rendezvous_ = folder_ / "no/such/folder";
  EXPECT_THAT(alone({0, 2}, ErrorKind::kIo), HasSubstr("no/such/folder"));
}

}  // namespace
}  // namespace neuroshard::ranks
