#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/base/count_up.h"
#include "neuroshard/training.h"

namespace neuroshard {
namespace {

// Sorts `values` and returns how many pairs were in descending order.
std::uint64_t sort_counting_inversions(std::vector<float>& values) {
  std::uint64_t inversions = 0;
  std::vector<float> merged(values.size());
  for (std::size_t width = 1; width < values.size(); width *= 2) {
    for (std::size_t low = 0; low < values.size(); low += 2 * width) {
      const std::size_t middle = std::min(low + width, values.size());
      const std::size_t high = std::min(low + 2 * width, values.size());
      std::size_t left = low;
      std::size_t right = middle;
      for (std::size_t i = low; i < high; ++i) {
        if (right == high || (left < middle && values[left] <= values[right])) {
          merged[i] = values[left++];
        } else {
          merged[i] = values[right++];
          inversions += middle - left;
        }
      }
    }
    values.swap(merged);
  }
  return inversions;
}

// Pairs of equal neighbours in a sorted range.
template <typename Equal>
std::uint64_t tied_pairs(std::size_t size, Equal equal) {
  std::uint64_t pairs = 0;
  std::uint64_t run = 0;
  for (std::size_t i = 1; i < size; ++i) {
    run = equal(i - 1, i) ? run + 1 : 0;
    pairs += run;
  }
  return pairs;
}

// Knight's method (1966): sort by x, then count the exchanges that sorting by y takes.
double kendall_tau_b(std::span<const float> x, std::span<const float> y) {
  const std::size_t size = x.size();
  std::vector<std::uint32_t> order = count_up<std::uint32_t>(size);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return x[a] != x[b] ? x[a] < x[b] : y[a] < y[b];
  });
  const std::uint64_t pairs = static_cast<std::uint64_t>(size) * (size - 1) / 2;
  const std::uint64_t tied_x =
      tied_pairs(size, [&](auto a, auto b) { return x[order[a]] == x[order[b]]; });
  const std::uint64_t tied_both = tied_pairs(size, [&](auto a, auto b) {
    return x[order[a]] == x[order[b]] && y[order[a]] == y[order[b]];
  });
  std::vector<float> sorted(size);
  for (std::size_t i = 0; i < size; ++i) sorted[i] = y[order[i]];
  const std::uint64_t discordant = sort_counting_inversions(sorted);
  const std::uint64_t tied_y =
      tied_pairs(size, [&](auto a, auto b) { return sorted[a] == sorted[b]; });

  const double concordant_minus_discordant = static_cast<double>(pairs) -
                                             static_cast<double>(tied_x + tied_y - tied_both) -
                                             2.0 * static_cast<double>(discordant);
  const double scale = std::sqrt(static_cast<double>(pairs - tied_x)) *
                       std::sqrt(static_cast<double>(pairs - tied_y));
  return scale > 0.0 ? concordant_minus_discordant / scale : 0.0;
}

}  // namespace

Accuracy measure_accuracy(std::span<const float> measured_ms, std::span<const float> predicted_ms) {
  Accuracy accuracy;
  accuracy.costs = measured_ms.size();
  if (measured_ms.empty()) return accuracy;
  std::size_t positive = 0;
  for (std::size_t i = 0; i < measured_ms.size(); ++i) {
    const double error = static_cast<double>(predicted_ms[i]) - measured_ms[i];
    accuracy.mse += error * error;
    if (measured_ms[i] > 0.0F) {
      accuracy.mape += std::abs(error) / measured_ms[i];
      ++positive;
    }
  }
  accuracy.mse /= static_cast<double>(measured_ms.size());
  if (positive > 0) accuracy.mape /= static_cast<double>(positive);
  accuracy.kendall_tau = kendall_tau_b(measured_ms, predicted_ms);
  return accuracy;
}

TestResult test_result(int devices, std::vector<float> measured_ms,
                       std::vector<float> predicted_ms) {
  TestResult result{devices, std::move(measured_ms), std::move(predicted_ms), {}};
  result.accuracy = measure_accuracy(result.measured_ms, result.predicted_ms);
  return result;
}

}  // namespace neuroshard
