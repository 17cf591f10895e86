#pragma once

#include <cstddef>
#include <memory>

// AddressSanitizer, as gcc and as clang say it.
#if defined(__SANITIZE_ADDRESS__)
#define HOST_CUDA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HOST_CUDA_ASAN 1
#endif
#endif

namespace host_cuda {

/// A stack of its own with a guard page below it. Kept and reused: a launch needs hundreds.
class FiberStack {
 public:
  FiberStack();
  ~FiberStack();
  FiberStack(const FiberStack&) = delete;
  FiberStack& operator=(const FiberStack&) = delete;

  [[nodiscard]] void* bottom() const;
  [[nodiscard]] std::size_t size() const;

 private:
  void* mapping_ = nullptr;
};

/// One flow of control. `entry` runs when another fiber first switches to this one; it must end in
/// a switch, never in a return. Switching tells AddressSanitizer.
class Fiber {
 public:
  using Entry = void (*)();

  /// The fiber of the calling thread of the operating system.
  Fiber();
  Fiber(const FiberStack& stack, Entry entry);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber();

  /// Suspends this fiber, which must be the running one, and continues `next`. `last`: this fiber
  /// will never run again.
  void switch_to(Fiber& next, bool last = false);
  /// First thing an entry must do.
  static void started();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace host_cuda
