#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "temporary_folder.h"
#include "weights/collection/ranks/tcp_group.h"

namespace neuroshard::ranks {

/// Threads as ranks, with connections as processes have them.
class TcpRanks {
 protected:
  /// What each rank threw, or nothing.
  std::vector<std::string> run(int size, const std::function<void(TcpGroup&)>& work,
                               std::chrono::seconds patience = std::chrono::seconds(60)) {
    std::vector<std::string> errors(static_cast<std::size_t>(size));
    {
      std::vector<std::jthread> ranks;
      for (int rank = size - 1; rank >= 0; --rank) {
        ranks.emplace_back([&, rank] {
          try {
            TcpGroup group({rank, size}, rendezvous_, patience);
            work(group);
          } catch (const std::exception& error) {
            errors[static_cast<std::size_t>(rank)] = error.what();
          }
        });
      }
    }
    return errors;
  }

  void run_well(int size, const std::function<void(TcpGroup&)>& work) {
    for (const std::string& error : run(size, work)) EXPECT_EQ(error, "");
    EXPECT_TRUE(folder_.names().empty());
  }

  TemporaryFolder folder_;
  std::string rendezvous_ = folder_ / "ranks";
};

}  // namespace neuroshard::ranks
