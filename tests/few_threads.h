#pragma once

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>

namespace neuroshard::testing {

/// Limits this process, for good, to two more threads: stacks of 1 GiB, of which none is touched,
/// and address space for two of them and 512 MiB more. False if the system refuses.
inline bool leave_room_for_two_threads() {
  constexpr std::size_t kStackBytes = std::size_t{1} << 30;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0 ||
      pthread_attr_setstacksize(&attributes, kStackBytes) != 0 ||
      pthread_setattr_default_np(&attributes) != 0) {
    return false;
  }
  std::ifstream statm("/proc/self/statm");
  rlim_t pages = 0;
  statm >> pages;
  const rlim_t bytes =
      pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + 2 * kStackBytes + kStackBytes / 2;
  const rlimit limit{bytes, bytes};
  return setrlimit(RLIMIT_AS, &limit) == 0;
}

}  // namespace neuroshard::testing
