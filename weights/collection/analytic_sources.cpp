#include "weights/collection/cost_sources.h"

namespace neuroshard {
namespace {

class AnalyticComputeSource : public ComputeCostSource {
 public:
  AnalyticComputeSource(const GpuSpec& gpu, std::span<const Table> tables, std::int64_t batch)
      : gpu_(gpu), tables_(tables), batch_(batch) {}

  double cost_ms(std::span<const int> ids) override {
    shard_.clear();
    for (const int id : ids) shard_.push_back(tables_[id]);
    return analytic_compute(gpu_, shard_, batch_).total_ms();
  }

 private:
  GpuSpec gpu_;
  std::span<const Table> tables_;
  std::int64_t batch_;
  std::vector<Table> shard_;
};

class AnalyticCommSource : public CommCostSource {
 public:
  AnalyticCommSource(const NetworkSpec& network, std::int64_t batch)
      : network_(network), batch_(batch) {}

  CommCost cost(const CommDraw& draw) override {
    return analytic_comm(network_, draw.dim_sums, draw.start_offsets_ms, batch_);
  }

 private:
  NetworkSpec network_;
  std::int64_t batch_;
};

}  // namespace

std::unique_ptr<ComputeCostSource> make_analytic_compute_source(const GpuSpec& gpu,
                                                                std::span<const Table> tables,
                                                                std::int64_t batch) {
  return std::make_unique<AnalyticComputeSource>(gpu, tables, batch);
}

std::unique_ptr<CommCostSource> make_analytic_comm_source(const NetworkSpec& network,
                                                          std::int64_t batch) {
  return std::make_unique<AnalyticCommSource>(network, batch);
}

}  // namespace neuroshard
