#include "weights/bound/phases.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "weights/collection/analytic_comm.h"

namespace neuroshard {
namespace {

struct ExchangeLines {
  ExchangeLine outputs;
  ExchangeLine gradients;
};

ExchangeLines exchange_lines(const NetworkSpec& network, const Task& task) {
  constexpr std::int64_t kColumns = 1 << 20;
  const auto devices = static_cast<std::size_t>(task.devices);
  const NodeOrder order = task.links ? NodeOrder::kInOrder : order_of(network);
  const std::vector<double> together(devices, 0.0);
  const auto exchange = [&](const std::vector<std::int64_t>& columns) {
    const CommCost cost = analytic_comm(network, columns, together,
                                        static_cast<double>(task.batch_size), order, task.exchange);
    return std::pair(cost.forward_ms.front(), cost.backward_ms.front());
  };
  std::vector<std::int64_t> columns(devices, 0);
  ExchangeLines lines;
  std::tie(lines.outputs.base, lines.gradients.base) = exchange(columns);
  const auto slopes = [&] {
    const auto [outputs_ms, gradients_ms] = exchange(columns);
    return std::pair((outputs_ms - lines.outputs.base) / kColumns,
                     (gradients_ms - lines.gradients.base) / kColumns);
  };
  // An all-to-all takes no less than what one of its devices sends. Nodes are alike, but for the
  // last.
  columns.front() = kColumns;
  std::tie(lines.outputs.column_ms, lines.gradients.column_ms) = slopes();
  columns.front() = 0;
  columns.back() = kColumns;
  const auto [outputs_of_last, gradients_of_last] = slopes();
  lines.outputs.column_ms = std::min(lines.outputs.column_ms, outputs_of_last);
  lines.gradients.column_ms = std::min(lines.gradients.column_ms, gradients_of_last);
  // It is convex, and devices of equal nodes can take each other's places.
  std::ranges::fill(columns, kColumns);
  std::tie(lines.outputs.mean_column_ms, lines.gradients.mean_column_ms) = slopes();
  if (order == NodeOrder::kInOrder && task.devices > network.gpus_per_node &&
      task.devices % network.gpus_per_node != 0) {
    lines.outputs.mean_column_ms = lines.outputs.column_ms;
    lines.gradients.mean_column_ms = lines.gradients.column_ms;
  }
  return lines;
}

ExchangeLine operator+(const ExchangeLine& a, const ExchangeLine& b) {
  return {a.base + b.base, a.column_ms + b.column_ms, a.mean_column_ms + b.mean_column_ms};
}

}  // namespace

std::vector<Phases> phases_of(const NetworkSpec& network, const Task& task) {
  const ExchangeLines lines = exchange_lines(network, task);
  const Overlap& overlap = task.overlap;
  const auto choices = [](const ExchangeLine& line, double beside_ms) {
    std::vector<ExchangeLine> found{line};
    if (beside_ms > line.base) found.push_back({.base = beside_ms});
    return found;
  };
  std::vector<Phases> all;
  for (const ExchangeLine& outputs : choices(lines.outputs, overlap.dense_beside_outputs_ms)) {
    for (const ExchangeLine& gradients :
         choices(lines.gradients, overlap.dense_beside_gradients_ms)) {
      Phases& phases = all.emplace_back();
      phases.columns = outputs + gradients;
      if (!overlap.ids) phases.ids = lines.gradients;
      phases.constant_ms = overlap.dense_ms + phases.columns.base + phases.ids.base;
    }
  }
  if (overlap.ids) {
    all.push_back({.constant_ms = lines.gradients.base, .compute = 0.0, .ids = lines.gradients});
  }
  return all;
}

}  // namespace neuroshard
