#pragma once

#include <atomic>

#include "neuroshard/backend.h"
#include "neuroshard/error.h"

namespace neuroshard::testing {

/// In the place of a GPU: a CPU backend whose calls fail from one of them on. Calls that are made
/// of a session alone fail, too.
class FailingBackend final : public Backend {
 public:
  /// Borrows `cpu`. `works`: so many calls do.
  FailingBackend(const Backend& cpu, int works, ErrorKind kind = ErrorKind::kBackend)
      : Backend(traits_of(cpu)), cpu_(cpu), works_(works), kind_(kind) {}

  [[nodiscard]] std::string_view name() const override { return "failing"; }
  void embed_pieces(std::span<const float> features, std::span<float> embeddings) const override {
    count();
    cpu_.embed_pieces(features, embeddings);
  }
  void score_shards(std::span<const float> embeddings, const ShardBatch& shards,
                    std::span<float> cost_ms) const override {
    count();
    cpu_.score_shards(embeddings, shards, cost_ms);
  }
  void forward_comm(int devices, std::span<const float> dim_sums,
                    std::span<const float> start_offsets_ms,
                    std::span<float> cost_ms) const override {
    count();
    cpu_.forward_comm(devices, dim_sums, start_offsets_ms, cost_ms);
  }
  void backward_comm(int devices, std::span<const float> dim_sums,
                     std::span<float> cost_ms) const override {
    count();
    cpu_.backward_comm(devices, dim_sums, cost_ms);
  }
  [[nodiscard]] std::unique_ptr<CostRunner> cost_runner(int devices) const override {
    count();
    return cpu_.cost_runner(devices);
  }
  [[nodiscard]] std::unique_ptr<PlacementSession> start(
      const PlacementProblem& problem) const override {
    count();
    return std::make_unique<Session>(*this, problem);
  }
  /// One call, for any number of sessions.
  void place(std::span<const Request> requests) const override {
    count();
    for (const Request& request : requests) {
      static_cast<Session&>(*request.session).on_cpu().place(*request.candidates, request.results);
    }
  }

 private:
  class Session final : public PlacementSession {
   public:
    Session(const FailingBackend& backend, const PlacementProblem& problem)
        : backend_(backend), on_cpu_(backend.cpu_.start(problem)) {}

    void place(const CandidateBatch& candidates, std::span<CandidateResult> results) override {
      backend_.count();
      on_cpu_->place(candidates, results);
    }
    std::optional<std::vector<std::uint32_t>> assignments(std::span<const std::uint32_t> pieces,
                                                          int limit) override {
      backend_.count();
      return on_cpu_->assignments(pieces, limit);
    }
    [[nodiscard]] PlacementCounters counters() const override { return on_cpu_->counters(); }
    [[nodiscard]] PlacementSession& on_cpu() { return *on_cpu_; }

   private:
    const FailingBackend& backend_;
    std::unique_ptr<PlacementSession> on_cpu_;
  };

  void count() const {
    if (works_.fetch_sub(1) <= 0) throw Error("the device is gone", kind_);
  }

  const Backend& cpu_;
  mutable std::atomic<int> works_;
  ErrorKind kind_;
};

}  // namespace neuroshard::testing
