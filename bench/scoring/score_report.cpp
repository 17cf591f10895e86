#include "bench/scoring/score_report.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "bench/markdown_table.h"
#include "bench/statistics.h"
#include "tools/charts/line_chart.h"

namespace neuroshard::bench {
namespace {

using charts::LineChart;
using charts::Series;

// In the order of batch sizes, then names.
std::vector<const ScoreTimes*> rows_with(std::span<const ScoreTimes> times, int threads) {
  std::vector<const ScoreTimes*> rows;
  for (const ScoreTimes& t : times) {
    if (t.threads == threads && t.scorer != kCeiling) rows.push_back(&t);
  }
  std::sort(rows.begin(), rows.end(), [](const ScoreTimes* a, const ScoreTimes* b) {
    return a->batch != b->batch ? a->batch < b->batch : a->scorer < b->scorer;
  });
  return rows;
}

// CPU time leaves out what other programs take; a GPU does not show in it.
double rate(const ScoreTimes& times) {
  return times.on_gpu ? median(times.per_second) : median(times.per_cpu_second) * times.threads;
}

double best_rate(const ScoreTimes& times) {
  const std::vector<double>& rates = times.on_gpu ? times.per_second : times.per_cpu_second;
  return *std::max_element(rates.begin(), rates.end()) * (times.on_gpu ? 1 : times.threads);
}

const ScoreTimes* baseline_row(const std::vector<const ScoreTimes*>& rows,
                               const std::string& scorer, std::size_t batch) {
  const ScoreTimes* found = nullptr;
  for (const ScoreTimes* row : rows) {
    if (row->scorer == scorer && row->batch <= batch) found = row;
  }
  return found;
}

}  // namespace

double multiply_adds_per_shard(const Mlp& head) {
  double sum = 0.0;
  for (const DenseLayer& layer : head.layers) sum += 1.0 * layer.inputs * layer.outputs;
  return sum;
}

ScoreCeilings ceilings_of(std::span<const ScoreTimes> times) {
  ScoreCeilings ceilings;
  for (const ScoreTimes& t : times) {
    if (t.scorer != kCeiling) continue;
    for (const double value : t.per_cpu_second) {
      ceilings.per_core = std::max(ceilings.per_core, value);
    }
  }
  return ceilings;
}

CeilingShare share_of_ceiling(const ScoreTimes& times, const ScoreCeilings& ceilings,
                              double multiply_adds_a_shard) {
  const double ceiling =
      times.on_gpu ? ceilings.gpu.value_or(0.0) : ceilings.per_core * times.threads;
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  if (ceiling <= 0.0) return {kNone, kNone};
  return {rate(times) * multiply_adds_a_shard / ceiling,
          best_rate(times) * multiply_adds_a_shard / ceiling};
}

std::string score_table(std::span<const ScoreTimes> times, int threads,
                        std::span<const std::string> baselines, const ScoreCeilings& ceilings,
                        double multiply_adds_a_shard) {
  const std::vector<const ScoreTimes*> rows = rows_with(times, threads);
  std::vector<std::string> header = {"scorer",   "batch",  "shards/s",   "shards/s by CPU time",
                                     "ns/shard", "spread", "of ceiling", "best"};
  for (const std::string& baseline : baselines) header.push_back("vs " + baseline);
  MarkdownTable table(header);
  for (const ScoreTimes* row : rows) {
    const double by_cpu = median(row->per_cpu_second) * row->threads;
    const CeilingShare share = share_of_ceiling(*row, ceilings, multiply_adds_a_shard);
    std::vector<std::string> cells = {row->scorer,
                                      with_separators(static_cast<std::int64_t>(row->batch)),
                                      three_digits(median(row->per_second)),
                                      row->on_gpu ? "-" : three_digits(by_cpu),
                                      three_digits(1e9 / rate(*row)),
                                      percent(relative_spread(row->per_second)),
                                      percent(share.median),
                                      percent(share.best)};
    for (const std::string& baseline : baselines) {
      const ScoreTimes* base = baseline_row(rows, baseline, row->batch);
      cells.push_back(base == nullptr ? "-" : three_digits(rate(*row) / rate(*base)) + "x");
    }
    table.add_row(std::move(cells));
  }
  return table.str();
}

std::string score_chart(std::span<const ScoreTimes> times, const ScoreCeilings& ceilings,
                        double multiply_adds_a_shard) {
  std::set<int> thread_counts;
  for (const ScoreTimes& t : times) thread_counts.insert(t.threads);
  std::vector<LineChart> panels;
  for (const int threads : thread_counts) {
    LineChart chart;
    chart.title = "Shards scored per second, " + std::to_string(threads) +
                  (threads == 1 ? " thread" : " threads");
    chart.x_label = "shards a batch";
    chart.y_label = "shards per second";
    std::map<std::string, Series> lines;
    for (const ScoreTimes* row : rows_with(times, threads)) {
      Series& line = lines[row->scorer];
      line.name = row->scorer;
      line.points.emplace_back(static_cast<double>(row->batch), rate(*row));
    }
    double low = std::numeric_limits<double>::max();
    double high = 0.0;
    for (auto& [name, line] : lines) {
      low = std::min(low, line.points.front().first);
      high = std::max(high, line.points.back().first);
      chart.series.push_back(std::move(line));
    }
    if (ceilings.per_core > 0.0 && high > 0.0) {
      const double ceiling = ceilings.per_core * threads / multiply_adds_a_shard;
      chart.series.push_back({"FMA ceiling", {{low, ceiling}, {high, ceiling}}});
    }
    panels.push_back(std::move(chart));
  }
  return draw(panels);
}

}  // namespace neuroshard::bench
