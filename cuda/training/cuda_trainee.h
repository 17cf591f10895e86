#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cuda/training/training_kernels.h"
#include "weights/training/cpu_trainee.h"

namespace neuroshard::gpu {

/// Takes the steps of a trainee on a device. The samples are there from the start; an epoch sends
/// its order and fetches its losses, a step waits for nothing. Weights and what Adam has gathered
/// are in the host's trainee only where somebody asks for them.
class CudaTrainee final : public training::Trainee {
 public:
  /// As TrainingBackend::take_over().
  CudaTrainee(int device, training::CpuTrainee& host, std::size_t batch);
  ~CudaTrainee() override;
  CudaTrainee(const CudaTrainee&) = delete;
  CudaTrainee& operator=(const CudaTrainee&) = delete;

  double mean_loss(std::span<const std::uint32_t> samples) override;
  [[nodiscard]] std::vector<float> predict(std::span<const std::uint32_t> samples) override;
  void remember_weights() override;
  void recall_weights() override;
  void visit_state(const std::string& name, training::StateVisitor& visitor) override;
  void begin_epoch(std::span<const std::uint32_t> order) override;
  void queue_step(std::size_t count, double learning_rate) override;
  [[nodiscard]] double epoch_loss() override;

 private:
  struct DeviceMemory;

  void send_order(std::span<const std::uint32_t> order);
  /// Costs and losses of the next `count` samples of the order, and the gradient by the outputs.
  BatchView run_forward(std::size_t count, bool with_gradients);
  void run_backward(const BatchView& batch);
  [[nodiscard]] double mean_of_losses();
  void copy_to_host();

  int device_;
  training::CpuTrainee& host_;
  std::size_t batch_capacity_;             ///< Samples of a step or of a part of an evaluation.
  std::vector<std::int64_t> sample_rows_;  ///< First row of each sample, then the number of all.
  std::size_t done_ = 0;                   ///< Samples of the order.
  std::unique_ptr<DeviceMemory> memory_;
};

}  // namespace neuroshard::gpu
