#pragma once

namespace neuroshard::bench {

struct Elapsed {
  double wall_ms = 0.0;
  /// CPU time of all threads of this process. On one thread, wall time above it is time that the
  /// machine gave to somebody else.
  double cpu_ms = 0.0;
};

/// Runs from its construction.
class Stopwatch {
 public:
  Stopwatch();
  [[nodiscard]] Elapsed elapsed() const;

 private:
  double wall_start_ms_;
  double cpu_start_ms_;
};

}  // namespace neuroshard::bench
