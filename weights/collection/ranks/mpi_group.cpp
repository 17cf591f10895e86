#include "weights/collection/ranks/mpi_group.h"

#include <mpi.h>

#include <limits>
#include <string>
#include <utility>
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

// `start` starts a call that does not block, of which it is given the request; returns when the
// call is done.
template <typename Start>
void finish(const RankWaits& waits, Start start) {
  MPI_Request request = MPI_REQUEST_NULL;
  start(&request);
  waits.await([&] {
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    return done != 0;
  });
}

}  // namespace

// MPI does not give up waiting for a rank, so that calls do not block, but for those that must.
MpiGroup::MpiGroup(HangPolicy policy) : policy_(std::move(policy)) {
  {
    const CallWatch watch(policy_, "start MPI");
    // MPI's own threads may run, ours do not call it.
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  waits_ = std::make_unique<RankWaits>(rank_, size_, policy_);
  MPI_Comm local = MPI_COMM_NULL;
  {
    const CallWatch watch(policy_, "find their machines");
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &local);
  }
  MPI_Comm_rank(local, &local_rank_);
  const int first = local_rank_ == 0 ? 1 : 0;
  finish(*waits_, [&](MPI_Request* request) {
    MPI_Iallreduce(&first, &nodes_, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, request);
  });
  int first_rank = rank_;  // The lowest rank on this machine.
  finish(*waits_,
         [&](MPI_Request* request) { MPI_Ibcast(&first_rank, 1, MPI_INT, 0, local, request); });
  MPI_Comm_free(&local);
  machines_.resize(static_cast<std::size_t>(size_));
  finish(*waits_, [&](MPI_Request* request) {
    MPI_Iallgather(&first_rank, 1, MPI_INT, machines_.data(), 1, MPI_INT, MPI_COMM_WORLD, request);
  });
}

MpiGroup::~MpiGroup() {
  finish(*waits_, [](MPI_Request* request) { MPI_Ibarrier(MPI_COMM_WORLD, request); });
  const CallWatch watch(policy_, "end MPI");
  MPI_Finalize();
}

void MpiGroup::broadcast(std::span<std::byte> bytes) const {
  finish(*waits_, [&](MPI_Request* request) {
    MPI_Ibcast(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, 0, MPI_COMM_WORLD, request);
  });
}

std::vector<double> MpiGroup::gather(double value) const {
  std::vector<double> all(rank_ == 0 ? static_cast<std::size_t>(size_) : 0);
  finish(*waits_, [&](MPI_Request* request) {
    MPI_Igather(&value, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, 0, MPI_COMM_WORLD, request);
  });
  return all;
}

bool MpiGroup::any(bool value) const {
  const int mine = value ? 1 : 0;
  int all = 0;
  finish(*waits_, [&](MPI_Request* request) {
    MPI_Iallreduce(&mine, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, request);
  });
  return all != 0;
}

void MpiGroup::all_to_all(const void* send, const PeerParts& sent, void* receive,
                          const PeerParts& received, std::size_t element_bytes) const {
  const IntParts to(sent);
  const IntParts from(received);
  MPI_Datatype element = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(static_cast<int>(element_bytes), MPI_BYTE, &element);
  MPI_Type_commit(&element);
  finish(*waits_, [&](MPI_Request* request) {
    MPI_Ialltoallv(send, to.counts.data(), to.first.data(), element, receive, from.counts.data(),
                   from.first.data(), element, MPI_COMM_WORLD, request);
  });
  MPI_Type_free(&element);
}

void MpiGroup::all_reduce(std::span<float> values) const {
  finish(*waits_, [&](MPI_Request* request) {
    MPI_Iallreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_FLOAT, MPI_SUM,
                   MPI_COMM_WORLD, request);
  });
}

Clock::time_point MpiGroup::common_start(std::chrono::nanoseconds ahead) const {
  const std::int64_t mine = nanoseconds_now() + ahead_.count();
  std::int64_t last = 0;
  finish(*waits_, [&](MPI_Request* request) {
    MPI_Iallreduce(&mine, &last, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD, request);
  });
  return Clock::time_point(std::chrono::nanoseconds(last) - ahead_ + ahead);
}

void MpiGroup::compare_clocks() {
  ahead_ = clock_behind_rank_0(
      rank_, machines_, [&](int other, int rounds) { return compare_clock_with(other, rounds); });
}

ClockDifference MpiGroup::compare_clock_with(int other, int rounds) const {
  constexpr int kTag = 0;
  const auto send = [&](std::int64_t shown, int to) {
    finish(*waits_, [&](MPI_Request* request) {
      MPI_Isend(&shown, 1, MPI_INT64_T, to, kTag, MPI_COMM_WORLD, request);
    });
  };
  const auto receive = [&](int from) {
    std::int64_t shown = 0;
    finish(*waits_, [&](MPI_Request* request) {
      MPI_Irecv(&shown, 1, MPI_INT64_T, from, kTag, MPI_COMM_WORLD, request);
    });
    return shown;
  };
  if (rank_ == other) {
    return clock_difference(rounds, [&] {
      send(0, 0);
      return receive(0);
    });
  }
  for (int round = 0; rank_ == 0 && round < rounds; ++round) {
    (void)receive(other);
    send(nanoseconds_now(), other);
  }
  return {};
}

}  // namespace neuroshard::ranks
