#pragma once

#include "core/base/thread_team.h"
#include "neuroshard/aligned_vector.h"

namespace neuroshard {

/// Leaves nothing of what went before in the caches of this machine's processor.
class CacheFlush {
 public:
  /// `team` is borrowed. Throws std::bad_alloc.
  explicit CacheFlush(ThreadTeam& team);

  void operator()();

 private:
  ThreadTeam& team_;
  AlignedVector<unsigned char> bytes_;
  unsigned char flushes_ = 0;
};

}  // namespace neuroshard
