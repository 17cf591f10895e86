#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "neuroshard/cost_runner.h"

namespace neuroshard {

/// Inputs of communication models that all devices share.
struct ColumnRange {
  float mean = 0.0F;
  float most = 0.0F;
  float least = 0.0F;
  friend bool operator==(const ColumnRange&, const ColumnRange&) = default;
};

/// `columns`: [devices], as the communication models see them.
[[nodiscard]] ColumnRange range_of(std::span<const float> columns);

/// Communication costs of single devices, many at once, by models that are symmetric. Backward
/// costs are remembered, since columns recur.
class CommRows {
 public:
  /// Borrows `models`.
  CommRows(CostRunner& models, int devices);

  /// Writes the cost of a device with so many columns to `to`, by answer_backward() at the latest.
  void ask_backward(float columns, const ColumnRange& range, float* to);
  void answer_backward();

  /// Start offsets are counted from the first device that is ready.
  void ask_forward(float columns, double offset_ms, const ColumnRange& range, double mean_offset_ms,
                   double most_offset_ms);
  /// Costs of all that was asked for, in that order.
  const std::vector<float>& answer_forward();

 private:
  struct Remembered {
    float columns = -1.0F;
    ColumnRange range;
    float ms = 0.0F;
  };
  struct Missing {
    float* to;
    std::size_t entry;
  };

  CostRunner& models_;
  float log2_devices_;
  std::vector<Remembered> remembered_;
  std::vector<Missing> missing_;
  std::vector<float> backward_rows_;
  std::vector<float> backward_answers_;
  std::vector<float> forward_rows_;
  std::vector<float> forward_answers_;
};

}  // namespace neuroshard
