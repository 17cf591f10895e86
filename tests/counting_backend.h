#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <utility>

#include "core/placement/forwarding_backend.h"
#include "neuroshard/cost_runner.h"

namespace neuroshard::testing {

/// A CPU backend that counts rows of its networks (shards, and devices of an exchange), and asks
/// for a stop after so many. Rows of placement sessions do not count.
class CountingBackend final : public ForwardingBackend {
 public:
  /// Borrows `cpu`.
  CountingBackend(const Backend& cpu, std::uint64_t stop_after)
      : ForwardingBackend(cpu), stop_after_(stop_after) {}

  [[nodiscard]] std::stop_token token() const { return source_.get_token(); }
  [[nodiscard]] bool has_stopped() const { return source_.stop_requested(); }
  /// Rows since it asked for the stop.
  [[nodiscard]] std::uint64_t rows_after_stop() const {
    return has_stopped() ? rows_ - rows_at_stop_ : 0;
  }

  void embed_pieces(std::span<const float> features, std::span<float> embeddings) const override {
    inner().embed_pieces(features, embeddings);
    count(features.size() / static_cast<std::size_t>(table_features()));
  }
  void score_shards(std::span<const float> embeddings, const ShardBatch& shards,
                    std::span<float> cost_ms) const override {
    inner().score_shards(embeddings, shards, cost_ms);
    count(shards.size());
  }
  void forward_comm(int devices, std::span<const float> dim_sums,
                    std::span<const float> start_offsets_ms,
                    std::span<float> cost_ms) const override {
    inner().forward_comm(devices, dim_sums, start_offsets_ms, cost_ms);
    count(cost_ms.size());
  }
  void backward_comm(int devices, std::span<const float> dim_sums,
                     std::span<float> cost_ms) const override {
    inner().backward_comm(devices, dim_sums, cost_ms);
    count(cost_ms.size());
  }
  [[nodiscard]] std::unique_ptr<CostRunner> cost_runner(int devices) const override {
    return std::make_unique<Runner>(*this, inner().cost_runner(devices));
  }

 private:
  class Runner final : public CostRunner {
   public:
    Runner(const CountingBackend& backend, std::unique_ptr<CostRunner> inner)
        : backend_(backend), inner_(std::move(inner)) {}

    void compute(std::span<const float> sums, std::span<float> cost_ms) override {
      inner_->compute(sums, cost_ms);
      backend_.count(cost_ms.size());
    }
    void forward(std::span<const float> dim_sums, std::span<const float> start_offsets_ms,
                 std::span<float> cost_ms) override {
      inner_->forward(dim_sums, start_offsets_ms, cost_ms);
      backend_.count(cost_ms.size());
    }
    void backward(std::span<const float> dim_sums, std::span<float> cost_ms) override {
      inner_->backward(dim_sums, cost_ms);
      backend_.count(cost_ms.size());
    }
    [[nodiscard]] bool symmetric() const override { return inner_->symmetric(); }
    void forward_rows(std::span<const float> features, std::span<float> cost_ms) override {
      inner_->forward_rows(features, cost_ms);
      backend_.count(cost_ms.size());
    }
    void backward_rows(std::span<const float> features, std::span<float> cost_ms) override {
      inner_->backward_rows(features, cost_ms);
      backend_.count(cost_ms.size());
    }

   private:
    const CountingBackend& backend_;
    std::unique_ptr<CostRunner> inner_;
  };

  void count(std::size_t rows) const {
    rows_ += rows;
    if (rows_ < stop_after_ || !source_.request_stop()) return;
    rows_at_stop_ = rows_;
  }

  std::uint64_t stop_after_;
  mutable std::stop_source source_;
  mutable std::uint64_t rows_ = 0;
  mutable std::uint64_t rows_at_stop_ = 0;
};

}  // namespace neuroshard::testing
