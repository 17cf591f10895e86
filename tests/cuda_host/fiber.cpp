#include "cuda_host/fiber.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdint>
#include <new>

#ifdef HOST_CUDA_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

// swapcontext makes a system call each time; a kernel switches millions of times. Where there is no
// assembly for the processor, it still works.
#if defined(__x86_64__)
#define HOST_CUDA_FAST_SWITCH 1
extern "C" void host_cuda_switch(void** save_stack_pointer, void* load_stack_pointer);
asm(R"(
.text
.globl host_cuda_switch
.type host_cuda_switch, @function
host_cuda_switch:
  .cfi_startproc
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .cfi_endproc
.size host_cuda_switch, .-host_cuda_switch
)");
#endif

namespace host_cuda {
namespace {

constexpr std::size_t kStackBytes = std::size_t{256} << 10;

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

FiberStack::FiberStack() {
  mapping_ = mmap(nullptr, kStackBytes + page_bytes(), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping_ == MAP_FAILED) throw std::bad_alloc();
  mprotect(mapping_, page_bytes(), PROT_NONE);
}

FiberStack::~FiberStack() { munmap(mapping_, kStackBytes + page_bytes()); }

void* FiberStack::bottom() const { return static_cast<char*>(mapping_) + page_bytes(); }

std::size_t FiberStack::size() const { return kStackBytes; }

struct Fiber::State {
  void* stack_pointer = nullptr;
  ucontext_t context{};
  const void* stack_bottom = nullptr;
  std::size_t stack_size = 0;
  void* fake_stack = nullptr;
  bool owns_frames = false;  // False: the stack is that of the thread.
};

namespace {
// These are of the fiber that was suspended last, so that AddressSanitizer learns the bounds of the
// thread's own stack.
thread_local const void** suspended_bottom = nullptr;
thread_local std::size_t* suspended_size = nullptr;
}  // namespace

Fiber::Fiber() : state_(std::make_unique<State>()) {}

Fiber::Fiber(const FiberStack& stack, Entry entry) : state_(std::make_unique<State>()) {
  state_->stack_bottom = stack.bottom();
  state_->stack_size = stack.size();
  state_->owns_frames = true;
#ifdef HOST_CUDA_FAST_SWITCH
  // Six registers and the return address, laid out as host_cuda_switch pops them; the slot above
  // keeps the stack aligned as at a call.
  auto** top = reinterpret_cast<void**>(static_cast<char*>(stack.bottom()) + stack.size());
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(entry);
  for (int i = 0; i < 6; ++i) *--top = nullptr;
  state_->stack_pointer = top;
#else
  state_->stack_pointer = stack.bottom();  // The context has the real one.
  getcontext(&state_->context);
  state_->context.uc_stack.ss_sp = stack.bottom();
  state_->context.uc_stack.ss_size = stack.size();
  state_->context.uc_link = nullptr;
  makecontext(&state_->context, entry, 0);
#endif
}

Fiber::~Fiber() {
#ifdef HOST_CUDA_ASAN
  if (!state_->owns_frames) return;
  // The next fiber on this stack must not run into the bounds of frames left behind. They are
  // above the stack pointer; to clear all of the stack each time would cost more than most kernels.
  const auto* end = static_cast<const char*>(state_->stack_bottom) + state_->stack_size;
  const auto* begin = static_cast<const char*>(state_->stack_pointer);
  __asan_unpoison_memory_region(begin, static_cast<std::size_t>(end - begin));
#endif
}

void Fiber::started() {
#ifdef HOST_CUDA_ASAN
  __sanitizer_finish_switch_fiber(nullptr, suspended_bottom, suspended_size);
#endif
}

void Fiber::switch_to(Fiber& next, [[maybe_unused]] bool last) {
  suspended_bottom = &state_->stack_bottom;
  suspended_size = &state_->stack_size;
#ifdef HOST_CUDA_ASAN
  __sanitizer_start_switch_fiber(last ? nullptr : &state_->fake_stack, next.state_->stack_bottom,
                                 next.state_->stack_size);
#endif
#ifdef HOST_CUDA_FAST_SWITCH
  host_cuda_switch(&state_->stack_pointer, next.state_->stack_pointer);
#else
  swapcontext(&state_->context, &next.state_->context);
#endif
#ifdef HOST_CUDA_ASAN
  __sanitizer_finish_switch_fiber(state_->fake_stack, suspended_bottom, suspended_size);
#endif
}

}  // namespace host_cuda
