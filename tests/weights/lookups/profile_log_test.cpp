#include "weights/lookups/profile_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "message_of.h"
#include "temporary_folder.h"
#include "weights/lookups/access_files.h"

namespace neuroshard {
namespace {

using testing::Accesses;
using testing::gzip;
using ::testing::HasSubstr;
using testing::message_of;
using testing::npy_file;
using testing::random_accesses;
using testing::torch_file;

std::string shape_of(std::size_t entries) { return "(" + std::to_string(entries) + ",)"; }

/// The samples of some batches, in order.
Accesses joined(const std::vector<Accesses>& batches) {
  Accesses all;
  all.tables = batches.front().tables;
  all.offsets.push_back(0);
  for (std::int64_t t = 0; t < all.tables; ++t) {
    for (const Accesses& batch : batches) {
      const auto first = batch.indices.begin() + batch.offsets[t * batch.batch];
      const auto end = batch.indices.begin() + batch.offsets[(t + 1) * batch.batch];
      all.indices.insert(all.indices.end(), first, end);
      for (std::int64_t s = 0; s < batch.batch; ++s) {
        all.lengths.push_back(batch.lengths[t * batch.batch + s]);
        all.offsets.push_back(all.offsets.back() + all.lengths.back());
      }
    }
  }
  for (const Accesses& batch : batches) all.batch += batch.batch;
  return all;
}

class ProfileLog : public ::testing::Test {
 protected:
  ProfileLog() {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      batches_.push_back(random_accesses(seed, 9, 40));
    }
    all_ = joined(batches_);
    for (std::size_t b = 0; b < batches_.size(); ++b) {
      paths_.push_back(folder_.write(std::to_string(b) + ".pt", torch_file(batches_[b])));
    }
  }
  [[nodiscard]] std::vector<AccessData> files() const {
    std::vector<AccessData> log;
    for (const std::string& path : paths_) log.push_back(open_torch_accesses(path));
    return log;
  }

  TemporaryFolder folder_;
  std::vector<Accesses> batches_;
  Accesses all_;
  std::vector<std::string> paths_;
};

TEST_F(ProfileLog, SaysTheSameHoweverBatchesAreInFiles) {
  const std::string whole = torch_file(all_);
  const std::string indices =
      folder_.write("i.npy", npy_file(all_.indices, shape_of(all_.indices.size())));
  const std::string lengths = folder_.write("l.npy", npy_file(all_.lengths, "(9, 160)"));
  const std::string offsets =
      folder_.write("o.npy", npy_file(all_.offsets, shape_of(all_.offsets.size())));
  std::vector<std::vector<AccessData>> logs = {
      files(),
      {open_torch_accesses(folder_.write("all.pt", whole), 4)},
      {open_torch_accesses(folder_.write("all.pt.gz", gzip(whole)), 4)},
      {open_npy_accesses(indices, lengths, 4)},
      {open_npy_offsets(indices, offsets, 160, 4)},
  };
  logs.push_back(files());
  logs.back()[2] = open_torch_accesses(folder_.write("2.pt.gz", gzip(torch_file(batches_[2]))));
  const std::vector<Table> of_all = all_.expected_profile(5);
  const LogProfile expected = profile_log(logs.front(), {.threads = 1, .row_parts = 5}, true);
  for (const std::vector<AccessData>& log : logs) {
    SCOPED_TRACE(&log - logs.data());
    EXPECT_EQ(batch_of_log(log), 40);
    std::int64_t last = 0;
    const LogProfile profile = profile_log(
        log,
        {.threads = 3, .row_parts = 5, .progress = [&](std::int64_t counted) { last = counted; }},
        true);
    EXPECT_EQ(last, static_cast<std::int64_t>(all_.indices.size()));
    ASSERT_EQ(profile.tables.size(), of_all.size());
    for (std::size_t t = 0; t < of_all.size(); ++t) {
      SCOPED_TRACE(t);
      const Table& table = profile.tables[t];
      EXPECT_EQ(table.rows, of_all[t].rows);
      EXPECT_EQ(table.pooling_factor, of_all[t].pooling_factor);
      EXPECT_EQ(table.row_shares, of_all[t].row_shares);
      EXPECT_EQ(table.access_histogram, expected.tables[t].access_histogram);
      EXPECT_EQ(table.popularity, expected.tables[t].popularity);
      EXPECT_EQ(table.popularity.empty(), table.pooling_factor == 0.0);
      EXPECT_EQ(profile.miss_curves[t].lookups, expected.miss_curves[t].lookups);
      EXPECT_EQ(profile.miss_curves[t].points.size(), expected.miss_curves[t].points.size());
    }
  }
}

TEST_F(ProfileLog, HasHistogramsOfABatchOnAverage) {
  const LogProfile profile = profile_log(files(), {});
  EXPECT_TRUE(profile.miss_curves.empty());
  for (std::size_t t = 0; t < profile.tables.size(); ++t) {
    std::array<double, kHistogramBins> rows{};
    double all = 0.0;
    for (const Accesses& batch : batches_) {
      std::map<std::int64_t, int> touches;
      const auto table = static_cast<std::int64_t>(t);
      for (std::int64_t i = batch.offsets[table * 40]; i < batch.offsets[(table + 1) * 40]; ++i) {
        ++touches[batch.indices[static_cast<std::size_t>(i)]];
      }
      for (const auto& [row, count] : touches) {
        std::size_t bin = 0;
        while ((1 << bin) < count) ++bin;
        rows[bin] += 1.0;
        all += 1.0;
      }
    }
    for (std::size_t bin = 0; bin < rows.size() && all > 0.0; ++bin) {
      EXPECT_DOUBLE_EQ(profile.tables[t].access_histogram[bin], rows[bin] / all);
    }
  }
}

TEST_F(ProfileLog, NamesFilesThatDoNotGoTogether) {
  const auto message = [&](const AccessData& other) {
    std::vector<AccessData> log = files();
    log[3] = other;
    return message_of([&] { (void)profile_log(log, {}); });
  };
  const auto write = [&](const Accesses& accesses) {
    return folder_.write("other.pt", torch_file(accesses));
  };
  EXPECT_THAT(message(open_torch_accesses(write(random_accesses(1, 8, 40)))),
              HasSubstr("other.pt: has tables: 8, but " + paths_[0] + " 9"));
  EXPECT_THAT(message(open_torch_accesses(write(random_accesses(1, 9, 40)), 2)),
              HasSubstr("other.pt: has samples of a batch: 20, but " + paths_[0] + " 40"));
  for (const std::int64_t batches : {0, 3, 80}) {
    EXPECT_THAT(
        message_of([&] { (void)open_torch_accesses(paths_[0], batches); }),
        HasSubstr("0.pt: its 40 samples are not " + std::to_string(batches) + " equal batches"));
  }
  Accesses negative = batches_[0];
  negative.indices[5] = -4;
  EXPECT_THAT(message(open_torch_accesses(write(negative))), HasSubstr("index 5 is -4"));
}

}  // namespace
}  // namespace neuroshard
