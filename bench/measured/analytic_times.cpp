#include "bench/measured/analytic_times.h"

#include <vector>

#include "bench/inputs/task_sets.h"
#include "neuroshard/error.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "weights/collection/analytic_comm.h"
#include "weights/collection/analytic_compute.h"
#include "weights/collection/analytic_plan_cost.h"

namespace neuroshard::bench {
namespace {

// Half of an 80 GB device; the rest is for the dense part and activations.
constexpr double kIterationMemoryGib = 40.0;

class AnalyticMs {
 public:
  explicit AnalyticMs(const std::filesystem::path& folder) : folder_(folder) {}

  std::optional<double> operator()(const MeasuredCollective& what) const {
    if (what.collective == Collective::kAllReduce) {
      return all_reduce_transfer_ms(what.network, what.devices, what.bytes);
    }
    // One fp32 column a device, and as many samples as make the bytes.
    const auto devices = static_cast<std::size_t>(what.devices);
    return analytic_comm(what.network, std::vector<std::int64_t>(devices, 1),
                         std::vector<double>(devices, 0.0), what.bytes / sizeof(float))
        .backward_ms.front();
  }

  std::optional<double> operator()(const MeasuredOperator& what) const {
    const AnalyticCompute cost =
        analytic_compute(what.gpu, what.tables, static_cast<double>(what.batch));
    return what.pass == OperatorPass::kForward ? cost.forward_ms : cost.backward_ms;
  }

  std::optional<double> operator()(const MeasuredIteration& what) const {
    if (what.task.empty()) return std::nullopt;
    const std::filesystem::path path = folder_ / what.task;
    Task task = load_whole_task(path, what.devices, kIterationMemoryGib);
    task.batch_size = what.batch;
    const PlanResult result = Planner(builtin_weights(what.hardware)).plan(task);
    if (!result.plan) {
      throw Error(path.string() + ": has no plan for " + std::to_string(what.devices) +
                  " devices; measurements of iterations need one");
    }
    const Hardware& machine = hardware_named(what.hardware);
    return analytic_plan_cost(machine.gpu, machine.network, task, *result.plan).cost_ms;
  }

 private:
  const std::filesystem::path& folder_;
};

}  // namespace

std::optional<double> analytic_us(const MeasuredTime& measurement,
                                  const std::filesystem::path& folder) {
  const std::optional<double> ms = std::visit(AnalyticMs(folder), measurement.what);
  return ms ? std::optional(*ms * 1e3) : std::nullopt;
}

}  // namespace neuroshard::bench
