#include "weights/collection/ranks/rank_group.h"

#include <mpi.h>

#include <cstdlib>
#include <string>

#include "neuroshard/error.h"

namespace neuroshard::ranks {
namespace {

std::int64_t nanoseconds_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
      .count();
}

}  // namespace

RankGroup::RankGroup() {
  // MPI's own threads may run, ours do not call it.
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Comm local = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &local);
  MPI_Comm_rank(local, &local_rank_);
  const int first = local_rank_ == 0 ? 1 : 0;
  MPI_Allreduce(&first, &nodes_, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  int first_rank = rank_;  // The lowest rank on this machine.
  MPI_Bcast(&first_rank, 1, MPI_INT, 0, local);
  MPI_Comm_free(&local);
  const char far = first_rank != 0 ? 1 : 0;
  far_.resize(static_cast<std::size_t>(size_));
  MPI_Allgather(&far, 1, MPI_CHAR, far_.data(), 1, MPI_CHAR, MPI_COMM_WORLD);
}

RankGroup::~RankGroup() { MPI_Finalize(); }

void RankGroup::broadcast(std::span<std::byte> bytes) const {
  MPI_Bcast(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, 0, MPI_COMM_WORLD);
}

std::vector<double> RankGroup::gather(double value) const {
  std::vector<double> all(rank_ == 0 ? static_cast<std::size_t>(size_) : 0);
  MPI_Gather(&value, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return all;
}

bool RankGroup::any(bool value) const {
  const int mine = value ? 1 : 0;
  int all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return all != 0;
}

Clock::time_point RankGroup::common_start(std::chrono::nanoseconds ahead) const {
  const std::int64_t mine = nanoseconds_now() + ahead_.count();
  std::int64_t last = 0;
  MPI_Allreduce(&mine, &last, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  return Clock::time_point(std::chrono::nanoseconds(last) - ahead_ + ahead);
}

void RankGroup::compare_clocks() {
  constexpr int kRounds = 10;
  for (int other = 1; other < size_; ++other) {
    if (far_[static_cast<std::size_t>(other)] == 0 || (rank_ != 0 && rank_ != other)) continue;
    const ClockDifference difference = compare_clock_with(other, kRounds);
    if (rank_ == other) ahead_ = difference.ahead;
  }
}

RankGroup::ClockDifference RankGroup::compare_clock_with(int other, int rounds) const {
  constexpr int kTag = 0;
  ClockDifference best{{}, std::chrono::nanoseconds::max()};
  for (int round = 0; round < rounds; ++round) {
    std::int64_t theirs = 0;
    if (rank_ == 0) {
      MPI_Recv(&theirs, 1, MPI_INT64_T, other, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      theirs = nanoseconds_now();
      MPI_Send(&theirs, 1, MPI_INT64_T, other, kTag, MPI_COMM_WORLD);
    } else if (rank_ == other) {
      const std::int64_t before = nanoseconds_now();
      MPI_Send(&before, 1, MPI_INT64_T, 0, kTag, MPI_COMM_WORLD);
      MPI_Recv(&theirs, 1, MPI_INT64_T, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      const std::int64_t after = nanoseconds_now();
      if (after - before >= best.round_trip.count()) continue;
      best.round_trip = std::chrono::nanoseconds(after - before);
      best.ahead = std::chrono::nanoseconds(theirs - (before + (after - before) / 2));
    }
  }
  return best;
}

void RankGroup::abort(int exit_code) {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::abort();
}

}  // namespace neuroshard::ranks
