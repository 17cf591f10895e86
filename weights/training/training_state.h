#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace neuroshard::training {

/// Is shown all that the epochs to come depend on, by name; writes it down, or puts back what was
/// written down.
class StateVisitor {
 public:
  virtual ~StateVisitor() = default;
  /// As many values in every state of the same run.
  virtual void floats(const std::string& name, std::span<float> values) = 0;
  virtual void numbers(const std::string& name, std::vector<double>& values) = 0;
  /// One of them, whole and not negative.
  void count(const std::string& name, long& value);
};

/// Shows a visitor everything.
using VisitState = std::function<void(StateVisitor&)>;

/// `fingerprint` stands for all that decides the weights: samples, sizes and options.
[[nodiscard]] std::string write_state(std::uint64_t fingerprint, const VisitState& visit);

/// Puts back what write_state() wrote. Throws Error naming `where` if `bytes` are damaged or have
/// another fingerprint, or if `visit` throws it.
void read_state(const std::string& bytes, const std::string& where, std::uint64_t fingerprint,
                const VisitState& visit);

}  // namespace neuroshard::training
