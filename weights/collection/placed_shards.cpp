#include "weights/collection/placed_shards.h"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <utility>

#include "core/base/random.h"
#include "neuroshard/aligned_vector.h"
#include "neuroshard/cost_runner.h"
#include "neuroshard/table_features.h"
#include "weights/collection/sample_draws.h"

namespace neuroshard {
namespace {

constexpr double kFewestTables = 3.0;
constexpr double kMostTables = 100.0;
constexpr int kDeviceOctaves = 4;  // 2 to 16 devices.
constexpr int kMostDevices = 1 << kDeviceOctaves;
constexpr std::size_t kMostHalvings = 3;
constexpr std::size_t kMovesOfSlice = 30;
constexpr double kExchanges = 0.4;  // Share of moves that bring another slice back,
constexpr double kCuts = 0.1;       // and that leave half of the slice where it is.

/// Slices of a drawn task on its devices.
class DrawnPlan {
 public:
  DrawnPlan(const Backend& backend, CostRunner& models, std::span<const Table> augmented,
            const std::vector<int>& dims, std::int64_t served, Random& random)
      : models_(models),
        random_(random),
        levels_(dims.size()),
        drawn_from_(augmented.size() / dims.size()),
        width_(static_cast<std::size_t>(backend.embedding_width())),
        devices_(std::size_t{2} << random.below(kDeviceOctaves)),
        sums_(devices_ * width_, 0.0F),
        moved_sums_(2 * width_),
        cost_ms_(devices_, 0.0F) {
    const OperatorFeatures of_table(backend.table_features(), static_cast<double>(served));
    std::vector<float> features;
    std::vector<double> lookups;
    const auto tables = static_cast<std::size_t>(random.log_uniform(kFewestTables, kMostTables));
    for (std::size_t i = 0; i < tables; ++i) {
      tables_.push_back(random.below(drawn_from_));
      const Table& table = augmented[tables_.back()];
      of_table.append(table, dims, features);
      lookups.push_back(table.pooling_factor);
      const std::size_t level = random.below(levels_);
      const std::size_t halvings = random.below(std::min(kMostHalvings + 1, levels_ - level));
      slices_.resize(slices_.size() + (std::size_t{1} << halvings), {i, level + halvings, 0});
    }
    embeddings_.resize(tables * levels_ * width_);
    backend.embed_pieces(features, embeddings_);
    std::ranges::stable_sort(slices_, std::greater<>(), [&](const Slice& slice) {
      return lookups[slice.table] * dims[slice.level];
    });
    place();
    improve();
  }

  [[nodiscard]] std::vector<std::vector<int>> ids_by_device() const {
    std::vector<std::vector<int>> ids(devices_);
    for (const Slice& slice : slices_) {
      ids[slice.device].push_back(
          static_cast<int>(slice.level * drawn_from_ + tables_[slice.table]));
    }
    return ids;
  }

 private:
  struct Slice {
    std::size_t table;  ///< In `tables_`.
    std::size_t level;
    std::size_t device;
  };

  void add(float* sum, const Slice& slice, float factor) const {
    const float* const embedding =
        embeddings_.data() + (slice.table * levels_ + slice.level) * width_;
    for (std::size_t i = 0; i < width_; ++i) sum[i] += factor * embedding[i];
  }
  [[nodiscard]] float* sum_of(std::size_t device) { return sums_.data() + device * width_; }

  /// One after the other, where it costs least.
  void place() {
    AlignedVector<float> trial_sums;
    std::vector<float> trial_ms(devices_);
    for (Slice& slice : slices_) {
      trial_sums = sums_;
      for (std::size_t d = 0; d < devices_; ++d) add(trial_sums.data() + d * width_, slice, 1.0F);
      models_.compute(trial_sums, trial_ms);
      const auto least = std::ranges::min_element(trial_ms);
      slice.device = static_cast<std::size_t>(least - trial_ms.begin());
      cost_ms_[slice.device] = *least;
      add(sum_of(slice.device), slice, 1.0F);
    }
  }

  void improve() {
    for (std::size_t moves = kMovesOfSlice * slices_.size(); moves > 0; --moves) {
      const std::size_t at = random_.below(slices_.size());
      const std::size_t to = random_.below(devices_);
      const double kind = random_.uniform();
      const std::size_t other = kind < kExchanges ? random_.below(slices_.size()) : at;
      const bool is_cut = kind >= 1.0 - kCuts && slices_[at].level + 1 < levels_;
      if (slices_[at].device == to || (other != at && slices_[other].device != to)) continue;
      try_move(at, to, other, is_cut);
    }
  }

  /// Moves a slice, or half of it, and `other`, unless that is the same, to where it was. Keeps
  /// what makes the sum of squares less.
  void try_move(std::size_t at, std::size_t to, std::size_t other, bool is_cut) {
    const Slice slice = slices_[at];
    const std::size_t from = slice.device;
    Slice part = slice;
    if (is_cut) ++part.level;
    float* const after = moved_sums_.data();
    std::copy_n(sum_of(from), width_, after);
    std::copy_n(sum_of(to), width_, after + width_);
    add(after, slice, -1.0F);
    if (is_cut) add(after, part, 1.0F);
    add(after + width_, part, 1.0F);
    if (other != at) {
      add(after + width_, slices_[other], -1.0F);
      add(after, slices_[other], 1.0F);
    }
    std::array<float, 2> ms;
    models_.compute(moved_sums_, ms);
    const auto squares = [](float a, float b) { return a * a + b * b; };
    if (squares(ms[0], ms[1]) >= squares(cost_ms_[from], cost_ms_[to])) return;
    std::copy_n(after, width_, sum_of(from));
    std::copy_n(after + width_, width_, sum_of(to));
    cost_ms_[from] = ms[0];
    cost_ms_[to] = ms[1];
    if (other != at) slices_[other].device = from;
    part.device = to;
    if (is_cut) {
      slices_[at].level = part.level;
      slices_.push_back(part);
    } else {
      slices_[at] = part;
    }
  }

  CostRunner& models_;
  Random& random_;
  std::size_t levels_;
  std::size_t drawn_from_;  ///< Tables, each of which is augmented.
  std::size_t width_;
  std::size_t devices_;
  std::vector<std::size_t> tables_;
  std::vector<Slice> slices_;
  AlignedVector<float> embeddings_;  ///< [tables, levels, embedding width]
  AlignedVector<float> sums_;        ///< [devices, embedding width]
  AlignedVector<float> moved_sums_;  ///< [2, embedding width]: of two devices after a move.
  std::vector<float> cost_ms_;       ///< [devices]
};

}  // namespace

std::vector<DrawnShard> draw_placed_shards(const Backend& backend, std::span<const Table> augmented,
                                           int max_dim, std::size_t tasks, std::uint64_t seed) {
  using Samples = ComputeDrawOptions::Samples;
  const std::unique_ptr<CostRunner> models = backend.cost_runner(kMostDevices);
  const std::vector<int> dims = dim_levels(max_dim);
  std::vector<DrawnShard> shards;
  for (std::size_t i = 0; i < tasks; ++i) {
    Random random(seed, i + 1);
    const std::int64_t served =
        draw_served_samples(i % 5 == 4 ? Samples::kShares : Samples::kIterations, random);
    const DrawnPlan plan(backend, *models, augmented, dims, served, random);
    for (std::vector<int>& ids : plan.ids_by_device()) {
      if (!ids.empty()) shards.push_back({std::move(ids), served});
    }
  }
  return shards;
}

}  // namespace neuroshard
