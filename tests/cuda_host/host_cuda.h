#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

/// Executes CUDA kernels on the CPU, for tests: one fiber per CUDA thread, and as many blocks at a
/// time as DeviceSettings says. Faults of a kernel (a lane missing from a shuffle, a barrier that
/// not all threads reach, memory that was never written) show up here as a fault or as NaN; under
/// AddressSanitizer an access out of bounds stops the test. Work on a stream runs when the stream
/// is synchronised, not before, so that a missing synchronisation shows too.
///
/// This header steers the device from a test. Kernels and the backend see only cuda_runtime.h.
namespace host_cuda {

/// A kernel broke the rules of CUDA. Thrown by the call that waits for the kernel.
class KernelFault : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// In which order threads get to run between two points where they wait for each other. Results
/// must not depend on it; a missing barrier usually does.
enum class Schedule { kForward, kBackward, kShuffled };

struct DeviceSettings {
  int devices = 1;
  int compute_capability = 90;
  int multiprocessors = 4;
  std::size_t shared_bytes_per_block = 232448;
  std::size_t memory_bytes = std::size_t{1} << 30;  ///< cudaMalloc fails beyond it.
  int driver_version = 13000;
  Schedule schedule = Schedule::kForward;
  std::uint64_t seed = 1;  ///< Seed of kShuffled.
  /// Blocks of a launch that run at once, in turns; the others begin as these end.
  std::size_t resident_blocks = 1;
};

/// Forgets errors and injected failures. Call it only when no memory or stream is in use.
void reset(const DeviceSettings& settings = {});
void set_resident_blocks(std::size_t blocks);

/// The launch after `launches` more launches on `device` fails like a kernel that reads wild
/// memory: when it is waited for, and for good. Negative: never.
void fail_after(int launches, int device = 0);
/// Whether devices work. kRecorded: they do, and what host memory has of it after each wait is
/// kept, for the last time that this was chosen. kPlayed: they do nothing, and waits bring what was
/// kept, one after the other and then from the first again; so callers must do what they did then,
/// with buffers that have grown by then, and see that the results are the same. Then the host can
/// be timed without the kernels.
enum class Work { kDone, kRecorded, kPlayed };
void set_work(Work work);
/// Every later cudaMalloc fails.
void fail_allocations(bool fail);
/// Every later cudaHostGetDevicePointer fails.
void fail_mappings(bool fail);

struct Usage {
  std::size_t device_allocations = 0;  ///< Live ones.
  std::size_t host_allocations = 0;
  std::size_t streams = 0;
  std::uint64_t launches = 0;           ///< Since reset().
  std::uint64_t synchronisations = 0;   ///< Since reset().
  std::uint64_t copies = 0;             ///< Since reset().
  double devices_cpu_ms = 0.0;          ///< CPU time of what devices do, since reset().
  std::uint64_t total_allocations = 0;  ///< Counts device and pinned memory, since reset().
  std::vector<int> devices_with_context;
};
[[nodiscard]] Usage usage();

/// Places in the sources of kernels: "cuda/placement/place_block.cuh:65". From now on kernels run
/// as if the barrier, fence or wait for copies there were not, or as if the atomic operation were a
/// plain one.
void leave_out(const std::string& place);
/// Places of all that could be left out that kernels have come by since the last call, in order.
/// The first call begins to note them.
[[nodiscard]] std::vector<std::string> take_reached();

}  // namespace host_cuda
