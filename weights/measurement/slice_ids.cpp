#include "weights/measurement/slice_ids.h"

#include <algorithm>
#include <memory>
#include <numeric>

namespace neuroshard::ranks {

SliceIds::SliceIds(const RankGroup& group, const Plan& plan, StreamStore& streams,
                   std::int64_t samples)
    : group_(group) {
  const auto ranks = static_cast<std::size_t>(group.size());
  const std::size_t slices = plan.shards[static_cast<std::size_t>(group.rank())].size();
  const std::vector<std::int64_t> lengths = deal(plan, streams, samples);
  const auto count = static_cast<std::size_t>(samples);

  std::vector<std::int64_t> lengths_to;
  for (const std::vector<int>& shard : plan.shards) {
    lengths_to.push_back(static_cast<std::int64_t>(shard.size()) * samples);
  }
  const std::vector<std::int64_t> lengths_from(ranks, static_cast<std::int64_t>(slices) * samples);
  std::vector<std::int64_t> all(ranks * slices * count);  // [rank, slice, sample]
  group.all_to_all(lengths.data(), PeerParts::packed(lengths_to), all.data(),
                   PeerParts::packed(lengths_from), sizeof(std::int64_t));

  std::vector<std::int64_t> of_run(ranks * slices);  // [rank, slice]
  std::vector<std::int64_t> of_rank(ranks, 0);
  for (std::size_t run = 0; run < of_run.size(); ++run) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(run * count);
    of_run[run] =
        std::accumulate(first, first + static_cast<std::ptrdiff_t>(count), std::int64_t{0});
    of_rank[run / slices] += of_run[run];
  }
  received_parts_ = PeerParts::packed(of_rank);
  received_.resize(static_cast<std::size_t>(received_parts_.total()));
  arranged_.resize(received_.size());

  std::vector<std::int64_t> from = received_parts_.first;
  std::int64_t to = 0;
  for (std::size_t slice = 0; slice < slices; ++slice) {
    first_.push_back(to);
    std::vector<std::int64_t> offsets{0};
    offsets.reserve(ranks * count + 1);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const std::size_t run = rank * slices + slice;
      runs_.push_back({from[rank], to, of_run[run]});
      from[rank] += of_run[run];
      to += of_run[run];
      for (std::size_t s = 0; s < count; ++s) {
        offsets.push_back(offsets.back() + all[run * count + s]);
      }
    }
    offsets_.push_back(std::move(offsets));
  }
}

std::vector<std::int64_t> SliceIds::deal(const Plan& plan, StreamStore& streams,
                                         std::int64_t samples) {
  std::vector<std::int64_t> lengths;  // [device, slice, sample]
  std::vector<std::int64_t> counts;
  const std::int64_t first = group_.rank() * samples;
  for (const std::vector<int>& shard : plan.shards) {
    const std::size_t before = sent_.size();
    for (const int index : shard) {
      const TableSlice& slice = plan.slices[static_cast<std::size_t>(index)];
      const auto stream = streams.stream(static_cast<std::size_t>(slice.table));
      for (std::int64_t s = first; s < first + samples; ++s) {
        const auto at = static_cast<std::size_t>(s);
        const std::size_t so_far = sent_.size();
        for (std::int64_t i = stream->offsets[at]; i < stream->offsets[at + 1]; ++i) {
          const std::int64_t row = stream->indices[static_cast<std::size_t>(i)] - slice.first_row;
          if (row >= 0 && row < slice.rows) sent_.push_back(row);
        }
        lengths.push_back(static_cast<std::int64_t>(sent_.size() - so_far));
      }
    }
    counts.push_back(static_cast<std::int64_t>(sent_.size() - before));
  }
  sent_parts_ = PeerParts::packed(counts);
  return lengths;
}

double SliceIds::exchange_ms(Clock::time_point start) {
  wait_until(start);
  group_.all_to_all(sent_.data(), sent_parts_, received_.data(), received_parts_,
                    sizeof(std::int64_t));
  return ms_since(start);
}

void SliceIds::arrange() {
  for (const Run& run : runs_) {
    std::copy_n(received_.begin() + run.from, run.count, arranged_.begin() + run.to);
  }
}

const std::int64_t* SliceIds::indices(std::size_t slice) const {
  return arranged_.data() + first_[slice];
}

const std::int64_t* SliceIds::offsets(std::size_t slice) const { return offsets_[slice].data(); }

}  // namespace neuroshard::ranks
