#include "weights/lookups/access_stream.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>

#include "core/base/message_text.h"
#include "core/tables/access_statistics.h"
#include "neuroshard/error.h"

namespace neuroshard {
namespace {

constexpr std::int64_t kMaxLookups = (std::int64_t{1} << 32) - 1;

using RowCounts = std::array<std::int64_t, kHistogramBins>;

// Whole rows per bin, at least one in all. One random offset rounds all the partial sums, so each
// bin's expectation is its fractional count, which matters for tables of few rows.
RowCounts round_rows(const AccessProfile& profile, Random& random) {
  const double total = std::max(1.0, std::round(profile.distinct_rows));
  const double offset = random.uniform();
  RowCounts counts{};
  double sum = 0.0;
  std::int64_t given = 0;
  for (int bin = 0; bin < kHistogramBins; ++bin) {
    sum += profile.rows[bin] * total / profile.distinct_rows;
    const bool last = bin == kHistogramBins - 1;
    const auto rounded = static_cast<std::int64_t>(last ? total : std::floor(sum + offset));
    counts[bin] = std::min(rounded, static_cast<std::int64_t>(total)) - given;
    given += counts[bin];
  }
  return counts;
}

// Most touches that a row of `bin` is drawn with.
std::int64_t last_drawn(int bin) { return std::int64_t{1} << bin; }

// Takes rows away from the bin of most touches until `lookups` suffice to touch the rest.
void make_affordable(RowCounts& counts, std::int64_t lookups) {
  std::int64_t least = 0;
  for (int bin = 0; bin < kHistogramBins; ++bin) least += counts[bin] * first_touches(bin);
  for (int bin = kHistogramBins - 1; bin >= 0; --bin) {
    while (least > lookups && counts[bin] > 0) {
      --counts[bin];
      least -= first_touches(bin);
      // Leave no table without rows: what remains of the lookups makes one row.
      const int fitting = histogram_bin(lookups - least);
      if (least < lookups && fitting < bin) {
        ++counts[fitting];
        least += first_touches(fitting);
      }
    }
  }
}

// Moves touches towards `goal` by at most their distance from `limit`, in proportion to it; returns
// what is left to move.
template <typename Limit>
std::int64_t move_touches(std::vector<std::uint32_t>& touches, std::int64_t surplus, Limit limit) {
  double room = 0.0;
  for (const std::uint32_t t : touches) room += static_cast<double>(std::llabs(limit(t) - t));
  if (room <= 0.0) return surplus;
  const double share = std::min(1.0, static_cast<double>(std::llabs(surplus)) / room);
  const std::int64_t sign = surplus > 0 ? 1 : -1;
  for (std::uint32_t& t : touches) {
    const std::int64_t distance = std::llabs(limit(t) - t);
    const std::int64_t step = std::min<std::int64_t>(
        static_cast<std::int64_t>(static_cast<double>(distance) * share), std::llabs(surplus));
    t = static_cast<std::uint32_t>(t + sign * step);
    surplus -= sign * step;
  }
  // Rounding has left over the rest: one touch more or less for each row in turn.
  for (std::uint32_t& t : touches) {
    if (surplus == 0) break;
    if (limit(t) == t) continue;
    t = static_cast<std::uint32_t>(t + sign);
    surplus -= sign;
  }
  return surplus;
}

void require_summed(const Table& table) {
  const std::string of_table = table.name.empty() ? "" : "table '" + printable(table.name) + "': ";
  if (table.features != 1.0) {
    throw Error(of_table + "features is " + shortest_text(table.features) +
                "; batches are made of one feature a table: list the table once for each, or "
                "leave features out");
  }
  if (table.pooling != Pooling::kSum || table.weighted) {
    throw Error(of_table +
                (table.weighted ? "weighted is true"
                                : "pooling is " + std::string(name_of(table.pooling))) +
                "; operators that are measured sum up rows as they are: leave it out");
  }
}

}  // namespace

std::int64_t lookups_of_batch(const Table& table, std::int64_t batch) {
  require_summed(table);
  const double lookups = table.pooling_factor * static_cast<double>(batch);
  if (lookups > static_cast<double>(kMaxLookups)) {
    throw Error("a batch of " + std::to_string(batch) + " with pooling factor " +
                std::to_string(table.pooling_factor) +
                " makes more than 2^32 lookups; give a smaller batch");
  }
  return std::llround(lookups);
}

std::vector<std::uint32_t> plan_touches(const Table& table, std::int64_t batch, Random& random) {
  const std::int64_t lookups = lookups_of_batch(table, batch);
  if (lookups == 0) return {};

  const AccessProfile profile = access_profile(table, batch);
  RowCounts counts = round_rows(profile, random);
  make_affordable(counts, lookups);
  std::vector<std::uint32_t> touches;
  std::int64_t sum = 0;
  for (int bin = 0; bin < kHistogramBins; ++bin) {
    const double first = static_cast<double>(first_touches(bin));
    const double ratio = static_cast<double>(last_drawn(bin) + 1) / first;
    for (std::int64_t row = 0; row < counts[bin]; ++row) {
      touches.push_back(
          bin < 2 ? first_touches(bin)
                  : static_cast<std::uint32_t>(first * std::pow(ratio, random.uniform())));
      sum += touches.back();
    }
  }
  // The bins stay as they are as long as any choice of touches within them gives the sum.
  std::int64_t missing = lookups - sum;
  if (missing < 0) {
    missing = move_touches(touches, missing,
                           [](std::uint32_t t) { return first_touches(histogram_bin(t)); });
  } else if (missing > 0) {
    missing = move_touches(touches, missing, [&](std::uint32_t t) {
      return std::min(kMaxLookups, last_touches(histogram_bin(t)));
    });
  }
  if (missing > 0) {  // More rows if the table has them, else more touches of each.
    const int bin = histogram_bin(*std::max_element(touches.begin(), touches.end()));
    const std::int64_t each = std::max<std::int64_t>(1, last_drawn(bin));
    while (missing > 0 && static_cast<std::int64_t>(touches.size()) < table.rows) {
      const std::int64_t taken = std::min(missing, each);
      touches.push_back(static_cast<std::uint32_t>(taken));
      missing -= taken;
    }
    const auto rows = static_cast<std::int64_t>(touches.size());
    for (std::int64_t row = 0; row < rows && missing > 0; ++row) {
      const std::int64_t taken = missing / (rows - row);
      touches[row] += static_cast<std::uint32_t>(taken);
      missing -= taken;
    }
  }
  return touches;
}

Table with_statistics_of(const Table& table, std::span<const std::uint32_t> touches,
                         std::int64_t batch) {
  Table measured = table;
  measured.access_histogram = {};
  double lookups = 0.0;
  for (const std::uint32_t t : touches) {
    measured.access_histogram[histogram_bin(t)] += 1.0;
    lookups += t;
  }
  for (double& share : measured.access_histogram) {
    if (!touches.empty()) share /= static_cast<double>(touches.size());
  }
  measured.pooling_factor = lookups / static_cast<double>(batch);
  return measured;
}

// Rows last - i * step modulo `rows`: distinct because step and rows have no common divisor.
ScatteredRows::ScatteredRows(std::int64_t rows)
    : rows_(rows),
      step_(static_cast<std::int64_t>(0.6180339887 * static_cast<double>(rows)) | 1),
      row_(rows - 1) {
  while (std::gcd(step_, rows) != 1) step_ += 2;
  step_ %= rows;
}

std::int64_t ScatteredRows::next() {
  const std::int64_t row = row_;
  row_ = row >= step_ ? row - step_ : row - step_ + rows_;
  return row;
}

std::vector<std::int64_t> random_offsets(std::int64_t lookups, std::int64_t samples,
                                         Random& random) {
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(samples) + 1, 0);
  for (std::int64_t i = 0; i < lookups; ++i) {
    ++offsets[1 + random.below(static_cast<std::uint64_t>(samples))];
  }
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  return offsets;
}

AccessStream make_stream(const Table& table, std::span<const std::uint32_t> touches,
                         std::int64_t batch, Random& random) {
  if (static_cast<std::int64_t>(touches.size()) > table.rows) {
    throw Error("a table of " + std::to_string(table.rows) + " rows cannot be touched in " +
                std::to_string(touches.size()) + " of them");
  }
  AccessStream stream;
  ScatteredRows rows(table.rows);
  std::int64_t lookups = 0;
  for (const std::uint32_t t : touches) lookups += t;
  stream.indices.reserve(lookups);
  for (const std::uint32_t t : touches) {
    stream.indices.insert(stream.indices.end(), t, rows.next());
  }
  shuffle(std::span(stream.indices), random);
  stream.offsets = random_offsets(lookups, batch, random);
  return stream;
}

}  // namespace neuroshard
