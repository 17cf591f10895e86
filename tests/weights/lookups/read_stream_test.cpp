#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <limits>

#include "message_of.h"
#include "temporary_folder.h"
#include "weights/files/torch_writer.h"
#include "weights/lookups/access_files.h"
#include "weights/lookups/stream_store.h"

namespace neuroshard {
namespace {

using testing::Accesses;
using ::testing::AllOf;
using testing::gzip;
using ::testing::HasSubstr;
using testing::message_of;
using testing::npy_file;
using testing::random_accesses;
using testing::torch_file;

constexpr std::int64_t kRows = std::int64_t{1} << 40;  // More than any table here has.

void expect_streams(const AccessData& data, const Accesses& accesses) {
  for (std::int64_t t = accesses.tables; t-- > 0;) {  // Any order will do.
    SCOPED_TRACE(t);
    const AccessStream stream = read_stream(data, static_cast<std::size_t>(t), kRows);
    const std::int64_t first = accesses.offsets[static_cast<std::size_t>(t * accesses.batch)];
    ASSERT_EQ(stream.offsets.size(), static_cast<std::size_t>(accesses.batch + 1));
    for (std::size_t s = 0; s < stream.offsets.size(); ++s) {
      ASSERT_EQ(stream.offsets[s], accesses.offsets[t * accesses.batch + s] - first);
    }
    const auto begin = accesses.indices.begin() + first;
    EXPECT_EQ(stream.indices, std::vector<std::int64_t>(begin, begin + stream.offsets.back()));
  }
}

TEST(ReadStream, GivesTheLookupsOfEachTable) {
  const TemporaryFolder folder;
  for (const int element_bytes : {8, 4}) {
    SCOPED_TRACE(element_bytes);
    const Accesses accesses = random_accesses(2, 11, 30, element_bytes == 8);
    expect_streams(open_torch_accesses(folder.write("a.pt", torch_file(accesses, element_bytes))),
                   accesses);

    const std::string size = std::to_string(accesses.indices.size());
    const std::string indices =
        folder.write("i.npy", npy_file(accesses.indices, "(" + size + ",)", element_bytes));
    const std::string lengths =
        folder.write("l.npy", npy_file(accesses.lengths, "(11, 30)", element_bytes));
    expect_streams(open_npy_accesses(indices, lengths), accesses);
    const std::string offsets =
        folder.write("o.npy", npy_file(accesses.offsets, "(331,)", element_bytes));
    expect_streams(open_npy_offsets(indices, offsets, 30), accesses);
  }
}

TEST(ReadStream, RefusesWhatItCannotRead) {
  const TemporaryFolder folder;
  const Accesses accesses = random_accesses(3, 4, 20);
  const AccessData packed =
      open_torch_accesses(folder.write("a.pt.gz", gzip(torch_file(accesses))));
  EXPECT_THAT(message_of([&] { (void)read_stream(packed, 0, kRows); }, ErrorKind::kIo),
              AllOf(HasSubstr("a.pt.gz"), HasSubstr("unpack it first")));

  Accesses wrong = accesses;
  std::size_t table = 0;
  while (wrong.offsets[(table + 1) * 20] == 0) ++table;
  wrong.indices[0] = -7;
  const AccessData negative = open_torch_accesses(folder.write("b.pt", torch_file(wrong)));
  EXPECT_THAT(message_of([&] { (void)read_stream(negative, table, kRows); }),
              AllOf(HasSubstr("b.pt: table " + std::to_string(table)), HasSubstr("row -7")));
}

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

TEST(OpenAccesses, ComparesClaimsWithTheSizeOfTheFile) {
  const TemporaryFolder folder;
  const std::string lengths = folder.write("l.npy", npy_file({2'200'000'000}, "(1, 1)"));
  for (const char* count : {"2200000000", "9223372036854775807"}) {
    const std::string bytes = npy_file({}, std::string("(") + count + ",)");
    for (const std::string& indices :
         {folder.write("i.npy", bytes), folder.write("i.npy.gz", gzip(bytes))}) {
      EXPECT_THAT(message_of([&] { (void)open_npy_accesses(indices, lengths); }),
                  AllOf(HasSubstr("i.npy"), HasSubstr(std::string("claims ") + count)));
    }
  }
}

TEST(OpenAccesses, ClosesAFileThatItCannotRead) {
  const auto open_files = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const TemporaryFolder folder;
  const auto before = open_files();
  EXPECT_THROW((void)open_torch_accesses(folder / ""), Error);
  EXPECT_EQ(open_files(), before);
}

TEST(OpenAccesses, MultipliesSizesWithoutOverflow) {
  const TemporaryFolder folder;
  const std::string indices = folder.write("i.npy", npy_file({1, 2, 3, 4}, "(4,)"));
  const auto error = [&](const std::vector<std::int64_t>& numbers, const std::string& shape) {
    const std::string lengths = folder.write("l.npy", npy_file(numbers, shape));
    return message_of([&] { (void)open_npy_accesses(indices, lengths); });
  };
  // 4 * (2^62 + 1) is 4 in 64 bits.
  EXPECT_THAT(error({1, 1, 1, 1}, "(4, 4611686018427387905)"),
              HasSubstr("lengths are [4, 4611686018427387905]"));
  EXPECT_THAT(error({1, 1, 1, 1}, "(4, 1152921504606846976)"), HasSubstr("claims 46116860184273"));
  EXPECT_THAT(error({kMost, kMost, 2, 4}, "(2, 2)"), HasSubstr("table 0, sample 1: has 92233720"));

  Accesses accesses = random_accesses(5, 2, 3);
  testing::PickleWriter pickle(4);
  const auto count = static_cast<std::int64_t>(accesses.indices.size());
  pickle.raw("(")
      .tensor("LongStorage", "x", count, 0, {count}, {1})
      .tensor("LongStorage", "y", 7, 0, {7}, {1})
      .tensor("LongStorage", "z", 0, 0, {kMost / 2 + 1, kMost / 2 + 1}, {kMost / 2 + 1, 1})
      .raw("t");
  const std::string file = folder.write(
      "a.pt", testing::make_zip({{"a/data.pkl", pickle.finish()}}, testing::Packing::kStored));
  EXPECT_THAT(message_of([&] { (void)open_torch_accesses(file); }),
              HasSubstr("lengths is not a contiguous tensor"));
}

TEST(StreamStore, ServesRecordedLookups) {
  const TemporaryFolder folder;
  const Accesses accesses = random_accesses(4, 5, 25);
  const std::string file = folder.write("a.pt", torch_file(accesses));
  const AccessData data = open_torch_accesses(file);
  std::vector<Table> tables = accesses.expected_profile();
  StreamStore store(tables, data, std::size_t{1} << 30);
  EXPECT_EQ(store.batch(), 25);
  for (std::size_t t = 0; t < tables.size(); ++t) {
    EXPECT_EQ(store.stream(t)->indices, read_stream(data, t, kRows).indices);
  }

  for (Table& table : tables) table.rows = 1;
  StreamStore small(tables, data, 0);
  EXPECT_THAT(message_of([&] {
                for (std::size_t t = 0; t < tables.size(); ++t) (void)small.stream(t);
              }),
              AllOf(HasSubstr("of 1;"), HasSubstr("neuroshard profile")));
  tables.pop_back();
  EXPECT_THAT(message_of([&] { StreamStore other(tables, data, 0); }),
              AllOf(HasSubstr("has 5 tables"), HasSubstr("configs 4")));
}

}  // namespace
}  // namespace neuroshard
