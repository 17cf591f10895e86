#include "tools/collecting/statistics_page.h"

#include <cmath>

#include "core/tables/access_statistics.h"
#include "tools/text/text.h"

namespace neuroshard::tools {
namespace {

using Align = TextTable::Align;

std::string relative(double generated, double published) {
  const double percent = 100.0 * (generated / published - 1.0);
  const double rounded = std::round(10.0 * percent) / 10.0 + 0.0;  // No "-0.0".
  std::string text = format_number(rounded, 1) + " %";
  if (rounded >= 0.0) text.insert(text.begin(), '+');
  return text;
}

void add_moments(TextTable& table, const std::string& name, const Moments& generated,
                 const Moments& published, int digits) {
  table.add_row({name, format_number(generated.mean, digits), format_number(published.mean, digits),
                 relative(generated.mean, published.mean), format_number(generated.std, digits),
                 format_number(published.std, digits), relative(generated.std, published.std)});
}

std::string bin_name(int bin) {
  if (bin == kHistogramBins - 1) return ">32768";
  std::string name = std::to_string(first_touches(bin));
  if (bin > 1) name.append("-").append(std::to_string(last_touches(bin)));
  return name;
}

}  // namespace

std::string statistics_page(const TableStatistics& generated, const TextStyle& style) {
  const TableStatistics& published = published_statistics();
  TextTable features({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
                      Align::kRight, Align::kRight});
  features.add_row({"feature", "mean", "published", "", "std", "published", ""});
  add_moments(features, "row", generated.rows, published.rows, 0);
  add_moments(features, "pooling_factor", generated.pooling_factor, published.pooling_factor, 3);
  for (int bin = 0; bin < kHistogramBins; ++bin) {
    add_moments(features, "bin_" + std::to_string(bin), generated.bins[bin], published.bins[bin],
                4);
  }

  TextTable reuse({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  reuse.add_row({"touches of a row", "rows", "published", "lookups", "published"});
  for (int bin = 0; bin < kHistogramBins; ++bin) {
    reuse.add_row({bin_name(bin), format_number(generated.row_shares[bin], 3),
                   format_number(published.row_shares[bin], 3),
                   format_number(generated.access_shares[bin], 3),
                   format_number(published.access_shares[bin], 3)});
  }
  reuse.add_row({"lookups per row", format_number(generated.accesses_per_row, 2),
                 format_number(published.accesses_per_row, 2), "", ""});
  return bold("Over tables", style) + "\n" + features.str() + "\n" +
         bold("Over all rows and lookups of a batch", style) + "\n" + reuse.str();
}

}  // namespace neuroshard::tools
