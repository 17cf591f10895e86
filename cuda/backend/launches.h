#pragma once

#include "cuda/backend/device_context.h"

namespace neuroshard::gpu {

/// Work of many tasks on its way through one device: requests are added, then started, then
/// finished, once.
class Launches {
 public:
  /// Copies and launches; does not wait.
  void start() {
    prepare();
    launch();
  }
  /// The two halves of start(), so that benchmarks can time the second.
  virtual void prepare() = 0;
  virtual void launch() = 0;
  /// Waits, and hands out the results.
  virtual void finish() = 0;
  /// On which all of it happens.
  [[nodiscard]] const Stream& stream() const { return workspace_->stream; }

 protected:
  explicit Launches(const DeviceContext& context);
  Launches(Launches&&) = default;
  ~Launches() = default;

  const DeviceContext& context_;
  ObjectPool<Workspace>::Lease workspace_;
};

}  // namespace neuroshard::gpu
