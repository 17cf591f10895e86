#include "search/state/state_prices.h"

#include <cmath>
#include <limits>
#include <utility>

#include "core/models/final_cost.h"
#include "core/plans/replicas.h"
#include "core/tables/host_shares.h"

namespace neuroshard {
namespace {

// A search is guided where the slowest device is not changed, by this share of the quadratic mean
// of devices' own loads.
constexpr double kShareOfGuide = 0.1;

// A plan that does not fit costs this share more, and so much more for all room that it lacks.
constexpr double kMissingAnything = 0.06;
constexpr double kMissingEverything = 60.0;

// The price of a column is measured about where devices are if all have as many.
constexpr float kLeastColumns = 16.0F;
constexpr float kMostColumns = 2000.0F;

}  // namespace

StatePrices::StatePrices(PlanState& state)
    : state_(state),
      sums_(state.sums),
      terms_(terms_of(state)),
      backend_(state.catalog().backend()),
      device_count_(static_cast<std::size_t>(state.task().devices)),
      width_(state.catalog().embedding_width()),
      models_(backend_.cost_runner(state.task().devices)),
      ids_(backend_, state.task().devices),
      nodes_(backend_.nodes(state.task().devices)),
      devices_(compute_on_devices(state.task())),
      room_bytes_(even_rooms_bytes(state.task())),
      prefetches_(neuroshard::prefetches(state.task())) {
  ranks_.ready_ms.resize(device_count_);
  for (const std::int64_t room : room_bytes_) all_room_bytes_ += static_cast<double>(room);
  if (state.task().host.bytes > 0) {
    HostCurve all;
    ShardCatalog& catalog = state.catalog();
    for (std::size_t t = 0; t < state.task().tables.size(); ++t) {
      const int rows = catalog.all_rows(static_cast<int>(t));
      const int shard = catalog.shard(rows, state.task().tables[t].dim);
      all.add(catalog.hosted(catalog.load(shard), 0));
    }
    double hbm_bytes = 0.0;
    double host_bytes = 0.0;
    for (std::size_t d = 0; d < device_count_; ++d) {
      hbm_room_bytes_.push_back(hbm_room_bytes(state.task(), d));
      hbm_bytes += static_cast<double>(hbm_room_bytes_.back());
      hosts_.push_back(host_of_device(state.task(), d));
      host_bytes += static_cast<double>(hosts_.back().bytes);
    }
    const auto bounded = [](double bytes) {
      constexpr double kMostBytes = 9e18;
      return static_cast<std::int64_t>(std::min(bytes, kMostBytes));
    };
    HostMemory hosts = hosts_.front();
    hosts.bytes = bounded(host_bytes);
    of_all_ = host_point(all, bounded(hbm_bytes), hosts);
  }
  const AlignedVector<float> nothing(width_, 0.0F);
  models_->compute(nothing, {&empty_ms_, 1});
  const auto exchange_ms = [&](float columns) {
    std::vector<float> cost_ms(device_count_);
    models_->backward(std::vector<float>(device_count_, columns), cost_ms);
    return static_cast<double>(*std::ranges::max_element(cost_ms));
  };
  float columns = 0.0F;
  for (const Table& table : state.task().tables) columns += static_cast<float>(table.dim);
  columns = std::clamp(columns / static_cast<float>(device_count_), kLeastColumns, kMostColumns) *
            static_cast<float>(backend_.comm_setting().column_unit);
  const double gradients_ms =
      std::max(0.0, (exchange_ms(2.0F * columns) - exchange_ms(columns)) / columns);
  const ExchangeTypes& types = backend_.comm_setting().exchange;
  ms_of_column_ =
      gradients_ms * (1.0 + types.forward_column_bytes() / types.backward_column_bytes());
  if (ids_.priced()) ms_of_lookup_unit_ = gradients_ms * types.columns_of_lookup() / kUnitsOfLookup;
}

double StatePrices::objective_ms() const {
  return sums_.cost_ms + guide_ms(ranks_.square) + memory_ms(sums_.missing_bytes, sums_.cost_ms);
}

double StatePrices::guide_ms(double square) const {
  return kShareOfGuide * std::sqrt(std::max(0.0, square) / static_cast<double>(device_count_));
}

void StatePrices::price_terms() {
  sums_.terms_ms = 0.0;
  for (const PlanTerm* term : terms_) sums_.terms_ms += term->ms(state_);
}

double StatePrices::memory_ms(std::int64_t missing_bytes, double cost_ms) const {
  if (missing_bytes == 0) return 0.0;
  return memory_times_ * cost_ms *
         (kMissingAnything +
          kMissingEverything * static_cast<double>(missing_bytes) / all_room_bytes_);
}

void StatePrices::price_state() {
  price_replicas();
  price_heads();
  price_exchanges();
}

void StatePrices::price_replicas() {
  PlanSums& s = sums_;
  s.replicas_ms = s.replica_price_ms;
  s.all_reduce_ms = 0.0;
  if (s.replica_count + s.deduplicated_count == 0) return;
  if (backend_.kind_price(ShardingKind::kReplicate) == nullptr) {
    float head_ms = 0.0F;
    models_->compute(s.replicas, {&head_ms, 1});
    s.replicas_ms = head_ms;
  }
  if (s.replica_count == 0) return;
  std::vector<const Table*> tables;  // In the order of their kinds, as the task has them.
  for (std::size_t t = 0; t < s.is_replica.size(); ++t) {
    if (s.is_replica[t] != 0) tables.push_back(&state_.task().tables[t]);
  }
  const CollectiveModel& model = *backend_.all_reduce();
  const int devices = state_.task().devices;
  s.all_reduce_ms = model.cost_ms(devices, s.dense_bytes) +
                    replica_update_ms(model, devices, state_.catalog().gradients().update(tables));
}

void StatePrices::price_heads() {
  PlanSums& s = sums_;
  models_->compute(s.embeddings, s.compute_ms);
  work.heads += device_count_;
  for (std::size_t d = 0; d < device_count_; ++d) {
    s.compute_ms[d] = compute_ms(d, s.compute_ms[d], s.shards[d], s.price_ms[d], hosted(d));
  }
}

void StatePrices::price_idle() {
  PlanSums& s = sums_;
  double most = 0.0;
  for (std::size_t d = 0; d < device_count_; ++d) {
    s.compute_ms[d] = devices_.base_ms.empty() ? 0.0F : devices_.base_ms[d];
    s.backward_ms[d] = 0.0F;
    s.total_ms[d] = s.compute_ms[d] + replicas_ms(d);
    most = std::max(most, s.total_ms[d]);
  }
  s.ids_ms = 0.0;
  set_cost(iteration(most, s.ids_ms, 0.0, 0.0));
}

void StatePrices::set_cost(const Iteration& iteration) {
  sums_.hidden_ms = iteration.hidden_ms;
  sums_.cost_ms = std::max(iteration.ms, std::ranges::max(sums_.prefetched_ms)) + sums_.terms_ms;
}

void StatePrices::price_exchanges() {
  PlanSums& s = sums_;
  estimated_ = 0;
  price_terms();
  s.missing_bytes = 0;
  for (std::size_t d = 0; d < device_count_; ++d) {
    s.missing_bytes += missing_bytes(d, s.bytes[d], hosted(d));
    s.prefetched_ms[d] = prefetched_ms(d, hosted(d));
  }
  if (pools_host_memory(state_.task())) {
    std::vector<std::int64_t> in_hosts;
    for (std::size_t d = 0; d < device_count_; ++d) {
      in_hosts.push_back(host_point_of(d, s.hosted[d]).host_bytes(s.hosted[d]));
    }
    s.in_pools = pooled_bytes(state_.task(), in_hosts);
    s.missing_bytes += pools_missing_bytes(state_.task(), s.in_pools);
  }
  if (nodes_ != nullptr) {
    nodes_->see(s.columns, s.seen);
  } else {
    s.seen = s.columns;
  }
  if (s.slices == 0) {
    price_idle();
    return rank();
  }
  std::vector<float> offsets_ms(device_count_);
  std::vector<float> forward_ms(device_count_);
  exchange_costs(*models_, s.columns, s.compute_ms, offsets_ms, s.backward_ms, forward_ms);
  ++work.comms;
  double most = std::numeric_limits<double>::lowest();
  for (std::size_t d = 0; d < device_count_; ++d) {
    s.total_ms[d] = static_cast<double>(s.compute_ms[d]) + static_cast<double>(s.backward_ms[d]) +
                    forward_ms[d] + replicas_ms(d);
    most = std::max(most, s.total_ms[d]);
  }
  s.ids_ms = ids_.ms(most_lookups_seen(nodes_, s.ids));
  set_cost(
      iteration(most, s.ids_ms, std::ranges::min(forward_ms), std::ranges::min(s.backward_ms)));
  rank();
}

void StatePrices::rank() {
  const PlanSums& s = sums_;
  DeviceRanks r{.ready_ms = std::move(ranks_.ready_ms)};
  double slowest_ms = std::numeric_limits<double>::lowest();
  double second_ms = std::numeric_limits<double>::lowest();
  for (std::size_t d = 0; d < device_count_; ++d) {
    const double ready = r.ready_ms[d] =
        static_cast<double>(s.compute_ms[d]) + static_cast<double>(s.backward_ms[d]);
    r.sum_ready_ms += ready;
    const double own = std::max(
        s.prefetched_ms[d], own_ms(s.compute_ms[d], s.columns[d], static_cast<double>(s.ids[d])));
    r.square += own * own;
    if (ready > r.ready_ms[r.last_ready]) r.last_ready = d;
    if (ready < r.ready_ms[r.first_ready]) r.first_ready = d;
    const double total_ms = std::max(s.total_ms[d], s.prefetched_ms[d]);
    if (total_ms > slowest_ms) {
      second_ms = std::exchange(slowest_ms, total_ms);
      r.second_slowest = std::exchange(r.slowest, d);
    } else if (total_ms > second_ms) {
      second_ms = total_ms;
      r.second_slowest = d;
    }
    if (s.columns[d] > s.columns[r.widest]) r.widest = d;
    if (s.ids[d] > s.ids[r.busiest]) r.busiest = d;
  }
  ranks_ = std::move(r);
}

void StatePrices::apply(const Edit& edit) {
  PlanSums& s = sums_;
  const bool was_idle = s.slices == 0;
  state_.apply(edit);
  if (state_.replicas_changed()) price_replicas();
  // Replicas leave other rows less room.
  if (was_idle || (state_.replicas_changed() && !s.hosted.empty())) {
    price_heads();
    return price_exchanges();
  }
  const std::span<const int> touched = state_.touched();
  rows_.clear();
  for (const int d : touched) {
    const float* const sum = s.embeddings.data() + static_cast<std::size_t>(d) * width_;
    rows_.insert(rows_.end(), sum, sum + width_);
  }
  heads_.resize(touched.size());
  if (!touched.empty()) models_->compute(rows_, heads_);
  work.heads += touched.size();
  for (std::size_t i = 0; i < touched.size(); ++i) {
    const auto d = static_cast<std::size_t>(touched[i]);
    s.compute_ms[d] = compute_ms(d, heads_[i], s.shards[d], s.price_ms[d], hosted(d));
  }
  price_exchanges();
}

void StatePrices::undo(const PlanSums& before) {
  state_.undo(before);
  estimated_ = 0;
  rank();
}

}  // namespace neuroshard
