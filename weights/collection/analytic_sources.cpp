#include <map>
#include <memory>

#include "neuroshard/error.h"
#include "neuroshard/histogram_scale.h"
#include "weights/collection/cost_sources.h"

namespace neuroshard {
namespace {

class AnalyticComputeSource : public ComputeCostSource {
 public:
  AnalyticComputeSource(const GpuSpec& gpu, std::span<const Table> tables, std::int64_t batch)
      : gpu_(gpu), tables_(tables), batch_(batch) {}

  double cost_ms(std::span<const int> ids) override {
    shard_.clear();
    for (const int id : ids) {
      Table& table = shard_.emplace_back(tables_[id]);
      if (scale_ != nullptr) table.access_histogram = (*scale_)(table);
    }
    return analytic_compute(gpu_, shard_, static_cast<double>(batch_)).total_ms();
  }

  // Histograms are then those of kDefaultBatchSize samples.
  void serve(std::int64_t samples) override {
    batch_ = samples;
    std::unique_ptr<HistogramScale>& scale = scales_[samples];
    if (!scale) scale = std::make_unique<HistogramScale>(static_cast<double>(samples));
    scale_ = scale.get();
  }

 private:
  GpuSpec gpu_;
  std::span<const Table> tables_;
  std::int64_t batch_;
  std::map<std::int64_t, std::unique_ptr<HistogramScale>> scales_;  ///< By samples.
  const HistogramScale* scale_ = nullptr;  ///< None: histograms are of `batch_` samples.
  std::vector<Table> shard_;
};

class AnalyticCommSource : public CommCostSource {
 public:
  AnalyticCommSource(const NetworkSpec& network, std::int64_t batch)
      : network_(network), batch_(batch) {}

  CommCost cost(const CommDraw& draw) override {
    return analytic_comm(network_, draw.dim_sums, draw.start_offsets_ms, batch_,
                         order_of(network_));
  }

 private:
  NetworkSpec network_;
  std::int64_t batch_;
};

}  // namespace

void ComputeCostSource::serve(std::int64_t samples) {
  throw Error(
      "costs of " + std::to_string(samples) +
      " samples: this source measures operators of one batch; collect others by --batch, or "
      "with the analytic backend");
}

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
