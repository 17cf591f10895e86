#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "weights/collection/ranks/exchange.h"

namespace neuroshard::ranks {

/// Decides what becomes of a run in which a rank hangs.
struct HangPolicy {
  /// A rank hangs if another has waited so long for it; 0: ranks wait for ever.
  std::chrono::seconds timeout{0};
  /// Says why the run ends. May be called by another thread than the group's.
  std::function<void(const std::string&)> say;
  int exit_code = 1;  ///< With which it ends then.
};

/// How the ranks of MPI wait for each other. A rank that has waited for the timeout tells all
/// others; those that wait, too, answer, and whoever does not is named as hung. Then the run ends,
/// even if the rank comes meanwhile.
class RankWaits {
 public:
  /// All ranks at once, once MPI is up.
  RankWaits(int rank, int size, HangPolicy policy);

  /// Returns once `done` returns true, which is called again and again.
  void await(const std::function<bool()>& done) const;

 private:
  [[nodiscard]] bool somebody_gave_up() const;
  [[noreturn]] void give_up() const;
  void take_in(std::vector<bool>& waiting) const;
  [[nodiscard]] std::string verdict(const std::vector<bool>& waiting) const;

  int rank_;
  int size_;
  HangPolicy policy_;
  std::vector<std::string> hosts_;  ///< [size]
};

/// Ends this process unless it is destroyed within the timeout of `policy`: around a call of MPI
/// that blocks, when ranks cannot ask each other.
class CallWatch {
 public:
  /// `what` is waited for: that all ranks "start MPI".
  CallWatch(const HangPolicy& policy, const std::string& what);

 private:
  std::jthread thread_;
};

/// Ends all ranks at once with this exit code.
[[noreturn]] void abort_ranks(int exit_code);

}  // namespace neuroshard::ranks
