#include "weights/collection/ranks/mpi_group.h"

#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "neuroshard/error.h"

namespace neuroshard::ranks {
namespace {

// MPI counts in ints.
struct IntParts {
  std::vector<int> counts;
  std::vector<int> first;

  explicit IntParts(const PeerParts& parts)
      : counts(parts.counts.begin(), parts.counts.end()),
        first(parts.first.begin(), parts.first.end()) {
    if (parts.total() > std::numeric_limits<int>::max()) {
      throw Error("an all-to-all of " + std::to_string(parts.total()) +
                  " elements; MPI takes fewer than 2^31; give a smaller --batch");
    }
  }
};

}  // namespace

MpiGroup::MpiGroup() {
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
  machines_.resize(static_cast<std::size_t>(size_));
  MPI_Allgather(&first_rank, 1, MPI_INT, machines_.data(), 1, MPI_INT, MPI_COMM_WORLD);
}

MpiGroup::~MpiGroup() { MPI_Finalize(); }

void MpiGroup::broadcast(std::span<std::byte> bytes) const {
  MPI_Bcast(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, 0, MPI_COMM_WORLD);
}

std::vector<double> MpiGroup::gather(double value) const {
  std::vector<double> all(rank_ == 0 ? static_cast<std::size_t>(size_) : 0);
  MPI_Gather(&value, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return all;
}

bool MpiGroup::any(bool value) const {
  const int mine = value ? 1 : 0;
  int all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return all != 0;
}

void MpiGroup::all_to_all(const void* send, const PeerParts& sent, void* receive,
                          const PeerParts& received, std::size_t element_bytes) const {
  const IntParts to(sent);
  const IntParts from(received);
  MPI_Datatype element = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(static_cast<int>(element_bytes), MPI_BYTE, &element);
  MPI_Type_commit(&element);
  MPI_Alltoallv(send, to.counts.data(), to.first.data(), element, receive, from.counts.data(),
                from.first.data(), element, MPI_COMM_WORLD);
  MPI_Type_free(&element);
}

void MpiGroup::add_up(std::span<float> values) const {
  constexpr std::size_t kMost = std::size_t{1} << 30;
  for (std::size_t first = 0; first < values.size(); first += kMost) {
    const std::size_t count = std::min(kMost, values.size() - first);
    MPI_Allreduce(MPI_IN_PLACE, values.data() + first, static_cast<int>(count), MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
  }
}

Clock::time_point MpiGroup::common_start(std::chrono::nanoseconds ahead) const {
  const std::int64_t mine = nanoseconds_now() + ahead_.count();
  std::int64_t last = 0;
  MPI_Allreduce(&mine, &last, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  return Clock::time_point(std::chrono::nanoseconds(last) - ahead_ + ahead);
}

void MpiGroup::compare_clocks() {
  ahead_ = clock_behind_rank_0(
      rank_, machines_, [&](int other, int rounds) { return compare_clock_with(other, rounds); });
}

ClockDifference MpiGroup::compare_clock_with(int other, int rounds) const {
  constexpr int kTag = 0;
  if (rank_ == other) {
    return clock_difference(rounds, [] {
      std::int64_t theirs = 0;
      MPI_Send(&theirs, 1, MPI_INT64_T, 0, kTag, MPI_COMM_WORLD);
      MPI_Recv(&theirs, 1, MPI_INT64_T, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      return theirs;
    });
  }
  for (int round = 0; rank_ == 0 && round < rounds; ++round) {
    std::int64_t shown = 0;
    MPI_Recv(&shown, 1, MPI_INT64_T, other, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    shown = nanoseconds_now();
    MPI_Send(&shown, 1, MPI_INT64_T, other, kTag, MPI_COMM_WORLD);
  }
  return {};
}

void MpiGroup::abort(int exit_code) {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::abort();
}

}  // namespace neuroshard::ranks
