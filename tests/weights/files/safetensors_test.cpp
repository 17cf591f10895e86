#include "weights/files/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "message_of.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;
using testing::message_of;
using ::testing::StartsWith;

std::string file_of(const std::string& header, const std::string& data) {
  std::string bytes;
  for (std::size_t i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xFFU);
  return bytes + header + data;
}

std::string error_of(const std::string& bytes) {
  return message_of([&] { (void)parse_safetensors(bytes, "w.safetensors"); });
}

/// A header with tensor "a" like this, in a file with `data_bytes` bytes of data.
std::string entry_error(const std::string& entry, std::size_t data_bytes = 8) {
  return error_of(file_of("{\"a\":" + entry + "}", std::string(data_bytes, '\0')));
}

TEST(Safetensors, WritesTheDocumentedLayout) {
  const Safetensors contents{{{"b", {{2, 1}, {1.5F, -2.0F}}}, {"a", {{1}, {0.0F}}}}, {{"k", "v"}}};
  const std::string header = R"({"__metadata__":{"k":"v"},)"
                             R"("a":{"data_offsets":[0,4],"dtype":"F32","shape":[1]},)"
                             R"("b":{"data_offsets":[4,12],"dtype":"F32","shape":[2,1]}})";
  const std::string padding((8 - header.size() % 8) % 8, ' ');
  const std::string data("\0\0\0\0\0\0\xc0\x3f\0\0\0\xc0", 12);
  EXPECT_EQ(serialize_safetensors(contents), file_of(header + padding, data));
}

TEST(Safetensors, ReadsWhatItWrites) {
  const Safetensors contents{{{"x", {{2, 3}, {1, 2, 3, 4, 5, std::nanf("")}}}, {"y", {{}, {7}}}},
                             {{"note", "line\n\"quoted\" \xc3\xa4"}}};
  const std::string bytes = serialize_safetensors(contents);
  const Safetensors read = parse_safetensors(bytes, "w");
  EXPECT_EQ(read.metadata, contents.metadata);
  EXPECT_EQ(read.tensors.at("y"), contents.tensors.at("y"));
  EXPECT_EQ(read.tensors.at("x").shape, contents.tensors.at("x").shape);
  EXPECT_EQ(serialize_safetensors(read), bytes);
}

TEST(Safetensors, ReadsTensorsInAnyOrderOfTheData) {
  const std::string header = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},)"
                             R"("b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  const Safetensors read =
      parse_safetensors(file_of(header, std::string("\0\0\x80\x3f\0\0\0\x40", 8)), "w");
  EXPECT_EQ(read.tensors.at("a").values[0], 2.0F);
  EXPECT_EQ(read.tensors.at("b").values[0], 1.0F);
}

TEST(Safetensors, RejectsABadHeader) {
  EXPECT_EQ(error_of("1234567"), "w.safetensors: has 7 bytes; too few for a safetensors file");
  EXPECT_THAT(error_of(std::string("\x05\0\0\0\0\0\0\0{}", 10)),
              "w.safetensors: says that its header has 5 bytes; the file has 10; it is cut short "
              "or not a safetensors file");
  EXPECT_THAT(error_of(std::string(8, '\xff') + "{}"), HasSubstr("cut short or not a safetensors"));
  EXPECT_THAT(error_of(file_of("", "")), HasSubstr("header: is not valid JSON"));
  EXPECT_THAT(error_of(file_of("[1]", "")), HasSubstr("header: is an array; expected an object"));
  EXPECT_THAT(error_of(file_of(R"({"a":1,"a":2})", "")), HasSubstr("'a' occurs twice"));
  EXPECT_THAT(error_of(file_of(R"({"__metadata__":{"k":1}})", "")),
              HasSubstr("__metadata__: k is 1; give a text"));
  EXPECT_THAT(error_of(file_of(R"({"__metadata__":7})", "")), HasSubstr("__metadata__: is 7"));
}

TEST(Safetensors, RejectsBadTensors) {
  EXPECT_EQ(entry_error(R"({"dtype":"F16","shape":[2],"data_offsets":[0,8]})"),
            "w.safetensors: tensor 'a': dtype is 'F16'; weights must be F32");
  EXPECT_THAT(entry_error(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})"),
              HasSubstr("more than the 8 bytes of data"));
  EXPECT_THAT(entry_error(R"({"dtype":"F32","shape":[1],"data_offsets":[0,8]})"),
              HasSubstr("spans 8 bytes; the shape [1] has 4"));
  EXPECT_THAT(entry_error(R"({"dtype":"F32","shape":[0],"data_offsets":[0,0]})"),
              HasSubstr("shape is 0"));
  EXPECT_THAT(entry_error(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})"),
              HasSubstr("shape is -2"));
  EXPECT_THAT(
      entry_error(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]})"),
      HasSubstr("shape is 4294967296"));
  EXPECT_THAT(entry_error(R"({"dtype":"F32","shape":[8,8,8,8,8,8],"data_offsets":[0,8]})"),
              HasSubstr("more than the 8 bytes of data"));
  EXPECT_THAT(entry_error(R"({"dtype":"F32","shape":[2],"data_offsets":[0,16]})"),
              HasSubstr("data_offsets is 16"));
  EXPECT_THAT(entry_error(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})"),
              HasSubstr("data_offsets is 0"));
  EXPECT_THAT(entry_error(R"({"dtype":"F32","shape":[1],"data_offsets":[2,6]})"),
              HasSubstr("use a multiple of 4"));
  EXPECT_THAT(entry_error(R"({"dtype":"F32","shape":[1],"data_offsets":[4,8]})"),
              HasSubstr("'a': begins at byte 4 of the data; expected 0"));
  EXPECT_THAT(entry_error(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})"),
              HasSubstr("has 8 bytes of data, but its tensors end at 4"));
  EXPECT_THAT(entry_error(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8,9]})"),
              HasSubstr("two numbers"));
  EXPECT_THAT(entry_error(R"({"dtype":"F32","shape":[2]})"),
              HasSubstr("'data_offsets' is missing"));
  EXPECT_THAT(entry_error(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1})"),
              HasSubstr("unknown field 'x'"));
  EXPECT_THAT(entry_error(R"({"dtype":"F32","shape":[1,1,1,1,1,1,1,1,2],"data_offsets":[0,8]})"),
              HasSubstr("9 dimensions"));
  const std::string overlap = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                              R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})";
  EXPECT_THAT(error_of(file_of(overlap, std::string(8, '\0'))),
              HasSubstr("'b': begins at byte 4 of the data; expected 8"));
}

TEST(Safetensors, SurvivesTruncationAndChangedBytes) {
  const std::string good = serialize_safetensors(
      {{{"one.weight", {{2, 2}, {1, 2, 3, 4}}}, {"two", {{1}, {5}}}}, {{"key", "text"}}});
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_THAT(error_of(good.substr(0, length)), StartsWith("w.safetensors: "));
  }
  EXPECT_THAT(error_of(good + "x"), HasSubstr("its tensors end at"));
  for (std::size_t i = 0; i < good.size(); ++i) {
    // With sanitizers each value at some places: the fuzzers go on from there.
    for (int byte = NEUROSHARD_SANITIZED ? static_cast<int>(i % 8) : 0; byte < 256;
         byte += NEUROSHARD_SANITIZED ? 8 : 1) {
      std::string bad = good;
      bad[i] = static_cast<char>(byte);
      try {
        (void)parse_safetensors(bad, "w.safetensors");
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), StartsWith("w.safetensors: "));
      }
    }
  }
}

}  // namespace
}  // namespace neuroshard
