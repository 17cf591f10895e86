#include "weights/lookups/sessions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/tables/access_statistics.h"
#include "message_of.h"
#include "temporary_folder.h"
#include "weights/lookups/access_files.h"
#include "weights/lookups/profile_log.h"

namespace neuroshard {
namespace {

using testing::Accesses;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using testing::npy_file;

TEST(Sessions, KeepTheFirstOfSamplesThatRepeat) {
  // Samples {7, 8}, {}, {7, 8}, {8, 7}, {7, 8}, {}.
  const AccessStream batch{.indices = {7, 8, 7, 8, 8, 7, 7, 8}, .offsets = {0, 2, 2, 4, 6, 8, 8}};
  const std::vector<std::int64_t> one(6, 5);
  AccessStream left = distinct_samples(batch, one);
  EXPECT_THAT(left.indices, ElementsAre(7, 8, 8, 7));
  EXPECT_THAT(left.offsets, ElementsAre(0, 2, 2, 4));
  // Another session, that of the fifth sample, looks up its {7, 8} again.
  const std::vector<std::int64_t> two = {5, 5, 5, 5, -1, 5};
  left = distinct_samples(batch, two);
  EXPECT_THAT(left.indices, ElementsAre(7, 8, 8, 7, 7, 8));
  EXPECT_THAT(left.offsets, ElementsAre(0, 2, 2, 4, 6));
  const std::vector<std::int64_t> own = {0, 1, 2, 3, 4, 5};
  left = distinct_samples(batch, own);
  EXPECT_EQ(left.indices, batch.indices);
  EXPECT_EQ(left.offsets, batch.offsets);
  left = distinct_samples({}, {});
  EXPECT_THAT(left.indices, IsEmpty());
  EXPECT_THAT(left.offsets, ElementsAre(0));
}

/// Sessions of 1 to 12 samples, in which the first table has the lookups of the sample before with
/// a chance of 0.9, the second of 0.5, and the third never.
struct LogOfSessions {
  Accesses accesses;
  std::vector<std::int64_t> sessions;
};

LogOfSessions drawn_log_of_sessions(std::int64_t samples) {
  LogOfSessions log;
  Random random(11);
  for (std::int64_t session = 0; std::ssize(log.sessions) < samples; ++session) {
    const std::int64_t count = 1 + static_cast<std::int64_t>(random.below(12));
    for (std::int64_t i = 0; i < count && std::ssize(log.sessions) < samples; ++i) {
      log.sessions.push_back(session);
    }
  }
  constexpr std::array kRepeats = {0.9, 0.5, 0.0};
  log.accesses.tables = std::ssize(kRepeats);
  log.accesses.batch = samples;
  log.accesses.offsets = {0};
  for (const double repeats : kRepeats) {
    std::vector<std::int64_t> lookups;
    for (std::size_t s = 0; s < log.sessions.size(); ++s) {
      const bool goes_on = s > 0 && log.sessions[s] == log.sessions[s - 1];
      if (!goes_on || random.uniform() >= repeats) {
        lookups.assign(1 + random.below(20), 0);
        for (std::int64_t& row : lookups) {
          row = static_cast<std::int64_t>(std::exp(random.uniform() * std::log(1e5)));
        }
      }
      log.accesses.indices.insert(log.accesses.indices.end(), lookups.begin(), lookups.end());
      log.accesses.lengths.push_back(std::ssize(lookups));
      log.accesses.offsets.push_back(std::ssize(log.accesses.indices));
    }
  }
  return log;
}

// Code that knows nothing of files counts the same, by batches and tables.
TEST(Sessions, DivideWhatIsProfiled) {
  constexpr std::int64_t kSamples = 1200;
  constexpr std::int64_t kBatches = 3;
  const LogOfSessions log = drawn_log_of_sessions(kSamples);
  const TemporaryFolder folder;
  const auto shape = [](std::size_t entries) { return "(" + std::to_string(entries) + ",)"; };
  const std::string indices =
      folder.write("i.npy", npy_file(log.accesses.indices, shape(log.accesses.indices.size())));
  const std::string lengths = folder.write("l.npy", npy_file(log.accesses.lengths, "(3, 1200)"));
  const std::string sessions = folder.write("s.npy", npy_file(log.sessions, "(1200,)"));
  const std::vector<AccessData> files{open_npy_accesses(indices, lengths, kBatches)};
  const std::vector<std::vector<std::int64_t>> of_samples{open_npy_sessions(sessions, kSamples)};
  EXPECT_EQ(of_samples.front(), log.sessions);
  ProfileOptions options;
  options.row_parts = 4;
  options.sessions = of_samples;
  const std::vector<Table> tables = profile_log(files, options).tables;
  options.sessions = {};
  const std::vector<Table> all = profile_log(files, options).tables;
  for (std::int64_t t = 0; t < log.accesses.tables; ++t) {
    SCOPED_TRACE(t);
    std::int64_t left = 0;
    std::int64_t lookups = 0;
    std::array<std::int64_t, kHistogramBins> rows_by_bin{};
    for (std::int64_t batch = 0; batch < kBatches; ++batch) {
      std::set<std::pair<std::int64_t, std::vector<std::int64_t>>> seen;
      std::map<std::int64_t, std::int64_t> touches;
      const std::int64_t first = batch * kSamples / kBatches;
      for (std::int64_t s = first; s < first + kSamples / kBatches; ++s) {
        const auto at = static_cast<std::size_t>(t * kSamples + s);
        const std::vector<std::int64_t> rows(
            log.accesses.indices.begin() + log.accesses.offsets[at],
            log.accesses.indices.begin() + log.accesses.offsets[at + 1]);
        if (!seen.insert({log.sessions[static_cast<std::size_t>(s)], rows}).second) continue;
        ++left;
        lookups += std::ssize(rows);
        for (const std::int64_t row : rows) ++touches[row];
      }
      for (const auto& [row, times] : touches) {
        ++rows_by_bin[static_cast<std::size_t>(histogram_bin(times))];
      }
    }
    const auto table = static_cast<std::size_t>(t);
    EXPECT_DOUBLE_EQ(tables[table].features, static_cast<double>(left) / kSamples);
    EXPECT_DOUBLE_EQ(tables[table].pooling_factor, static_cast<double>(lookups) / kSamples);
    double rows = 0.0;
    for (const std::int64_t of_bin : rows_by_bin) rows += static_cast<double>(of_bin);
    for (int bin = 0; bin < kHistogramBins; ++bin) {
      EXPECT_NEAR(tables[table].access_histogram[bin],
                  static_cast<double>(rows_by_bin[static_cast<std::size_t>(bin)]) / rows, 1e-12);
    }
    EXPECT_EQ(tables[table].row_shares.size(), 4U);
    EXPECT_EQ(all[table].features, 1.0);
  }
  // 5.6 samples of a session on average, of which the first table repeats nine in ten.
  EXPECT_LT(tables[0].features, 0.35);
  EXPECT_LT(tables[0].pooling_factor, 0.4 * all[0].pooling_factor);
  EXPECT_LT(tables[0].features, tables[1].features);
  EXPECT_EQ(tables[2].features, 1.0);
  EXPECT_EQ(tables[2].pooling_factor, all[2].pooling_factor);
  EXPECT_EQ(tables[2].access_histogram, all[2].access_histogram);
}

TEST(Sessions, AreAskedForOncePerSample) {
  const TemporaryFolder folder;
  const std::vector<std::int64_t> six(6, 1);
  const auto message = [&](const char* shape) {
    const std::string path = folder.write("s.npy", npy_file(six, shape));
    return message_of([&] { (void)open_npy_sessions(path, 5); });
  };
  EXPECT_THAT(message("(6,)"), HasSubstr("s.npy: sessions are [6]; give one for each of the 5"));
  EXPECT_THAT(message("(2, 3)"), HasSubstr("sessions are [2, 3]; give one for each of the 5"));
}

}  // namespace
}  // namespace neuroshard
