#include "weights/files/json_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "message_of.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

std::string parse_error(const std::string& text) {
  return message_of([&] { (void)parse_json(text, "f.json"); });
}

bool is_read(const std::string& text) {
  (void)parse_json(text, "f.json");
  return is_json(text);
}

/// The error of reading field "x" of an object with it.
std::string field_error(const std::string& value, const auto& read) {
  const JsonDocument json = parse_json("{\"x\": " + value + "}", "f.json");
  const JsonObject object(json.root(), "f.json: row 3");
  return message_of([&] { read(object); });
}

std::int64_t integer(const std::string& value, std::int64_t low, std::int64_t high) {
  const JsonDocument json = parse_json("{\"x\": " + value + "}", "f.json");
  return JsonObject(json.root(), "f.json").integer("x", low, high);
}

TEST(JsonReader, SaysWhereTheTextIsWrong) {
  EXPECT_EQ(parse_error("{\n\"a\": }").rfind("f.json: is not valid JSON: parse error at line 2", 0),
            0U);
  for (const char* bad :
       {"", " ", "{", "nul", "NaN", "[1,]", "{'a': 1}", "[1] 2", "\"\xff\"", "[01]", "// x\n1"}) {
    EXPECT_THAT(parse_error(bad), HasSubstr("f.json: is not valid JSON: ")) << bad;
  }
}

TEST(JsonReader, RejectsRepeatedKeysAtAnyDepth) {
  EXPECT_THAT(parse_error(R"({"a": 1, "a": 2})"), HasSubstr("'a' occurs twice"));
  EXPECT_THAT(parse_error(R"([{"b": {"a": 1, "c": 1, "a": 2}}])"), HasSubstr("'a' occurs twice"));
  EXPECT_TRUE(is_read(R"([{"a": 1}, {"a": {"a": 2}}])"));
  std::string many = "{\"first\": 0";
  for (int i = 0; i < 1000; ++i) many += ", \"k" + std::to_string(i) + "\": 0";
  EXPECT_TRUE(is_read(many + "}"));
  EXPECT_THAT(parse_error(many + ", \"k7\": 0}"), HasSubstr("'k7' occurs twice"));
}

TEST(JsonReader, RejectsEndlessNesting) {
  EXPECT_TRUE(is_read(std::string(32, '[') + "1" + std::string(32, ']')));
  EXPECT_TRUE(is_read(std::string(31, '[') + "{}" + std::string(31, ']')));
  EXPECT_THAT(parse_error(std::string(33, '[') + "1" + std::string(33, ']')),
              HasSubstr("nested more"));
  EXPECT_THAT(parse_error(std::string(1'000'000, '[')), HasSubstr("nested more than 32 levels"));
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_THAT(parse_error(objects), HasSubstr("nested more than 32 levels"));
}

// Both would take minutes, or gigabytes, were the work not linear in the text.
TEST(JsonReader, TakesMillionsOfValues) {
  std::string objects = "[{}";
  for (int i = 0; i < 1'000'000; ++i) objects += ",{}";
  EXPECT_TRUE(is_read(objects + "]"));
  std::string keys = "{\"\": 0";
  for (int i = 0; i < 300'000; ++i) keys += ",\"" + std::to_string(i) + "\":[]";
  EXPECT_TRUE(is_read(keys + "}"));
}

TEST(JsonReader, NamesTheBudgetThatATextExceeds) {
  EXPECT_EQ(parse_error("[" + std::string(kMaxJsonEntries + 1, ',')),
            "f.json: has 4000001 entries; at most 4000000 are read; is it the right file?");
  EXPECT_EQ(parse_error(std::string(kMaxJsonBytes + 1, ' ')),
            "f.json: has 67108865 bytes of JSON; at most 67108864 are read; is it the right file?");
}

TEST(JsonReader, RejectsIntegersOfMoreThan64Bits) {
  EXPECT_EQ(parse_error("[1, 99999999999999999999]"),
            "f.json: entry 1: the number 99999999999999999999 needs more than 64 bits; give a "
            "smaller one, or one with a fraction");
  EXPECT_EQ(parse_error(R"({"a": [1], "b": [{}, {"c": 1, "d": 1e400}], "e": 1})"),
            "f.json: b: entry 1: d: the number 1e400 needs more than 64 bits; give a smaller one");
  EXPECT_EQ(parse_error("1e400"),
            "f.json: the number 1e400 needs more than 64 bits; give a smaller one");
}

TEST(JsonReader, TakesIntegersOfEverySpelling) {
  EXPECT_EQ(integer("7", 0, 10), 7);
  EXPECT_EQ(integer("-7", -10, 10), -7);
  EXPECT_EQ(integer("7.0", 0, 10), 7);
  EXPECT_EQ(integer("1e3", 0, 1000), 1000);
  EXPECT_EQ(integer("9223372036854775807", 0, INT64_MAX), INT64_MAX);
  EXPECT_EQ(integer("-9223372036854775808", INT64_MIN, 0), INT64_MIN);
}

TEST(JsonReader, NamesPlaceFactAndRemedy) {
  const auto read_integer = [](const JsonObject& o) { (void)o.integer("x", 1, 9); };
  EXPECT_EQ(field_error("10", read_integer),
            "f.json: row 3: x is 10; give an integer between 1 and 9");
  for (const char* bad :
       {"0", "-1", "1.5", "\"1\"", "true", "null", "1e30", "18446744073709551615", "9.9e19"}) {
    EXPECT_THAT(field_error(bad, read_integer), HasSubstr("f.json: row 3: x is ")) << bad;
  }
  EXPECT_THAT(field_error("[]", read_integer), HasSubstr("x is an array; give an integer"));
  EXPECT_THAT(field_error("{}", read_integer), HasSubstr("x is an object; give an integer"));
  EXPECT_EQ(field_error("\"a\"", [](const JsonObject& o) { (void)o.number("x"); }),
            "f.json: row 3: x is \"a\"; give a number");
  EXPECT_EQ(field_error("-1", [](const JsonObject& o) { (void)o.number("x", 0.0); }),
            "f.json: row 3: x is -1; give a number of at least 0.0");
  EXPECT_EQ(field_error("2.5", [](const JsonObject& o) { (void)o.number("x", 0.0, 1.0); }),
            "f.json: row 3: x is 2.5; give a number between 0.0 and 1.0");
  EXPECT_EQ(field_error("1", [](const JsonObject& o) { (void)o.text("x"); }),
            "f.json: row 3: x is 1; give a text in quotes");
  EXPECT_EQ(field_error("1", [](const JsonObject& o) { (void)o.array("x"); }),
            "f.json: row 3: x is 1; give an array, [...]");
  EXPECT_EQ(field_error("1", [](const JsonObject& o) { (void)o.object("x"); }),
            "f.json: row 3: x: is 1; expected an object, {...}");
  EXPECT_EQ(field_error("1", [](const JsonObject& o) { (void)o.text("y"); }),
            "f.json: row 3: the field 'y' is missing; add it");
  EXPECT_THAT(field_error("\"" + std::string(1000, 'a') + "\"", read_integer),
              HasSubstr("x is \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...; give an integer"));
}

TEST(JsonReader, ListsTheKnownFields) {
  const JsonDocument json = parse_json(R"({"row": 1, "dim": 2, "rwo": 3})", "f.json");
  const JsonObject object(json.root(), "f.json");
  EXPECT_TRUE(object.has("row"));
  EXPECT_FALSE(object.has("name"));
  EXPECT_EQ(object.small_integer("dim", 0, 5), 2);
  EXPECT_EQ(message_of([&] { object.reject_unknown_fields(); }),
            "f.json: unknown field 'rwo'; did you mean 'row'? remove it, or use one of: dim, name, "
            "row");
}

}  // namespace
}  // namespace neuroshard
