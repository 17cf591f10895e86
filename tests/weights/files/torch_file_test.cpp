#include "weights/files/torch_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <limits>

#include "message_of.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "weights/files/read_file.h"
#include "weights/files/torch_writer.h"

namespace neuroshard {
namespace {

using testing::changes_at;
using ::testing::ElementsAre;
using testing::float32_bytes;
using ::testing::HasSubstr;
using testing::make_zip;
using testing::message_of;
using testing::Packing;
using testing::PickleWriter;
using ::testing::StartsWith;
using testing::ZipEntry;

/// A file whose root is one tensor, with this one storage.
std::string file_of(const PickleWriter& pickle, const std::string& storage,
                    Packing packing = Packing::kStored) {
  return make_zip({{"a/data.pkl", pickle.finish()}, {"a/data/0", storage}}, packing);
}

Tensor tensor_of(const std::string& bytes) {
  TorchFile file(bytes, "m.pt");
  return file.tensor(file.pickle().root, "x");
}

std::string tensor_error(const std::string& bytes) {
  return message_of([&] { (void)tensor_of(bytes); });
}

const std::string kSix = float32_bytes({0, 1, 2, 3, 4, 5});

/// Error for a view of a storage of six numbers.
std::string view_error(std::int64_t offset, const std::vector<std::int64_t>& shape,
                       const std::vector<std::int64_t>& strides) {
  return tensor_error(
      file_of(PickleWriter().tensor("FloatStorage", "0", 6, offset, shape, strides), kSix));
}

TEST(TorchFile, HonoursOffsetAndStrides) {
  const auto values = [](std::int64_t offset, std::vector<std::int64_t> shape,
                         std::vector<std::int64_t> strides) {
    return tensor_of(
               file_of(PickleWriter().tensor("FloatStorage", "0", 6, offset, shape, strides), kSix))
        .values;
  };
  EXPECT_THAT(values(0, {2, 3}, {3, 1}), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(values(0, {3, 2}, {1, 3}), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(values(1, {2}, {3}), ElementsAre(1, 4));
  EXPECT_THAT(values(5, {1, 1}, {100, 100}), ElementsAre(5));
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(values(1, {2, 1}, {3, kMost}), ElementsAre(1, 4));
  EXPECT_THAT(values(2, {}, {}), ElementsAre(2));
  EXPECT_THAT(values(4, {3}, {0}), ElementsAre(4, 4, 4));
  EXPECT_THAT(values(0, {1, 2, 3}, {6, 3, 1}), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(TorchFile, ReadsFloat64AndInt64) {
  const auto read = [](const char* type, const std::string& bytes) {
    return tensor_of(file_of(PickleWriter().tensor(type, "0", 2, 0, {2}, {1}), bytes)).values;
  };
  EXPECT_THAT(read("DoubleStorage", testing::float64_bytes({0.1, -3.0})), ElementsAre(0.1F, -3.0F));
  EXPECT_THAT(
      read("LongStorage", std::string("\x07\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", 16)),
      ElementsAre(7.0F, -1.0F));
}

TEST(TorchFile, RejectsViewsThatReachOutside) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  EXPECT_EQ(view_error(6, {1}, {1}), "m.pt: x: reaches outside of its storage of 6 numbers");
  EXPECT_THAT(view_error(0, {7}, {1}), HasSubstr("outside"));
  EXPECT_THAT(view_error(1, {2, 3}, {3, 1}), HasSubstr("outside"));
  EXPECT_THAT(view_error(0, {2}, {kHuge}), HasSubstr("outside"));
  EXPECT_THAT(view_error(0, {kHuge}, {0}), HasSubstr("outside"));
  EXPECT_THAT(view_error(0, {3, 3}, {0, 0}), HasSubstr("outside"));
  EXPECT_THAT(view_error(0, {kHuge, kHuge, 4}, {0, 0, 0}), HasSubstr("outside"));
  EXPECT_THAT(view_error(kHuge, {2}, {kHuge}), HasSubstr("outside"));
  EXPECT_EQ(view_error(0, {2, 0}, {1, 1}), "m.pt: x: is empty, shape [2, 0]");
  EXPECT_EQ(view_error(0, {2, 1}, {1}), "m.pt: x: has 2 sizes, but 1 strides");
}

TEST(TorchFile, RejectsStoragesOfAnotherSize) {
  const auto error = [](std::int64_t elements, const std::string& bytes) {
    return tensor_error(
        file_of(PickleWriter().tensor("FloatStorage", "0", elements, 0, {1}, {1}), bytes));
  };
  EXPECT_EQ(error(7, kSix), "m.pt: x: its storage '0' has 24 bytes; 7 numbers take 28");
  EXPECT_EQ(error(5, kSix), "m.pt: zip entry 'a/data/0' has more than the 20 bytes expected");
  EXPECT_THAT(error(6, kSix + "x"), HasSubstr("more than the 24 bytes expected"));
  EXPECT_THAT(error(std::int64_t{1} << 40, kSix), HasSubstr("more than 256 MiB"));
  EXPECT_THAT(error(std::int64_t{1} << 62, kSix), HasSubstr("more than 256 MiB"));
}

TEST(TorchFile, RejectsBombs) {
  // Small in the file, large in memory, and larger than what the pickle says.
  const std::string zeros(8 << 20, '\0');
  const PickleWriter pickle = PickleWriter().tensor("FloatStorage", "0", 6, 0, {6}, {1});
  const std::string bomb = file_of(pickle, zeros, Packing::kDeflated);
  EXPECT_LT(bomb.size(), zeros.size() / 100);
  EXPECT_THAT(tensor_error(bomb), HasSubstr("more than the 24 bytes expected"));
  EXPECT_THAT(tensor_error(make_zip({{"a/data.pkl", zeros}}, Packing::kDeflated)),
              HasSubstr("'a/data.pkl' has more than the 1048576 bytes expected"));
}

TEST(TorchFile, RejectsOtherArchives) {
  const std::string pickle = PickleWriter().integer(1).finish();
  EXPECT_THAT(tensor_error(""), StartsWith("m.pt: "));
  EXPECT_THAT(tensor_error(pickle),
              StartsWith("m.pt: is not a sound zip file, as torch.save writes them"));
  EXPECT_THAT(tensor_error(make_zip({{"a/other", "x"}}, Packing::kStored)),
              HasSubstr("m.pt: has no data.pkl; expected a file of torch.save"));
  EXPECT_THAT(tensor_error(make_zip({{"data.pkl", pickle}}, Packing::kStored)),
              HasSubstr("has no data.pkl"));
  EXPECT_THAT(
      tensor_error(make_zip({{"a/data.pkl", pickle}, {"b/data.pkl", pickle}}, Packing::kStored)),
      HasSubstr("more than one data.pkl"));
  EXPECT_THAT(
      tensor_error(make_zip({{"a/data.pkl", pickle}, {"a/byteorder", "big"}}, Packing::kStored)),
      HasSubstr("its byte order is 'big', not 'little'"));
  EXPECT_THAT(tensor_error(make_zip({{"a/data.pkl", pickle}}, Packing::kStored)),
              HasSubstr("m.pt: x: is not a tensor"));
  const PickleWriter elsewhere =
      PickleWriter().tensor("FloatStorage", "../../secret", 6, 0, {6}, {1});
  EXPECT_THAT(tensor_error(file_of(elsewhere, kSix)),
              HasSubstr("zip entry 'a/data/../../secret' is missing"));
}

/// Reading `bytes` either works or throws Error; the sanitizers look on.
void expect_no_crash(const std::string& bytes) {
  try {
    (void)parse_compute_checkpoint(bytes, "m.pt");
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), StartsWith("m.pt: "));
  }
}

std::string small_checkpoint(Packing packing) {
  const CostModels models =
      testing::random_models(5, {.table_network = {2}, .head = {3, 1}, .comm = {4}, .devices{}});
  return testing::make_compute_checkpoint(models.compute, {.packing = packing});
}

TEST(TorchFile, SurvivesTruncationAnywhere) {
  for (const Packing packing : {Packing::kStored, Packing::kDeflated}) {
    const std::string good = small_checkpoint(packing);
    (void)parse_compute_checkpoint(good, "m.pt");
    for (std::size_t length = 0; length < good.size(); ++length) {
      EXPECT_THAT(message_of([&] {
                    (void)parse_compute_checkpoint(std::string_view(good).substr(0, length),
                                                   "m.pt");
                  }),
                  StartsWith("m.pt: "));
    }
  }
}

TEST(TorchFile, SurvivesAnyChangedByteOfTheArchive) {
  constexpr std::array kFlips = {0x01U, 0x80U, 0xffU};
  for (const Packing packing : {Packing::kStored, Packing::kDeflated}) {
    const std::string good = small_checkpoint(packing);
    for (std::size_t i = 0; i < good.size(); ++i) {
      for (const unsigned flip : changes_at(i, kFlips)) {
        std::string bad = good;
        bad[i] = static_cast<char>(static_cast<unsigned char>(bad[i]) ^ flip);
        expect_no_crash(bad);
      }
    }
  }
}

TEST(TorchFile, SurvivesAnyChangedByteOfTheContents) {
  constexpr std::array kFlips = {0x01U, 0x40U, 0xffU};
  // Zipped anew, so that the checksums do not catch the damage first.
  const auto entries = testing::read_zip(small_checkpoint(Packing::kStored));
  for (std::size_t entry = 0; entry < entries.size(); ++entry) {
    for (std::size_t i = 0; i < entries[entry].bytes.size(); ++i) {
      for (const unsigned flip : changes_at(i, kFlips)) {
        auto bad = entries;
        char& byte = bad[entry].bytes[i];
        byte = static_cast<char>(static_cast<unsigned char>(byte) ^ flip);
        expect_no_crash(make_zip(bad, Packing::kStored));
      }
    }
  }
}

TEST(TorchFile, SurvivesTruncationOfARealFile) {
  const std::string good =
      read_file(std::filesystem::path(NEUROSHARD_TEST_DATA) / "golden/models/compute.pt");
  for (std::size_t length = 0; length < good.size(); length += 37) {
    EXPECT_THAT(message_of([&] {
                  (void)parse_compute_checkpoint(std::string_view(good).substr(0, length), "m.pt");
                }),
                StartsWith("m.pt: "));
  }
}

}  // namespace
}  // namespace neuroshard
