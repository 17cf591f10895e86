#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>

namespace neuroshard::testing {

/// How often a random test repeats: `count` times, or a tenth of that where sanitizers
/// (NEUROSHARD_SANITIZED, from CMake) make everything ten times slower. Not for tests of damaged
/// files: those are there for the sanitizers.
constexpr std::uint64_t repetitions(std::uint64_t count) {
  return NEUROSHARD_SANITIZED ? (count + 9) / 10 : count;
}

/// Whether tests of the search draw fewer tasks than it takes to see rare ones: with sanitizers,
/// and unless the environment variable NEUROSHARD_THOROUGH_TESTS is set.
inline const bool kFewTasks =
    NEUROSHARD_SANITIZED || std::getenv("NEUROSHARD_THOROUGH_TESTS") == nullptr;

/// How many tasks a test of the search draws: `count`, or if they are few a fifth of it, and a
/// tenth with sanitizers.
inline std::uint64_t drawn_tasks(std::uint64_t count) {
  return kFewTasks && !NEUROSHARD_SANITIZED ? (count + 4) / 5 : repetitions(count);
}

/// Seeds 0 to `count` - 1 of a random test. What fails in the loop over them says for which.
class Seeds {
 public:
  explicit Seeds(std::uint64_t count, const char* file = __builtin_FILE(),
                 int line = __builtin_LINE())
      : count_(count), file_(file), line_(line) {}

  class End {};
  class Iterator {
   public:
    explicit Iterator(const Seeds& seeds) : seeds_(seeds) {}
    std::uint64_t operator*() {
      trace_.emplace(seeds_.file_, seeds_.line_, seed_);
      return seed_;
    }
    Iterator& operator++() {
      trace_.reset();
      ++seed_;
      return *this;
    }
    bool operator!=(End) const { return seed_ != seeds_.count_; }

   private:
    const Seeds& seeds_;
    std::uint64_t seed_ = 0;
    std::optional<::testing::ScopedTrace> trace_;
  };

  [[nodiscard]] Iterator begin() const { return Iterator(*this); }
  [[nodiscard]] End end() const { return {}; }

 private:
  std::uint64_t count_;
  const char* file_;
  int line_;
};

/// Changes to the byte at `position` of a damaged file: all of `changes`, or with sanitizers one of
/// them, each byte the next.
template <std::size_t N>
constexpr std::span<const unsigned> changes_at(std::size_t position,
                                               const std::array<unsigned, N>& changes) {
  const std::span all(changes);
  return NEUROSHARD_SANITIZED ? all.subspan(position % N, 1) : all;
}
template <std::size_t N>
std::span<const unsigned> changes_at(std::size_t, const std::array<unsigned, N>&&) = delete;

}  // namespace neuroshard::testing
