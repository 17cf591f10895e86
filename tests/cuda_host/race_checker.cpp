#include "cuda_host/race_checker.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "cuda_host/block_executor.h"

namespace host_cuda {
namespace {

constexpr std::uintptr_t kCellBytes = 4;
constexpr std::size_t kCellsOfPage = 1024;

struct Access {
  const void* place = nullptr;  ///< Place of the instruction; null: none.
  std::uint32_t block = 0;      ///< Number of its block among all that have been started.
  unsigned thread = 0;
  std::uint32_t block_epoch = 0;
  std::uint32_t warp_epoch = 0;
  std::uint32_t fences = 0;  ///< Fences of the thread, so far.
  bool atomic = false;
};

struct Cell {
  Access write;
  /// The last atomic write by another block than that of `write`.
  Access other_atomic;
  /// The last one, the last one of another thread of its warp, of another warp, and of another
  /// block: of each, as any of them may be ordered before the next write.
  std::array<Access, 4> reads;
};

using Page = std::array<Cell, kCellsOfPage>;

/// Knows what has been done before: of blocks, all in epochs before a number; of threads, all
/// before a number of fences.
class Clock {
 public:
  void know_block(std::uint32_t block, std::uint32_t epoch) { raise(key(block, 0), epoch); }
  void know_thread(std::uint32_t block, unsigned thread, std::uint32_t fences) {
    raise(key(block, thread + 1), fences);
  }
  void join(const Clock& other) {
    for (const auto& [one, count] : other.before_) raise(one, count);
  }
  void clear() { before_.clear(); }
  [[nodiscard]] bool knows(const Access& access) const {
    return access.block_epoch < at(key(access.block, 0)) ||
           access.fences < at(key(access.block, access.thread + 1));
  }

 private:
  static std::uint64_t key(std::uint32_t block, unsigned thread) {
    return std::uint64_t{block} << 32 | thread;
  }
  void raise(std::uint64_t one, std::uint32_t count) {
    std::uint32_t& known = before_[one];
    known = std::max(known, count);
  }
  [[nodiscard]] std::uint32_t at(std::uint64_t one) const {
    const auto found = before_.find(one);
    return found == before_.end() ? 0 : found->second;
  }

  std::unordered_map<std::uint64_t, std::uint32_t> before_;
};

/// A thread that deals with other blocks.
struct Messenger {
  std::uint32_t fences = 0;
  Clock seen;       ///< Through atomics, since the last fence.
  Clock acquired;   ///< Known for sure, by this thread alone as yet.
  Clock published;  ///< Told by its atomics: all before its last fence.
};

struct Block {
  std::uint32_t number = 0;
  std::uintptr_t shared = 0;
  std::size_t shared_bytes = 0;
  std::vector<Cell> shared_cells;
  std::uint32_t epoch = 0;
  std::vector<std::uint32_t> warp_epochs;
  Clock known;
  std::unordered_map<unsigned, Messenger> messengers;  ///< By thread.
};

class RaceChecker final : public Observer {
 public:
  void launch_starts() override {
    pages_.clear();
    page_ = nullptr;
    told_by_.clear();
    blocks_ = 0;
  }
  void block_starts(unsigned place, const std::byte* shared, std::size_t bytes,
                    unsigned threads) override {
    if (running_.size() <= place) running_.resize(place + 1);
    running_[place] = {.number = ++blocks_,
                       .shared = reinterpret_cast<std::uintptr_t>(shared),
                       .shared_bytes = bytes,
                       .shared_cells = std::vector<Cell>(bytes / kCellBytes + 1),
                       .epoch = 0,
                       .warp_epochs = std::vector<std::uint32_t>((threads + 31) / 32),
                       .known = {},
                       .messengers = {}};
  }
  void warp_synchronised(unsigned place, unsigned thread) override {
    ++running_[place].warp_epochs[thread / 32];
  }
  void block_synchronised(unsigned place) override {
    Block& block = running_[place];
    ++block.epoch;
    for (auto& [thread, messenger] : block.messengers) {
      block.known.join(messenger.acquired);
      messenger.acquired.clear();
    }
  }
  void thread_fence(const ThreadView& thread) override {
    Block& block = running_[thread.place];
    Messenger& messenger = block.messengers[thread.number];
    messenger.acquired.join(messenger.seen);
    messenger.seen.clear();
    messenger.published = block.known;
    messenger.published.join(messenger.acquired);
    messenger.published.know_block(block.number, block.epoch);
    messenger.published.know_thread(block.number, thread.number, ++messenger.fences);
  }

  void access(const void* address, std::size_t bytes, bool write, const void* place) {
    const ThreadView& thread = this_thread();
    const auto first = reinterpret_cast<std::uintptr_t>(address) / kCellBytes * kCellBytes;
    // Nobody else reaches the variables of a thread.
    const auto* at = static_cast<const std::byte*>(address);
    if (at >= thread.stack_begin && at < thread.stack_end) return;
    Block& block = running_[thread.place];
    const auto messenger = block.messengers.find(thread.number);
    const Access now{.place = place,
                     .block = block.number,
                     .thread = thread.number,
                     .block_epoch = block.epoch,
                     .warp_epoch = block.warp_epochs[thread.number / 32],
                     .fences = messenger == block.messengers.end() ? 0 : messenger->second.fences,
                     .atomic = in_atomic()};
    for (std::uintptr_t cell = first; cell < reinterpret_cast<std::uintptr_t>(address) + bytes;
         cell += kCellBytes) {
      note(block, cell, now, write);
    }
  }

  std::vector<std::string> take() {
    std::vector<std::string> found(races_.begin(), races_.end());
    races_.clear();
    return found;
  }

 private:
  void note(Block& block, std::uintptr_t address, const Access& now, bool write) {
    const bool shared = address - block.shared < block.shared_bytes;
    if (!shared && now.atomic) pass_on(block, address, now, write);
    Cell& cell =
        shared ? block.shared_cells[(address - block.shared) / kCellBytes] : global_cell(address);
    const auto require = [&](const char* kind, const Access& before) {
      if (!ordered(block, before, now)) tell(kind, block, before, now, address);
    };
    require(write ? "write after write" : "read after write", cell.write);
    require(write ? "write after atomic" : "read after atomic", cell.other_atomic);
    if (write) {
      for (const Access& read : cell.reads) require("write after read", read);
      if (cell.write.atomic && cell.write.block != now.block) cell.other_atomic = cell.write;
      cell.write = now;
      cell.reads = {};
      return;
    }
    const Access& last = cell.reads[0];
    if (last.place != nullptr && last.block != now.block) {
      cell.reads[3] = last;
    } else if (last.place != nullptr && last.thread != now.thread) {
      cell.reads[last.thread / 32 == now.thread / 32 ? 1 : 2] = last;
    }
    cell.reads[0] = now;
  }

  // Who reads an atomic learns what all who wrote it told with it.
  void pass_on(Block& block, std::uintptr_t address, const Access& now, bool write) {
    Messenger& messenger = block.messengers[now.thread];
    if (write) {
      told_by_[address].join(messenger.published);
    } else {
      messenger.seen.join(told_by_[address]);
    }
  }

  [[nodiscard]] static bool ordered(Block& block, const Access& before, const Access& now) {
    if (before.place == nullptr || (before.atomic && now.atomic)) return true;
    if (before.block == now.block) {
      if (before.thread == now.thread || before.block_epoch < now.block_epoch) return true;
      return before.thread / 32 == now.thread / 32 && before.warp_epoch < now.warp_epoch;
    }
    if (block.known.knows(before)) return true;
    const auto messenger = block.messengers.find(now.thread);
    return messenger != block.messengers.end() && messenger->second.acquired.knows(before);
  }

  Cell& global_cell(std::uintptr_t address) {
    const std::uintptr_t number = address / (kCellBytes * kCellsOfPage);
    if (page_ == nullptr || number != page_number_) {
      std::unique_ptr<Page>& page = pages_[number];
      if (!page) page = std::make_unique<Page>();
      page_ = page.get();
      page_number_ = number;
    }
    return (*page_)[address / kCellBytes % kCellsOfPage];
  }

  void tell(const char* kind, const Block& block, const Access& before, const Access& now,
            std::uintptr_t address) {
    if (!told_.insert({before.place, now.place}).second) return;
    std::ostringstream text;
    text << kind;
    if (address - block.shared < block.shared_bytes) {
      text << ", shared memory + " << address - block.shared;
    } else {
      text << ", global memory";
    }
    text << ": thread " << before.thread << (before.block != now.block ? " of another block" : "")
         << " at " << in_program(before.place) << ", thread " << now.thread << " at "
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

  std::vector<Block> running_;  ///< By place.
  std::uint32_t blocks_ = 0;    ///< Started so far.
  std::unordered_map<std::uintptr_t, std::unique_ptr<Page>> pages_;
  Page* page_ = nullptr;
  std::uintptr_t page_number_ = 0;
  std::unordered_map<std::uintptr_t, Clock> told_by_;  ///< By the address of an atomic.
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

// Compilers call these at each access. Kernels are compiled by gcc or clang, which have names of
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
// Atomics of host code in the same files: reference counts, and statics that are made once.
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
