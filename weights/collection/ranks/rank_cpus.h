#pragma once

#include <vector>

namespace neuroshard::ranks {

/// Part of `cpus` that rank `rank` of `size` gets, in an order in which CPUs of one core are
/// neighbours. Parts are equal: of whole cores while there are as many, else of CPUs. The result is
/// empty if there are fewer CPUs than ranks. `cores` has the core of each.
[[nodiscard]] std::vector<int> cpus_of_rank(const std::vector<int>& cpus,
                                            const std::vector<int>& cores, int rank, int size);

/// While it lives, the calling thread, and those that it starts, run on this rank's part of the
/// CPUs that the thread may use, as are other ranks on theirs. Without effect where there are fewer
/// CPUs than ranks, or the system refuses.
class RankCpus {
 public:
  RankCpus(int rank, int size);
  ~RankCpus();
  RankCpus(const RankCpus&) = delete;
  RankCpus& operator=(const RankCpus&) = delete;

 private:
  std::vector<int> before_;  ///< Empty: nothing was changed.
};

}  // namespace neuroshard::ranks
