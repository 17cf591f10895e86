#pragma once

#include <span>
#include <string>

#include "neuroshard/aligned_vector.h"
#include "weights/training/training_state.h"

namespace neuroshard::training {

/// Adam (Kingma and Ba, 2015) with its usual constants: decay 0.9 and 0.999, epsilon 1e-8.
class Adam {
 public:
  explicit Adam(std::size_t parameters);

  /// `gradients`: partial gradients, added up in this order; all have the size of `parameters`.
  void step(std::span<const AlignedVector<float>> gradients, double learning_rate,
            AlignedVector<float>& parameters);

  void visit_state(const std::string& name, StateVisitor& visitor);

 private:
  AlignedVector<float> mean_;
  AlignedVector<float> square_;
  AlignedVector<float> sum_;
  long steps_ = 0;
};

}  // namespace neuroshard::training
