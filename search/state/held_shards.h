#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "neuroshard/aligned_vector.h"
#include "search/state/shard_catalog.h"

namespace neuroshard {

/// The shards of a device, in no order, with sums of their embeddings by parts of the list: where a
/// device holds thousands of shards, an edit adds up some hundred of them. Parts are added up anew,
/// so that sums do not drift from edit to edit.
class HeldShards {
 public:
  /// They are held by this device.
  explicit HeldShards(std::size_t device = 0) : device_(device) {}

  void add(const ShardCatalog& catalog, int shard);
  /// `shard`: one that was added.
  void take_out(const ShardCatalog& catalog, int shard);

  /// Writes the sum of all embeddings, [embedding width], and adds up their prices.
  void sum_up(const ShardCatalog& catalog, float* embedding);
  /// As of the last sum_up().
  [[nodiscard]] double price_ms() const { return price_ms_; }

  [[nodiscard]] std::size_t size() const { return shards_.size(); }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  [[nodiscard]] std::int64_t stored_bytes() const { return stored_bytes_; }
  [[nodiscard]] std::int64_t ids() const { return ids_; }
  [[nodiscard]] std::int64_t columns() const { return columns_; }
  [[nodiscard]] const HostCurve& hosted() const { return hosted_; }

 private:
  static constexpr std::size_t kShardsOfPart = 64;

  struct Part {
    AlignedVector<float> embedding;  ///< [embedding width]
    double price_ms = 0.0;
    bool known = false;
  };

  void count(const ShardCatalog& catalog, int shard, int sign);
  /// Writes the sum of a part's embeddings, and returns that of its prices.
  double sum_up_part(const ShardCatalog& catalog, std::size_t part, float* sum) const;

  std::size_t device_;
  std::vector<int> shards_;
  std::vector<Part> parts_;  ///< Sums of a single part are not kept: they take no time.
  double price_ms_ = 0.0;
  std::int64_t bytes_ = 0;
  std::int64_t stored_bytes_ = 0;
  std::int64_t ids_ = 0;
  std::int64_t columns_ = 0;
  HostCurve hosted_;
};

}  // namespace neuroshard
