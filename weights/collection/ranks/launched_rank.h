#pragma once

namespace neuroshard::ranks {

/// Which of how many ranks this process is.
struct LaunchedRank {
  int rank = 0;
  int size = 1;
};

/// By what the program that started the process has put into its environment: NEUROSHARD_RANK and
/// NEUROSHARD_RANKS, mpirun of Open MPI, mpirun of MPICH or Intel MPI, or srun; the first that
/// there is. One rank if there is none. Throws Error naming the variable if one makes no sense, or
/// if only one of NEUROSHARD_RANK and NEUROSHARD_RANKS is there.
[[nodiscard]] LaunchedRank launched_rank();

}  // namespace neuroshard::ranks
