#include "cuda_host/block_executor.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <memory>
#include <new>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cuda_host/fiber.h"

namespace host_cuda {
namespace {

constexpr unsigned kWarp = 32;

const char* name_of(WarpOp op) {
  switch (op) {
    case WarpOp::kSync:
      return "__syncwarp";
    case WarpOp::kShuffle:
      return "__shfl_sync";
    case WarpOp::kBallot:
      return "__ballot_sync";
    case WarpOp::kReduceMin:
      return "__reduce_min_sync";
    case WarpOp::kReduceMax:
      return "__reduce_max_sync";
    case WarpOp::kReduceAdd:
      return "__reduce_add_sync";
  }
  return "?";
}

struct Thread {
  ThreadView view;
  bool at_block = false;  ///< Waits at __syncthreads.
  WarpOp op = WarpOp::kSync;
  unsigned mask = 0;
  unsigned source = 0;
  std::uint64_t value = 0;
  std::uint64_t result = 0;
  unsigned number = 0;                              ///< In its block.
  std::vector<AsyncCopy> started;                   // Copies that are in no group yet.
  std::deque<std::vector<AsyncCopy>> on_their_way;  // In groups, last copy first.
  std::unique_ptr<Fiber> fiber;
};

/// Lanes of a warp, a bit each: counted one by one at every arrival they would take most of a test.
struct Warp {
  unsigned waiting = 0;  ///< For others of the warp.
  unsigned done = 0;
};

// Memory of one block, of exactly the size that was asked for, so that AddressSanitizer sees its
// end. Filled with NaN before each block.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes)
      : bytes_(bytes),
        data_(static_cast<std::byte*>(::operator new(std::max<std::size_t>(bytes, 1), kAlign))) {}
  ~SharedMemory() { ::operator delete(data_, kAlign); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  void poison() { std::memset(data_, 0xFF, bytes_); }
  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  static constexpr std::align_val_t kAlign{128};
  std::size_t bytes_;
  std::byte* data_;
};

// Stacks outlive a launch: making them costs more than most kernels.
std::vector<std::unique_ptr<FiberStack>>& stacks() {
  thread_local std::vector<std::unique_ptr<FiberStack>> pool;
  return pool;
}

class BlockExecutor {
 public:
  BlockExecutor(const Grid& grid, const std::function<void()>& kernel, const Order& order)
      : grid_(grid),
        kernel_(kernel),
        schedule_(order.schedule),
        random_(order.seed),
        threads_of_block_(std::size_t{grid.block.x} * grid.block.y * grid.block.z),
        blocks_(std::size_t{grid.grid.x} * grid.grid.y * grid.grid.z),
        places_(std::clamp<std::size_t>(order.resident_blocks, 1, blocks_)),
        threads_(places_.size() * threads_of_block_) {
    for (Place& place : places_) place.shared = std::make_unique<SharedMemory>(grid.shared_bytes);
    while (stacks().size() < threads_.size()) stacks().push_back(std::make_unique<FiberStack>());
  }

  void run();

  // Called by the running CUDA thread.
  std::uint64_t warp_collective(WarpOp op, unsigned mask, std::uint64_t value, unsigned source);
  void block_barrier();
  void start_copy(const AsyncCopy& copy) { current_->started.push_back(copy); }
  void commit_copies();
  std::optional<AsyncCopy> next_landing_copy(std::size_t prior);
  void fence();
  void let_others_run();
  // Ends the kernel. `fault_` says why; it is set in a statement of its own, because strings on
  // the stack of an abandoned thread are never freed.
  [[noreturn]] void abandon();
  void set_fault(std::string what) { fault_ = std::move(what); }
  [[noreturn]] void thread_main();
  [[nodiscard]] const ThreadView& view() const { return current_->view; }

 private:
  /// Where a block runs, as a multiprocessor has some: one after the other.
  struct Place {
    std::unique_ptr<SharedMemory> shared;
    bool taken = false;
    std::size_t done = 0;
    std::size_t at_barrier = 0;
    std::vector<Warp> warps;
  };

  void start_block(std::size_t place);
  Place& place_of(const Thread& thread) { return places_[thread.view.place]; }
  [[nodiscard]] const Warp& warp_of(const Thread& thread) const {
    return places_[thread.view.place].warps[thread.number / kWarp];
  }
  Warp& warp_of(const Thread& thread) { return place_of(thread).warps[thread.number / kWarp]; }
  [[nodiscard]] std::span<Thread> threads_at(std::size_t place) {
    return std::span(threads_).subspan(place * threads_of_block_, threads_of_block_);
  }
  void release(Thread& thread);
  /// `ends`: the running thread is not to go on.
  void continue_another(bool ends = false);
  void complete(std::span<Thread> threads, std::uint32_t warp_base, unsigned mask);
  [[nodiscard]] std::string describe(const Thread& thread) const;
  [[nodiscard]] std::string waiting_threads() const;

  const Grid& grid_;
  const std::function<void()>& kernel_;
  Schedule schedule_;
  std::minstd_rand random_;
  std::size_t threads_of_block_;
  std::size_t blocks_;
  std::size_t started_ = 0;  ///< Blocks, also those that have ended.
  std::vector<Place> places_;
  std::vector<Thread> threads_;  ///< [places, threads_of_block_]
  std::deque<Thread*> runnable_;
  Thread* current_ = nullptr;
  std::size_t waits_in_a_row_ = 0;  ///< let_others_run(), and nothing else that hands over.
  Fiber main_;
  std::string fault_;
};

thread_local BlockExecutor* executor = nullptr;
thread_local Observer* observer = nullptr;
thread_local bool atomic_operation = false;

void BlockExecutor::run() {
  executor = this;
  for (;;) {
    for (std::size_t p = 0; p < places_.size(); ++p) {
      if (!places_[p].taken && started_ < blocks_) start_block(p);
    }
    if (std::none_of(places_.begin(), places_.end(), [](const Place& p) { return p.taken; })) break;
    if (runnable_.empty()) {
      set_fault("deadlock: " + waiting_threads());
      break;
    }
    // Until a block ends, which leaves its place, or the kernel is at fault.
    current_ = runnable_.front();
    runnable_.pop_front();
    main_.switch_to(*current_->fiber);
    if (!fault_.empty()) break;
  }
  executor = nullptr;
  if (!fault_.empty()) throw KernelFault(fault_);
}

void BlockExecutor::start_block(std::size_t place) {
  const std::size_t number_of_block =
      schedule_ == Schedule::kBackward ? blocks_ - 1 - started_ : started_;
  ++started_;
  const auto b = static_cast<unsigned>(number_of_block);
  const Index3 block{b % grid_.grid.x, b / grid_.grid.x % grid_.grid.y,
                     b / grid_.grid.x / grid_.grid.y};
  SharedMemory& shared = *places_[place].shared;
  shared.poison();
  places_[place].taken = true;
  places_[place].done = 0;
  places_[place].at_barrier = 0;
  places_[place].warps.assign((threads_of_block_ + kWarp - 1) / kWarp, {});
  const std::span<Thread> threads = threads_at(place);
  for (std::size_t t = 0; t < threads.size(); ++t) {
    Thread& thread = threads[t];
    const auto number = static_cast<unsigned>(t);
    const FiberStack& stack = *stacks()[place * threads_of_block_ + t];
    thread = Thread{};
    thread.number = number;
    thread.view = {.thread = {number % grid_.block.x, number / grid_.block.x % grid_.block.y,
                              number / grid_.block.x / grid_.block.y},
                   .block = block,
                   .block_size = grid_.block,
                   .grid_size = grid_.grid,
                   .lane = number % kWarp,
                   .shared = shared.data(),
                   .number = number,
                   .place = static_cast<unsigned>(place),
                   .stack_begin = static_cast<const std::byte*>(stack.bottom()),
                   .stack_end = static_cast<const std::byte*>(stack.bottom()) + stack.size()};
    thread.fiber = std::make_unique<Fiber>(stack, [] { executor->thread_main(); });
    release(thread);
  }
  if (observer != nullptr) {
    observer->block_starts(static_cast<unsigned>(place), shared.data(), grid_.shared_bytes,
                           static_cast<unsigned>(threads.size()));
  }
}

void BlockExecutor::release(Thread& thread) {
  if (schedule_ == Schedule::kBackward) {
    runnable_.push_front(&thread);
    return;
  }
  runnable_.push_back(&thread);
  if (schedule_ == Schedule::kShuffled) {
    std::swap(runnable_.back(), runnable_[random_() % runnable_.size()]);
  }
}

void BlockExecutor::continue_another(bool ends) {
  Thread& self = *current_;
  const bool block_ends = place_of(self).done == threads_of_block_;
  if (block_ends) place_of(self).taken = false;
  if (block_ends || runnable_.empty()) {
    self.fiber->switch_to(main_, ends);
    return;
  }
  current_ = runnable_.front();
  runnable_.pop_front();
  if (current_ == &self) return;
  self.fiber->switch_to(*current_->fiber, ends);
}

void BlockExecutor::thread_main() {
  Fiber::started();
  kernel_();
  Thread& self = *current_;
  waits_in_a_row_ = 0;
  Warp& warp = warp_of(self);
  const unsigned bit = 1U << self.view.lane;
  warp.done |= bit;
  ++place_of(self).done;
  const auto holds_copies = [](const std::vector<AsyncCopy>& group) { return !group.empty(); };
  if (!self.started.empty() ||
      std::any_of(self.on_their_way.begin(), self.on_their_way.end(), holds_copies)) {
    set_fault(describe(self) + " ended without waiting for a copy that it started");
    abandon();
  }
  const std::span<const Thread> threads = threads_at(self.view.place);
  const unsigned base = self.number - self.view.lane;
  for (unsigned lanes = warp.waiting; lanes != 0; lanes &= lanes - 1) {
    const Thread& other = threads[base + static_cast<unsigned>(std::countr_zero(lanes))];
    if ((other.mask & bit) != 0) {
      set_fault(describe(self) + " has ended while lane " + std::to_string(other.view.lane) +
                " of its warp waits for it at " + name_of(other.op));
      abandon();
    }
  }
  if (place_of(self).at_barrier > 0) {
    set_fault(describe(self) + " ended while others wait at __syncthreads");
    abandon();
  }
  continue_another(true);
  __builtin_unreachable();
}

void BlockExecutor::abandon() {
  current_->fiber->switch_to(main_, true);
  __builtin_unreachable();
}

std::string BlockExecutor::describe(const Thread& thread) const {
  const auto& [x, y, z] = thread.view.block;
  return "block (" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) +
         "), thread " + std::to_string(thread.number);
}

std::string BlockExecutor::waiting_threads() const {
  std::string text;
  int told = 0;
  for (const Thread& thread : threads_) {
    if ((warp_of(thread).done >> thread.view.lane & 1U) != 0 || told == 4) continue;
    text += (told++ == 0 ? "" : "; ") + describe(thread) + " waits at " +
            (thread.at_block ? "__syncthreads"
                             : name_of(thread.op) + (" for lanes " + std::to_string(thread.mask)));
  }
  return text;
}

std::uint64_t BlockExecutor::warp_collective(WarpOp op, unsigned mask, std::uint64_t value,
                                             unsigned source) {
  Thread& self = *current_;
  waits_in_a_row_ = 0;
  const std::span<Thread> threads = threads_at(self.view.place);
  const unsigned base = self.number - self.view.lane;
  Warp& warp = warp_of(self);
  if ((mask >> self.view.lane & 1U) == 0) {
    set_fault(describe(self) + ": " + name_of(op) +
              " with a mask that leaves out the calling lane");
    abandon();
  }
  if (base + std::bit_width(mask) > threads.size()) {
    set_fault(describe(self) + ": " + name_of(op) + " names lanes that do not exist");
    abandon();
  }
  if (op == WarpOp::kShuffle && (source >= kWarp || (mask >> source & 1U) == 0)) {
    set_fault(describe(self) + ": __shfl_sync reads a lane outside its mask");
    abandon();
  }
  if ((mask & warp.done) != 0) {
    set_fault(describe(self) + ": " + name_of(op) + " names lane " +
              std::to_string(std::countr_zero(mask & warp.done)) + ", which has ended");
    abandon();
  }
  self.op = op;
  self.mask = mask;
  self.value = value;
  self.source = source;
  warp.waiting |= 1U << self.view.lane;
  if ((mask & ~warp.waiting) != 0) {
    continue_another();
    return self.result;
  }
  for (unsigned lanes = mask; lanes != 0; lanes &= lanes - 1) {
    const Thread& other = threads[base + static_cast<unsigned>(std::countr_zero(lanes))];
    if (other.op != op || other.mask != mask) {
      set_fault(describe(self) + " is at " + name_of(op) + " while lane " +
                std::to_string(other.view.lane) + " of its warp is at " + name_of(other.op) +
                (other.mask != mask ? " with another mask" : ""));
      abandon();
    }
  }
  warp.waiting &= ~mask;
  complete(threads, base, mask);
  return self.result;
}

void BlockExecutor::complete(std::span<Thread> threads, std::uint32_t warp_base, unsigned mask) {
  Thread& self = *current_;
  if (observer != nullptr && self.op == WarpOp::kSync) {
    const std::size_t lanes = std::min<std::size_t>(kWarp, threads.size() - warp_base);
    if (static_cast<std::size_t>(std::popcount(mask)) == lanes) {
      observer->warp_synchronised(self.view.place, warp_base);
    }
  }
  std::uint64_t all = self.value;
  std::uint64_t ballot = 0;
  for (unsigned lanes = mask; lanes != 0; lanes &= lanes - 1) {
    const Thread& thread = threads[warp_base + static_cast<unsigned>(std::countr_zero(lanes))];
    if (thread.value != 0) ballot |= std::uint64_t{1} << thread.view.lane;
    if (&thread == &self) continue;
    if (self.op == WarpOp::kReduceMin) all = std::min(all, thread.value);
    if (self.op == WarpOp::kReduceMax) all = std::max(all, thread.value);
    if (self.op == WarpOp::kReduceAdd) all = static_cast<std::uint32_t>(all + thread.value);
  }
  for (unsigned lanes = mask; lanes != 0; lanes &= lanes - 1) {
    Thread& thread = threads[warp_base + static_cast<unsigned>(std::countr_zero(lanes))];
    thread.result = self.op == WarpOp::kShuffle  ? threads[warp_base + thread.source].value
                    : self.op == WarpOp::kBallot ? ballot
                                                 : all;
  }
  for (unsigned lanes = mask; lanes != 0; lanes &= lanes - 1) {
    Thread& thread = threads[warp_base + static_cast<unsigned>(std::countr_zero(lanes))];
    if (&thread != &self) release(thread);
  }
  // Else the last lane to arrive would always run ahead of the others.
  if (schedule_ == Schedule::kShuffled && random_() % 2 == 0) {
    release(self);
    continue_another();
  }
}

void BlockExecutor::block_barrier() {
  waits_in_a_row_ = 0;
  Thread& self = *current_;
  Place& place = place_of(self);
  if (place.done > 0) {
    set_fault(describe(self) + " is at __syncthreads, but other threads have ended");
    abandon();
  }
  ++place.at_barrier;
  if (place.at_barrier < threads_of_block_) {
    self.at_block = true;
    continue_another();
    return;
  }
  place.at_barrier = 0;
  if (observer != nullptr) observer->block_synchronised(self.view.place);
  for (Thread& thread : threads_at(self.view.place)) {
    thread.at_block = false;
    if (&thread != &self) release(thread);
  }
}

void BlockExecutor::commit_copies() {
  std::reverse(current_->started.begin(), current_->started.end());
  current_->on_their_way.push_back(std::exchange(current_->started, {}));
}

std::optional<AsyncCopy> BlockExecutor::next_landing_copy(std::size_t prior) {
  auto& groups = current_->on_their_way;
  while (groups.size() > prior && groups.front().empty()) groups.pop_front();
  if (groups.size() <= prior) return std::nullopt;
  const AsyncCopy copy = groups.front().back();
  groups.front().pop_back();
  return copy;
}

void BlockExecutor::fence() {
  if (observer != nullptr) observer->thread_fence(view());
}

// Behind all, whatever the schedule: else two who wait could take turns for ever while a third has
// something to do. Blocks that have not begun do not count: on a device, too, they may have to wait
// for this one. A thread that waits has nothing to do but look again; it may do so some times, in
// case it counts how often it has.
void BlockExecutor::let_others_run() {
  constexpr std::size_t kRounds = 64;
  if (++waits_in_a_row_ > kRounds * (runnable_.size() + 1)) {
    set_fault("deadlock: " + describe(*current_) + " waits, as do all other threads that can run");
    abandon();
  }
  runnable_.push_back(current_);
  continue_another();
}

}  // namespace

const ThreadView& this_thread() { return executor->view(); }

bool in_kernel() { return executor != nullptr; }

AtomicOperation::AtomicOperation() { atomic_operation = true; }
AtomicOperation::~AtomicOperation() { atomic_operation = false; }
bool in_atomic() { return atomic_operation; }

void set_observer(Observer* next) { observer = next; }

std::uint64_t warp_collective(WarpOp op, unsigned mask, std::uint64_t value, unsigned source) {
  return executor->warp_collective(op, mask, value, source);
}

void block_barrier() { executor->block_barrier(); }
void thread_fence() { executor->fence(); }
void let_others_run() { executor->let_others_run(); }

void start_copy(const AsyncCopy& copy) { executor->start_copy(copy); }

void commit_copies() { executor->commit_copies(); }

std::optional<AsyncCopy> next_landing_copy(std::size_t prior) {
  return executor->next_landing_copy(prior);
}

void kernel_fault(const char* what) {
  executor->set_fault(what);
  executor->abandon();
}

void execute(const Grid& grid, const std::function<void()>& kernel, const Order& order) {
  if (observer != nullptr) observer->launch_starts();
  BlockExecutor(grid, kernel, order).run();
}

}  // namespace host_cuda
