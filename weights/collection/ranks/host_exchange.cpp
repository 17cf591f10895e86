#include "weights/collection/ranks/host_exchange.h"

#include <mpi.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "neuroshard/error.h"

namespace neuroshard::ranks {
namespace {

// Counts and displacements, in columns of one rank's samples: MPI counts in ints, and floats may be
// more than these hold.
struct Part {
  std::vector<int> counts;
  std::vector<int> first;
};

Part part_of(const std::vector<std::int64_t>& columns) {
  Part part;
  std::int64_t sum = 0;
  for (const std::int64_t count : columns) {
    part.counts.push_back(static_cast<int>(count));
    part.first.push_back(static_cast<int>(sum));
    sum += count;
  }
  if (sum > std::numeric_limits<int>::max()) {
    throw Error("a sample has " + std::to_string(sum) + " columns; MPI takes fewer than 2^31");
  }
  return part;
}

class HostExchange : public Exchange {
 public:
  explicit HostExchange(const RankGroup& group) : group_(group) {}
  ~HostExchange() override { free_type(); }
  HostExchange(const HostExchange&) = delete;
  HostExchange& operator=(const HostExchange&) = delete;

  void set_sample(std::span<const std::int64_t> dim_sums, std::int64_t batch) override {
    const auto ranks = static_cast<std::size_t>(group_.size());
    const std::int64_t samples = batch / group_.size();
    const std::int64_t mine = dim_sums[static_cast<std::size_t>(group_.rank())];
    own_ = part_of(std::vector<std::int64_t>(ranks, mine));
    all_ = part_of({dim_sums.begin(), dim_sums.end()});
    grow(own_columns_, static_cast<std::size_t>(mine * group_.size() * samples));
    grow(own_samples_,
         static_cast<std::size_t>(
             std::accumulate(dim_sums.begin(), dim_sums.end(), std::int64_t{0}) * samples));
    free_type();
    MPI_Type_contiguous(static_cast<int>(samples), MPI_FLOAT, &column_);
    MPI_Type_commit(&column_);
  }

  double forward_ms(Clock::time_point start) override {
    return timed_ms(start, [this] {
      MPI_Alltoallv(own_columns_.data(), own_.counts.data(), own_.first.data(), column_,
                    own_samples_.data(), all_.counts.data(), all_.first.data(), column_,
                    MPI_COMM_WORLD);
    });
  }

  double backward_ms(Clock::time_point start) override {
    return timed_ms(start, [this] {
      MPI_Alltoallv(own_samples_.data(), all_.counts.data(), all_.first.data(), column_,
                    own_columns_.data(), own_.counts.data(), own_.first.data(), column_,
                    MPI_COMM_WORLD);
    });
  }

 private:
  template <typename Work>
  static double timed_ms(Clock::time_point start, Work work) {
    wait_until(start);
    work();
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  }

  static void grow(std::vector<float>& values, std::size_t count) {
    if (values.size() < count) values.assign(count, 1.0F);
  }

  void free_type() {
    if (column_ != MPI_DATATYPE_NULL) MPI_Type_free(&column_);
  }

  const RankGroup& group_;
  Part own_;                                 // What this rank holds of each peer's samples.
  Part all_;                                 // What each peer holds of this rank's samples.
  MPI_Datatype column_ = MPI_DATATYPE_NULL;  // One column, over one rank's samples.
  std::vector<float> own_columns_;
  std::vector<float> own_samples_;
};

}  // namespace

std::unique_ptr<Exchange> make_host_exchange(const RankGroup& group) {
  return std::make_unique<HostExchange>(group);
}

}  // namespace neuroshard::ranks
