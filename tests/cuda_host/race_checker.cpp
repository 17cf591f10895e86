#include "cuda_host/race_checker.h"

#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <sstream>
#include <unordered_map>

#include "cuda_host/block_executor.h"

namespace host_cuda {
namespace {

constexpr std::uintptr_t kCellBytes = 4;
constexpr std::size_t kCellsOfPage = 1024;

struct Access {
  const void* place = nullptr;  ///< Of the instruction; null: none.
  unsigned thread = 0;
  std::uint32_t block_epoch = 0;
  std::uint32_t warp_epoch = 0;
  bool atomic = false;
};

struct Cell {
  Access write;
  /// The last one, the last one of another thread of its warp, and the last one of another warp:
  /// of each, as any of them may be ordered before the next write.
  std::array<Access, 3> reads;
  // Of global memory: by which block, and what was done by blocks before it.
  std::uint32_t block = 0;
  const void* earlier_write = nullptr;
  const void* earlier_read = nullptr;
  const void* earlier_atomic = nullptr;
};

using Page = std::array<Cell, kCellsOfPage>;

class RaceChecker final : public Observer {
 public:
  void launch_starts() override {
    pages_.clear();
    page_ = nullptr;
    block_ = 0;
  }
  void block_starts(const std::byte* shared, std::size_t bytes, unsigned threads) override {
    ++block_;
    shared_ = reinterpret_cast<std::uintptr_t>(shared);
    shared_bytes_ = bytes;
    shared_cells_.assign(bytes / kCellBytes + 1, Cell{});
    block_epoch_ = 0;
    warp_epochs_.assign((threads + 31) / 32, 0);
  }
  void warp_synchronised(unsigned thread) override { ++warp_epochs_[thread / 32]; }
  void block_synchronised() override { ++block_epoch_; }

  void access(const void* address, std::size_t bytes, bool write, const void* place) {
    const ThreadView& thread = this_thread();
    const auto first = reinterpret_cast<std::uintptr_t>(address) / kCellBytes * kCellBytes;
    // Nobody else reaches the variables of a thread.
    const auto* at = static_cast<const std::byte*>(address);
    if (at >= thread.stack_begin && at < thread.stack_end) return;
    const Access now{place, thread.number, block_epoch_, warp_epochs_[thread.number / 32],
                     in_atomic()};
    for (std::uintptr_t cell = first; cell < reinterpret_cast<std::uintptr_t>(address) + bytes;
         cell += kCellBytes) {
      note(cell, now, write);
    }
  }

  std::vector<std::string> take() {
    std::vector<std::string> found(races_.begin(), races_.end());
    races_.clear();
    return found;
  }

 private:
  void note(std::uintptr_t address, const Access& now, bool write) {
    const bool shared = address - shared_ < shared_bytes_;
    Cell& cell =
        shared ? shared_cells_[(address - shared_) / kCellBytes] : global_cell(address, now, write);
    if (!ordered(cell.write, now))
      tell(write ? "write after write" : "read after write", cell.write, now, address);
    if (write) {
      for (const Access& read : cell.reads) {
        if (!ordered(read, now)) tell("write after read", read, now, address);
      }
      cell.write = now;
      cell.reads = {};
      return;
    }
    const Access& last = cell.reads[0];
    if (last.place != nullptr && last.thread != now.thread) {
      cell.reads[last.thread / 32 == now.thread / 32 ? 1 : 2] = last;
    }
    cell.reads[0] = now;
  }

  [[nodiscard]] bool ordered(const Access& before, const Access& now) const {
    if (before.place == nullptr || before.thread == now.thread) return true;
    if (before.atomic && now.atomic) return true;
    if (before.block_epoch < now.block_epoch) return true;
    return before.thread / 32 == now.thread / 32 && before.warp_epoch < now.warp_epoch;
  }

  Cell& global_cell(std::uintptr_t address, const Access& now, bool write) {
    const std::uintptr_t number = address / (kCellBytes * kCellsOfPage);
    if (page_ == nullptr || number != page_number_) {
      std::unique_ptr<Page>& page = pages_[number];
      if (!page) page = std::make_unique<Page>();
      page_ = page.get();
      page_number_ = number;
    }
    Cell& cell = (*page_)[address / kCellBytes % kCellsOfPage];
    if (cell.block != block_) {
      const auto keep = [&](const Access& access, const void*& plain) {
        if (access.place != nullptr) (access.atomic ? cell.earlier_atomic : plain) = access.place;
      };
      keep(cell.write, cell.earlier_write);
      for (const Access& read : cell.reads) keep(read, cell.earlier_read);
      cell.write = {};
      cell.reads = {};
      cell.block = block_;
    }
    const auto other_block = [&](const char* kind, const void* place) {
      if (place != nullptr) tell(kind, {.place = place, .thread = kOtherBlock}, now, address);
    };
    other_block("access after write by another block", cell.earlier_write);
    if (write) other_block("write after read by another block", cell.earlier_read);
    if (!now.atomic) other_block("access after an atomic of another block", cell.earlier_atomic);
    return cell;
  }

  void tell(const char* kind, const Access& before, const Access& now, std::uintptr_t address) {
    if (!told_.insert({before.place, now.place}).second) return;
    std::ostringstream text;
    text << kind;
    if (address - shared_ < shared_bytes_) {
      text << ", shared memory + " << address - shared_;
    } else {
      text << ", global memory";
    }
    text << ": ";
    if (before.thread != kOtherBlock) text << "thread " << before.thread << " ";
    text << "at " << in_program(before.place) << ", thread " << now.thread << " at "
         << in_program(now.place) << " (addr2line -e PROGRAM)";
    races_.insert(text.str());
  }

  // Where addr2line finds it; one before the return address is in the line of the access.
  static const void* in_program(const void* place) {
    Dl_info info{};
    if (dladdr(reinterpret_cast<const void*>(&watch_for_races), &info) == 0) return place;
    return reinterpret_cast<const void*>(static_cast<const char*>(place) -
                                         static_cast<const char*>(info.dli_fbase) - 1);
  }

  static constexpr unsigned kOtherBlock = ~0U;

  std::uintptr_t shared_ = 0;
  std::size_t shared_bytes_ = 0;
  std::vector<Cell> shared_cells_;
  std::unordered_map<std::uintptr_t, std::unique_ptr<Page>> pages_;
  Page* page_ = nullptr;
  std::uintptr_t page_number_ = 0;
  std::uint32_t block_ = 0;
  std::uint32_t block_epoch_ = 0;
  std::vector<std::uint32_t> warp_epochs_;
  std::set<std::pair<const void*, const void*>> told_;
  std::set<std::string> races_;
};

thread_local std::unique_ptr<RaceChecker> checker;

void note_access(const void* address, std::size_t bytes, bool write, const void* place) {
  if (checker && in_kernel()) checker->access(address, bytes, write, place);
}

}  // namespace

void watch_for_races() {
  checker = std::make_unique<RaceChecker>();
  set_observer(checker.get());
}

std::vector<std::string> take_races() { return checker->take(); }

}  // namespace host_cuda

// What compilers call at each access. Kernels are compiled by gcc or clang, which have names of
// their own for some.
#define NEUROSHARD_PLACE __builtin_return_address(0)
#define NEUROSHARD_ACCESSES(bytes)                                                                \
  void __tsan_read##bytes(void* p) { host_cuda::note_access(p, bytes, false, NEUROSHARD_PLACE); } \
  void __tsan_write##bytes(void* p) { host_cuda::note_access(p, bytes, true, NEUROSHARD_PLACE); } \
  void __tsan_unaligned_read##bytes(void* p) {                                                    \
    host_cuda::note_access(p, bytes, false, NEUROSHARD_PLACE);                                    \
  }                                                                                               \
  void __tsan_unaligned_write##bytes(void* p) {                                                   \
    host_cuda::note_access(p, bytes, true, NEUROSHARD_PLACE);                                     \
  }                                                                                               \
  void __tsan_read_write##bytes(void* p) {                                                        \
    host_cuda::note_access(p, bytes, false, NEUROSHARD_PLACE);                                    \
    host_cuda::note_access(p, bytes, true, NEUROSHARD_PLACE);                                     \
  }                                                                                               \
  void __tsan_unaligned_read_write##bytes(void* p) {                                              \
    host_cuda::note_access(p, bytes, false, NEUROSHARD_PLACE);                                    \
    host_cuda::note_access(p, bytes, true, NEUROSHARD_PLACE);                                     \
  }

extern "C" {
NEUROSHARD_ACCESSES(1)
NEUROSHARD_ACCESSES(2)
NEUROSHARD_ACCESSES(4)
NEUROSHARD_ACCESSES(8)
NEUROSHARD_ACCESSES(16)
void __tsan_read_range(void* p, unsigned long bytes) {
  host_cuda::note_access(p, bytes, false, NEUROSHARD_PLACE);
}
void __tsan_write_range(void* p, unsigned long bytes) {
  host_cuda::note_access(p, bytes, true, NEUROSHARD_PLACE);
}
void* __tsan_memset(void* p, int value, unsigned long bytes) {
  host_cuda::note_access(p, bytes, true, NEUROSHARD_PLACE);
  return std::memset(p, value, bytes);
}
void* __tsan_memcpy(void* to, const void* from, unsigned long bytes) {
  host_cuda::note_access(from, bytes, false, NEUROSHARD_PLACE);
  host_cuda::note_access(to, bytes, true, NEUROSHARD_PLACE);
  return std::memcpy(to, from, bytes);
}
void* __tsan_memmove(void* to, const void* from, unsigned long bytes) {
  host_cuda::note_access(from, bytes, false, NEUROSHARD_PLACE);
  host_cuda::note_access(to, bytes, true, NEUROSHARD_PLACE);
  return std::memmove(to, from, bytes);
}
void __tsan_init() {}
void __tsan_func_entry(void* /*place*/) {}
void __tsan_func_exit() {}
void __tsan_vptr_read(void** /*vptr*/) {}
void __tsan_vptr_update(void** /*vptr*/, void* /*value*/) {}
// Of host code in the same files: reference counts, and statics that are made once.
unsigned char __tsan_atomic8_load(const volatile unsigned char* p, int /*order*/) {
  return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}
int __tsan_atomic32_fetch_add(volatile int* p, int value, int /*order*/) {
  return __atomic_fetch_add(p, value, __ATOMIC_SEQ_CST);
}
int __tsan_atomic32_fetch_sub(volatile int* p, int value, int /*order*/) {
  return __atomic_fetch_sub(p, value, __ATOMIC_SEQ_CST);
}
}
