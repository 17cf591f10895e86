#include "tools/collecting/cache_statistics_file.h"

#include <nlohmann/json.hpp>

namespace neuroshard::tools {
namespace {

/// Miss rates by cache rows, from no cache to one for all rows, which misses nothing.
std::vector<MissCurve::Point> miss_rates(const MissCurve& curve, std::int64_t rows) {
  const auto all = static_cast<double>(rows);
  std::vector<MissCurve::Point> rates;
  for (const auto& [cache_rows, misses] : curve.points) {
    if (cache_rows >= all || curve.lookups == 0.0) break;
    rates.push_back({cache_rows, misses / curve.lookups});
  }
  if (rates.empty()) rates.push_back({0.0, 0.0});
  rates.push_back({all, 0.0});
  return rates;
}

double mean_of(const std::vector<MissCurve::Point>& rates) {
  double area = 0.0;
  for (std::size_t i = 1; i < rates.size(); ++i) {
    area += (rates[i].cache_rows - rates[i - 1].cache_rows) *
            (rates[i].misses + rates[i - 1].misses) / 2.0;
  }
  return area / rates.back().cache_rows;
}

}  // namespace

std::string cache_statistics_file(const LogProfile& profile, std::int64_t batch_samples) {
  nlohmann::ordered_json file;
  file["format"] = "neuroshard-cache-statistics";
  file["version"] = 1;
  file["batch"] = batch_samples;
  file["tables"] = nlohmann::ordered_json::array();
  for (std::size_t t = 0; t < profile.tables.size(); ++t) {
    const MissCurve& curve = profile.miss_curves[t];
    const std::vector<MissCurve::Point> rates = miss_rates(curve, profile.tables[t].rows);
    nlohmann::ordered_json table;
    table["row"] = profile.tables[t].rows;
    table["expected_lookups"] = curve.lookups;
    table["first_lookups"] = curve.first_lookups;
    table["warm_rows"] = curve.warm_rows;
    table["cacheability"] = mean_of(rates);
    for (const auto& [cache_rows, rate] : rates) table["miss_rates"].push_back({cache_rows, rate});
    file["tables"].push_back(std::move(table));
  }
  return file.dump() + '\n';
}

}  // namespace neuroshard::tools
