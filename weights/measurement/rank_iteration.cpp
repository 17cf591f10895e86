#include "weights/measurement/rank_iteration.h"

#include <algorithm>
#include <numeric>

#include "weights/measurement/initial_weights.h"

namespace neuroshard::ranks {
namespace {

TableSlice whole_slice(const Task& task, int table) {
  const Table& whole = task.tables[static_cast<std::size_t>(table)];
  return {table, 0, whole.dim, 0, whole.rows};
}

std::int64_t weights_of(const TableSlice& slice) { return slice.rows * slice.dim; }

bool is_dense(const Task& task, int replica) {
  const Table& table = task.tables[static_cast<std::size_t>(replica)];
  return table.replica_gradients == ReplicaGradients::kDense;
}

std::int64_t replica_floats(const Task& task, const Plan& plan) {
  std::int64_t sum = 0;
  for (const int table : plan.replicas) sum += weights_of(whole_slice(task, table));
  return sum;
}

std::int64_t dense_replica_floats(const Task& task, const Plan& plan) {
  std::int64_t sum = 0;
  for (const int table : plan.replicas) {
    if (is_dense(task, table)) sum += weights_of(whole_slice(task, table));
  }
  return sum;
}

}  // namespace

std::int64_t weights_needed(const Task& task, const Plan& plan, std::size_t device) {
  std::int64_t sum = replica_floats(task, plan) + dense_replica_floats(task, plan);
  for (const int slice : plan.shards[device]) {
    sum += weights_of(plan.slices[static_cast<std::size_t>(slice)]);
  }
  return sum;
}

AlignedVector<float> device_weights(ThreadTeam& team, const PlanRun& run, std::size_t device) {
  AlignedVector<float> weights(
      static_cast<std::size_t>(weights_needed(run.task, run.plan, device)));
  std::int64_t first = 0;
  const auto fill = [&](const TableSlice& slice) {
    fill_with_initial_weights(team, slice, weights.data() + first);
    first += weights_of(slice);
  };
  for (const int slice : run.plan.shards[device]) {
    fill(run.plan.slices[static_cast<std::size_t>(slice)]);
  }
  for (const int table : run.plan.replicas) fill(whole_slice(run.task, table));
  return weights;
}

RankIteration::RankIteration(const RankGroup& group, Exchange& exchange, ThreadTeam& team,
                             const PlanRun& run, AlignedVector<float> weights)
    : group_(group),
      exchange_(exchange),
      team_(team),
      run_(run),
      samples_(run.streams.batch() / group.size()),
      operator_(team, pooling_kernels()),
      weights_(std::move(weights)),
      ids_(group, run.plan, run.streams, samples_) {
  lay_out_slices();
  lay_out_replicas();
  lay_out_received();
  PhaseTimes unused;
  (void)ids_.exchange_ms(Clock::now());
  ids_.arrange();
  forward_slices(unused);
  forward_replicas(unused);
  add_partial_sums();
}

void RankIteration::lay_out_slices() {
  slices_.batch = samples_ * group_.size();
  const std::vector<int>& shard = run_.plan.shards[static_cast<std::size_t>(group_.rank())];
  float* weights = weights_.data();
  for (std::size_t i = 0; i < shard.size(); ++i) {
    const TableSlice& slice = run_.plan.slices[static_cast<std::size_t>(shard[i])];
    slices_.tables.push_back({weights, slice.rows, slice.dim, ids_.indices(i), ids_.offsets(i)});
    weights += weights_of(slice);
  }
}

void RankIteration::lay_out_replicas() {
  replicas_.batch = replica_gradients_.batch = samples_;
  const auto dense = static_cast<std::size_t>(dense_replica_floats(run_.task, run_.plan));
  gradients_ = std::span(weights_).last(dense);
  const auto all = static_cast<std::size_t>(replica_floats(run_.task, run_.plan));
  float* weights = weights_.data() + (weights_.size() - dense - all);
  float* gradients = gradients_.data();
  std::vector<OperatorTable> touched;
  for (const int table : run_.plan.replicas) {
    const TableSlice whole = whole_slice(run_.task, table);
    replica_streams_.push_back(run_.streams.stream(static_cast<std::size_t>(table)));
    const AccessStream& stream = *replica_streams_.back();
    const auto own = stream.offsets.begin() + group_.rank() * samples_;
    std::vector<std::int64_t>& offsets = replica_offsets_.emplace_back(own, own + samples_ + 1);
    const std::int64_t skipped = offsets.front();
    for (std::int64_t& offset : offsets) offset -= skipped;
    OperatorTable replica{weights, whole.rows, whole.dim, stream.indices.data() + skipped,
                          offsets.data()};
    replicas_.tables.push_back(replica);
    weights += weights_of(whole);
    if (is_dense(run_.task, table)) {
      dense_weights_.push_back({replica.weights, static_cast<std::size_t>(weights_of(whole))});
      replica.weights = gradients;
      gradients += weights_of(whole);
      replica_gradients_.tables.push_back(replica);
    } else {
      touched.push_back(replica);
      replica_gradients_.tables.push_back({});  // Below.
    }
  }
  if (!touched.empty()) {
    touched_.emplace(group_, touched, samples_);
    std::size_t next = 0;
    for (OperatorTable& table : replica_gradients_.tables) {
      if (table.weights == nullptr) table = touched_->gradients()[next++];
    }
  }
  replica_output_.resize(static_cast<std::size_t>(samples_ * replicas_.dim_sum()));
}

void RankIteration::lay_out_received() {
  std::vector<std::int64_t> dim_sums;
  std::int64_t columns = 0;  // Of devices before.
  for (const std::vector<int>& shard : run_.plan.shards) {
    std::int64_t sum = 0;
    for (const int index : shard) {
      const TableSlice& slice = run_.plan.slices[static_cast<std::size_t>(index)];
      received_.push_back({slice, columns * samples_ + sum, 0});
      sum += slice.dim;
      if (is_row_block(run_.task, slice)) row_cut_.push_back(slice.table);
    }
    for (std::size_t i = received_.size() - shard.size(); i < received_.size(); ++i) {
      received_[i].stride = sum;
    }
    dim_sums.push_back(sum);
    columns += sum;
  }
  std::ranges::sort(row_cut_);
  row_cut_.erase(std::unique(row_cut_.begin(), row_cut_.end()), row_cut_.end());
  exchange_.set_sample(dim_sums, slices_.batch);
}

PhaseTimes RankIteration::run() {
  PhaseTimes times;
  const bool any_slices = !run_.plan.slices.empty();
  if (any_slices) {
    times[Phase::kIds] = ids_.exchange_ms(group_.common_start(kAgreementTime));
    const Clock::time_point start = Clock::now();
    ids_.arrange();
    times[Phase::kUnpriced] = ms_since(start);
    times[Phase::kBackward] = exchange_.backward_ms(group_.common_start(kAgreementTime));
  }
  const Clock::time_point start = Clock::now();
  operator_.backward(slices_, exchange_.own_columns(), run_.learning_rate);
  if (!replicas_.tables.empty()) {
    operator_.backward(replica_gradients_, replica_output_.data(), -1.0F);
  }
  times[Phase::kBackwardCompute] = ms_since(start);
  forward_slices(times);
  all_reduce(times);
  forward_replicas(times);
  const Clock::time_point sums = Clock::now();
  add_partial_sums();
  times[Phase::kUnpriced] += ms_since(sums);
  return times;
}

void RankIteration::forward_slices(PhaseTimes& times) {
  if (run_.plan.slices.empty()) return;
  const Clock::time_point start = Clock::now();
  operator_.forward(slices_, exchange_.own_columns());
  const Clock::time_point end = Clock::now();
  times[Phase::kForwardCompute] += std::chrono::duration<double, std::milli>(end - start).count();
  times[Phase::kForward] = exchange_.forward_ms(end);
}

void RankIteration::forward_replicas(PhaseTimes& times) {
  if (replicas_.tables.empty()) return;
  const Clock::time_point start = Clock::now();
  operator_.forward(replicas_, replica_output_.data());
  times[Phase::kForwardCompute] += ms_since(start);
}

void RankIteration::all_reduce(PhaseTimes& times) {
  if (replicas_.tables.empty()) return;
  const Clock::time_point start = group_.common_start(kAgreementTime);
  wait_until(start);
  if (!gradients_.empty()) update_dense_replicas();
  if (touched_) touched_->update(team_, run_.learning_rate);
  times[Phase::kAllReduce] = ms_since(start);
}

void RankIteration::update_dense_replicas() {
  constexpr std::size_t kFloatsPerTask = std::size_t{1} << 16;
  group_.add_up(gradients_);
  float* gradients = gradients_.data();
  for (const std::span<float> weights : dense_weights_) {
    const std::size_t tasks = (weights.size() + kFloatsPerTask - 1) / kFloatsPerTask;
    team_.run(tasks, [&](std::size_t task, std::size_t) {
      const std::size_t last = std::min(weights.size(), (task + 1) * kFloatsPerTask);
      for (std::size_t i = task * kFloatsPerTask; i < last; ++i) {
        weights[i] -= run_.learning_rate * gradients[i];
        gradients[i] = 0.0F;
      }
    });
    gradients += weights.size();
  }
}

// Afterwards each row block of a table has the sums of all, which are the gradients to send back.
void RankIteration::add_partial_sums() {
  if (row_cut_.empty()) return;
  constexpr std::int64_t kSamplesPerTask = 256;
  float* const received = exchange_.own_samples();
  const std::int64_t tasks = (samples_ + kSamplesPerTask - 1) / kSamplesPerTask;
  team_.run(static_cast<std::size_t>(tasks), [&](std::size_t task, std::size_t) {
    const std::int64_t first = static_cast<std::int64_t>(task) * kSamplesPerTask;
    const std::int64_t last = std::min(first + kSamplesPerTask, samples_);
    std::vector<float> sums;
    for (const int table : row_cut_) {
      const int dim = run_.task.tables[static_cast<std::size_t>(table)].dim;
      const auto each = [&](std::int64_t s, auto use) {
        for (const ReceivedSlice& block : received_) {
          if (block.slice.table != table) continue;
          float* const columns = received + block.first + s * block.stride;
          for (int c = 0; c < block.slice.dim; ++c) {
            use(columns[c], sums[static_cast<std::size_t>(block.slice.first_column) +
                                 static_cast<std::size_t>(c)]);
          }
        }
      };
      for (std::int64_t s = first; s < last; ++s) {
        sums.assign(static_cast<std::size_t>(dim), 0.0F);
        each(s, [](float part, float& sum) { sum += part; });
        each(s, [](float& part, float sum) { part = sum; });
      }
    }
  });
}

std::vector<float> RankIteration::pooled(int table) {
  const int dim = run_.task.tables[static_cast<std::size_t>(table)].dim;
  std::vector<float> values(static_cast<std::size_t>(samples_ * dim));
  const auto copy = [&](const float* from, std::int64_t stride, int first_column, int columns) {
    for (std::int64_t s = 0; s < samples_; ++s) {
      std::copy_n(from + s * stride, columns, values.begin() + s * dim + first_column);
    }
  };
  for (const ReceivedSlice& part : received_) {
    if (part.slice.table != table) continue;
    copy(exchange_.own_samples() + part.first, part.stride, part.slice.first_column,
         part.slice.dim);
  }
  std::int64_t column = 0;
  for (const int replica : run_.plan.replicas) {
    const int columns = run_.task.tables[static_cast<std::size_t>(replica)].dim;
    if (replica == table) copy(replica_output_.data() + column, replicas_.dim_sum(), 0, columns);
    column += columns;
  }
  return values;
}

const float* RankIteration::slice_weights(std::size_t slice) const {
  return slices_.tables[slice].weights;
}

const float* RankIteration::replica_weights(std::size_t replica) const {
  return replicas_.tables[replica].weights;
}

}  // namespace neuroshard::ranks
