#include "weights/lookups/profile_accesses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "message_of.h"
#include "temporary_folder.h"
#include "weights/files/torch_writer.h"
#include "weights/lookups/access_files.h"
#include "weights/lookups/row_counter.h"

namespace neuroshard {
namespace {

using testing::Accesses;
using ::testing::AllOf;
using testing::gzip;
using ::testing::HasSubstr;
using testing::integer_bytes;
using testing::message_of;
using testing::npy_file;
using testing::Packing;
using testing::random_accesses;
using testing::torch_file;

void expect_profile(const AccessData& data, const Accesses& accesses, int row_parts = 0) {
  const std::vector<Table> expected = accesses.expected_profile(row_parts);
  for (const int threads : {1, 3}) {
    std::int64_t last = 0;
    const std::vector<Table> profile = profile_accesses(
        data, {.threads = threads, .row_parts = row_parts, .progress = [&](std::int64_t lookups) {
                 EXPECT_GT(lookups, last);
                 last = lookups;
               }});
    EXPECT_EQ(last, static_cast<std::int64_t>(accesses.indices.size()));
    ASSERT_EQ(profile.size(), expected.size());
    for (std::size_t t = 0; t < expected.size(); ++t) {
      SCOPED_TRACE("table " + std::to_string(t));
      EXPECT_EQ(profile[t].rows, expected[t].rows);
      EXPECT_EQ(profile[t].pooling_factor, expected[t].pooling_factor);
      EXPECT_EQ(profile[t].access_histogram, expected[t].access_histogram);
      EXPECT_EQ(profile[t].row_shares, expected[t].row_shares);
    }
  }
}

TEST(ProfileAccesses, OfAPublishedFileIsWhatTheDefinitionSays) {
  const TemporaryFolder folder;
  for (const int element_bytes : {8, 4}) {
    const Accesses accesses = random_accesses(1, 13, 40, element_bytes == 8);
    const std::string file = torch_file(accesses, element_bytes);
    expect_profile(open_torch_accesses(folder.write("a.pt", file)), accesses);
    expect_profile(open_torch_accesses(folder.write("a.pt.gz", gzip(file))), accesses);
    const std::string large = torch_file(accesses, element_bytes, true);
    expect_profile(open_torch_accesses(folder.write("large.pt", large)), accesses);
  }
}

TEST(ProfileAccesses, CountsTheLookupsOfPartsOfTheRows) {
  const TemporaryFolder folder;
  const Accesses accesses = random_accesses(7, 9, 50, true);
  const std::string file = torch_file(accesses);
  for (const int parts : {1, 3, 64, 1024}) {
    SCOPED_TRACE(parts);
    expect_profile(open_torch_accesses(folder.write("a.pt", file)), accesses, parts);
    expect_profile(open_torch_accesses(folder.write("a.pt.gz", gzip(file))), accesses, parts);
  }
  for (const int parts : {-1, 1025}) {
    EXPECT_THAT(message_of([&] {
                  (void)profile_accesses(open_torch_accesses(folder.write("a.pt", file)),
                                         {.row_parts = parts});
                }),
                HasSubstr("parts of the rows; give 1 to 1024"));
  }
}

TEST(ProfileAccesses, ReadsZipFilesThatStateTheirSizesFirst) {
  const TemporaryFolder folder;
  const Accesses accesses = random_accesses(2, 3, 10);
  const auto count = [](const auto& numbers) { return static_cast<std::int64_t>(numbers.size()); };
  testing::PickleWriter pickle(4);
  pickle.raw("(")
      .tensor("LongStorage", "x", count(accesses.indices), 0, {count(accesses.indices)}, {1})
      .tensor("IntStorage", "y", count(accesses.offsets), 0, {count(accesses.offsets)}, {1})
      .tensor("LongStorage", "z", count(accesses.lengths), 0, {3, 10}, {10, 1})
      .raw("t");
  // The lengths before the indices, which no rule forbids.
  const std::string file = testing::make_zip({{"a/data.pkl", pickle.finish()},
                                              {"a/data/z", integer_bytes(accesses.lengths)},
                                              {"a/data/x", integer_bytes(accesses.indices)},
                                              {"a/data/y", integer_bytes(accesses.offsets, 4)}},
                                             Packing::kStored);
  expect_profile(open_torch_accesses(folder.write("a.pt", file)), accesses);
}

TEST(ProfileAccesses, OfNumpyFilesIsTheSame) {
  const TemporaryFolder folder;
  const Accesses accesses = random_accesses(3, 7, 25);
  const std::string count = std::to_string(accesses.indices.size());
  const auto indices = folder.write("i.npy", npy_file(accesses.indices, "(" + count + ",)"));
  const auto narrow = folder.write("n.npy", npy_file(accesses.indices, "(" + count + ",)", 4));
  const auto lengths = folder.write("l.npy", npy_file(accesses.lengths, "(7, 25)"));
  const auto offsets = folder.write("o.npy", npy_file(accesses.offsets, "(176,)", 4));
  expect_profile(open_npy_accesses(indices, lengths), accesses);
  expect_profile(open_npy_accesses(narrow, lengths), accesses);
  expect_profile(open_npy_offsets(indices, offsets, 25), accesses);
}

TEST(RowCounter, CountsRowsFarApart) {
  RowCounter counter;
  const std::int64_t far = std::int64_t{1} << 39;
  for (int round = 0; round < 2; ++round) {
    const std::vector<std::int64_t> once{far, 0, (1 << 26) - 1, 1 << 26, far + 1};
    counter.add(once);
    counter.add({&once[0], 1});
    const std::vector<std::int64_t> hot(70'000, 5);
    for (int i = 0; i < 3; ++i) counter.add(hot);
    EXPECT_EQ(counter.largest_index(), far + 1);
    std::array<std::int64_t, kHistogramBins> expected{};
    expected[0] = 4;
    expected[1] = 1;
    expected[16] = 1;
    EXPECT_EQ(counter.rows_by_bin(), expected);
    counter.clear();
    EXPECT_EQ(counter.largest_index(), -1);
  }
}

TEST(RowCounter, SharesOutAllLookupsAlsoOfHotRowsAndRowsFarApart) {
  RowCounter counter(RowCounter::Counts::kExact);
  const std::int64_t far = std::int64_t{1} << 30;
  const std::vector<std::int64_t> hot(70'000, 5);
  const std::vector<std::int64_t> far_ones(30'000, far);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 3; ++i) {
      counter.add(hot);
      counter.add(far_ones);
    }
    EXPECT_THAT(counter.lookup_shares(far + 1, 4), ::testing::ElementsAre(0.7, 0.0, 0.0, 0.3));
    counter.clear();
  }
  // Touches of the table before are forgotten, those beyond full counters too.
  counter.add(std::vector<std::int64_t>{0});
  EXPECT_THAT(counter.lookup_shares(8, 2), ::testing::ElementsAre(1.0, 0.0));
}

std::string open_error(const TemporaryFolder& folder, const std::string& bytes) {
  const std::string path = folder.write("bad.pt", bytes);
  return message_of([&] { (void)profile_accesses(open_torch_accesses(path)); });
}

TEST(ProfileAccesses, NamesWhatIsWrongWithAPublishedFile) {
  const TemporaryFolder folder;
  const Accesses good = random_accesses(4, 4, 20);

  EXPECT_THAT(open_error(folder, "\x80\x02\x8a\x0a"), HasSubstr("before 1.6"));
  EXPECT_THAT(open_error(folder, ""), HasSubstr("not a zip"));

  Accesses bad = good;
  bad.indices[3] = -7;
  EXPECT_THAT(open_error(folder, torch_file(bad)),
              AllOf(HasSubstr("bad.pt"), HasSubstr("table 0"), HasSubstr("index 3 is -7")));
  bad = good;
  bad.indices.back() = std::int64_t{1} << 41;
  EXPECT_THAT(open_error(folder, torch_file(bad)), HasSubstr("[0, 2^40)"));
  EXPECT_THAT(open_error(folder, gzip(torch_file(bad))), HasSubstr("[0, 2^40)"));
  bad = good;
  ++bad.lengths[45];
  EXPECT_THAT(open_error(folder, torch_file(bad)),
              AllOf(HasSubstr("table 2"), HasSubstr("lengths")));
  bad = good;
  bad.lengths[45] = -1;
  EXPECT_THAT(open_error(folder, torch_file(bad)),
              AllOf(HasSubstr("table 2, sample 5"), HasSubstr("-1")));
  bad = good;
  bad.offsets[30] = 0;
  EXPECT_THAT(open_error(folder, torch_file(bad)), HasSubstr("never fall"));
  bad = good;
  bad.indices.pop_back();
  EXPECT_THAT(open_error(folder, torch_file(bad)), HasSubstr("indices, but"));
  bad = good;
  bad.offsets.pop_back();
  EXPECT_THAT(open_error(folder, torch_file(bad)), HasSubstr("expected one more"));
}

TEST(ProfileAccesses, NoticesEveryCut) {
  const TemporaryFolder folder;
  const Accesses accesses = random_accesses(5, 2, 6);
  const std::string file = torch_file(accesses);
  const std::string packed = gzip(file);
  const std::size_t directory = file.find("PK\x01\x02");
  for (std::size_t size = 0; size < directory; size += 13) {
    const std::string cut = file.substr(0, size);
    // Bytes after the last number may be missing.
    if (size > directory - 150) break;
    EXPECT_THROW((void)open_torch_accesses(folder.write("cut.pt", cut)), Error) << size;
  }
  for (std::size_t size = 1; size < packed.size() - 40; size += 13) {
    const auto path = folder.write("cut.pt.gz", packed.substr(0, size));
    EXPECT_THROW((void)profile_accesses(open_torch_accesses(path)), Error) << size;
  }
}

TEST(ProfileAccesses, NamesWhatIsWrongWithNumpyFiles) {
  const TemporaryFolder folder;
  const auto indices = folder.write("i.npy", npy_file({1, 2, 3}, "(3,)"));
  const auto error = [&](const std::string& bytes) {
    const auto path = folder.write("l.npy", bytes);
    return message_of([&] { (void)open_npy_accesses(indices, path); });
  };
  EXPECT_THAT(error("nonsense, but longer than a header"), HasSubstr("not a NumPy file"));
  EXPECT_THAT(error(npy_file({1, 2}, "(2,)")), HasSubstr("[tables, batch]"));
  EXPECT_THAT(error(npy_file({1, 1}, "(1, 2)")), HasSubstr("3 indices"));
  EXPECT_THAT(error(npy_file({1, 2}, "(1, 3)")), HasSubstr("cut short"));
  EXPECT_THAT(error(npy_file({}, "(0, 3)")), HasSubstr("[0, 3]"));
  std::string floats = npy_file({1, 2}, "(1, 2)");
  floats.replace(floats.find("<i8"), 3, "<f8");
  EXPECT_THAT(error(floats), HasSubstr("<f8"));
  std::string newer = npy_file({1, 2}, "(1, 2)");
  newer[6] = '\xC8';
  EXPECT_THAT(error(newer), HasSubstr("version 200"));
  std::string transposed = npy_file({1, 2}, "(1, 2)");
  transposed.replace(transposed.find("False"), 5, "True ");
  EXPECT_THAT(error(transposed), HasSubstr("C order"));
  const auto offsets = folder.write("o.npy", npy_file({0, 1, 3}, "(3,)"));
  EXPECT_THAT(message_of([&] { (void)open_npy_offsets(indices, offsets, 3); }),
              HasSubstr("batch of 3"));
  EXPECT_THAT(message_of([] { (void)open_torch_accesses("/nonexistent.pt"); }, ErrorKind::kIo),
              HasSubstr("/nonexistent.pt"));
}

}  // namespace
}  // namespace neuroshard
