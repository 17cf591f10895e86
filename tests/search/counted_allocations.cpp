// Replaces operator new. Not beside the tests: where gcc inlines one of a pair and not the other,
// it takes them for mismatched.
#include "search/counted_allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> count{0};
std::atomic<std::size_t> failing{0};  // Value of `count` at which an allocation fails.
std::atomic<bool> has_failed{false};

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (++count == failing) {
    has_failed = true;
    throw std::bad_alloc();
  }
  void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace neuroshard::testing {

std::size_t allocations() { return count; }

void fail_allocation(std::size_t n) {
  has_failed = false;
  failing = n == 0 ? 0 : count + n;
}

bool allocation_has_failed() { return has_failed; }

}  // namespace neuroshard::testing
