#include "weights/files/json_document.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "neuroshard/error.h"
#include "weights/files/read_file.h"

namespace neuroshard {
namespace {

using Json = nlohmann::json;

/// Looks for what simdjson has refused, and says it as a person would: simdjson is fast, but does
/// not tell line and column.
class RefusedText final : public nlohmann::json_sax<Json> {
 public:
  explicit RefusedText(const std::string& where) : where_(where) {}

  bool null() override { return begin_value(); }
  bool boolean(bool) override { return begin_value(); }
  bool number_integer(std::int64_t) override { return begin_value(); }
  bool number_unsigned(std::uint64_t) override { return begin_value(); }
  bool string(std::string&) override { return begin_value(); }
  bool binary(Json::binary_t&) override { return begin_value(); }
  bool key(std::string& name) override {
    levels_.back().key = name;
    return true;
  }
  bool start_array(std::size_t) override { return enter(true); }
  bool start_object(std::size_t) override { return enter(false); }
  bool end_array() override { return leave(); }
  bool end_object() override { return leave(); }

  bool number_float(double, const std::string& text) override {
    begin_value();
    if (text.find_first_of(".eE") != std::string::npos) return true;
    fail_number(text, "; give a smaller one, or one with a fraction");
  }

  bool parse_error(std::size_t, const std::string& last, const Json::exception& error) override {
    constexpr int kNumberOverflow = 406;
    if (error.id == kNumberOverflow) {
      begin_value();
      fail_number(last, "; give a smaller one");
    }
    // The library's own prefix, "[json.exception.parse_error.101] ", tells a user nothing.
    const std::string_view message = error.what();
    const std::size_t start = message.find("] ");
    throw Error(where_ + ": is not valid JSON: " +
                std::string(start == std::string_view::npos ? message : message.substr(start + 2)));
  }

 private:
  /// An array or object that has begun and not ended.
  struct Level {
    bool is_array = false;
    std::size_t entries = 0;  ///< Entries of an array that have begun.
    std::string key;          ///< Last key of an object.
  };

  bool begin_value() {
    if (!levels_.empty()) ++levels_.back().entries;
    return true;
  }
  bool enter(bool is_array) {
    begin_value();
    levels_.push_back({.is_array = is_array, .entries = 0, .key = {}});
    if (std::cmp_less_equal(levels_.size(), kMaxJsonDepth)) return true;
    throw Error(where_ + ": nested more than " + std::to_string(kMaxJsonDepth) + " levels deep");
  }
  bool leave() {
    levels_.pop_back();
    return true;
  }

  /// Fails on the value that has begun last.
  [[noreturn]] void fail_number(const std::string& text, const char* remedy) const {
    std::string place = where_;
    for (const auto& [is_array, entries, key] : levels_) {
      place += ": " + (is_array ? "entry " + std::to_string(entries - 1) : key);
    }
    throw Error(place + ": the number " + text.substr(0, 40) + " needs more than 64 bits" + remedy);
  }

  const std::string& where_;
  std::vector<Level> levels_;
};

[[noreturn]] void explain(std::string_view text, const std::string& where,
                          simdjson::error_code code) {
  if (text.starts_with("\x1f\x8b")) {
    throw Error(where + ": is compressed with gzip, not JSON; decompress it first (gunzip)");
  }
  RefusedText handler(where);
  (void)Json::sax_parse(text.begin(), text.end(), &handler);
  throw Error(where + ": is not valid JSON: " + simdjson::error_message(code));
}

/// 0 to 1023 by the length of a key and its first and last bytes: quicker than a good hash, and
/// keys that share all these only take longer.
std::size_t quick_hash(std::string_view key) {
  std::uint64_t bytes = key.size();
  if (key.size() >= 4) {
    std::array<std::uint32_t, 2> ends{};
    std::memcpy(ends.data(), key.data(), 4);
    std::memcpy(&ends[1], key.data() + key.size() - 4, 4);
    bytes += (std::uint64_t{ends[1]} << 32) ^ (std::uint64_t{ends[0]} << 8);
  } else {
    for (const char c : key) bytes = bytes << 8 | static_cast<unsigned char>(c);
  }
  return static_cast<std::size_t>(bytes * 0x9E3779B97F4A7C15U >> 54);
}

/// Throws Error if an object, however deep, has a key twice.
class RepeatedKeys {
 public:
  explicit RepeatedKeys(const std::string& where) : where_(where) {}

  // Recursion ends at kMaxJsonDepth, which the parser has checked.
  void check(JsonValue value) {  // NOLINT(misc-no-recursion)
    if (value.is_array()) {
      for (const JsonValue item : JsonArray(value)) check(item);
    } else if (value.is_object()) {
      const simdjson::dom::object object(value);
      check_keys(object);
      for (const auto field : object) check(field.value);
    }
  }

 private:
  void check_keys(simdjson::dom::object object) {
    // Most objects are small, and a filter of hashes tells in one look that a key is new.
    constexpr std::size_t kSmall = 64;
    std::bitset<1024> seen;
    keys_.clear();
    for (const auto field : object) {
      const std::string_view key = field.key;
      const std::size_t bit = quick_hash(key);
      if (keys_.size() < kSmall && seen[bit] && std::ranges::find(keys_, key) != keys_.end()) {
        fail(key);
      }
      seen.set(bit);
      keys_.push_back(key);
    }
    if (keys_.size() <= kSmall) return;
    std::ranges::sort(keys_);
    const auto repeated = std::ranges::adjacent_find(keys_);
    if (repeated != keys_.end()) fail(*repeated);
  }

  [[noreturn]] void fail(std::string_view key) const {
    throw Error(where_ + ": the field '" + std::string(key) +
                "' occurs twice in one object; keep one");
  }

  const std::string& where_;
  std::vector<std::string_view> keys_;
};

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
}

/// std::count() adds up in 64 bits, which takes it several times as long.
std::size_t count_commas(std::string_view text) {
  constexpr std::size_t kLanes = 64;
  constexpr std::size_t kMost = 255;  // Most that a lane can count.
  std::size_t commas = 0;
  while (text.size() >= kLanes) {
    std::array<std::uint8_t, kLanes> lanes{};
    const std::size_t rounds = std::min(kMost, text.size() / kLanes);
    for (std::size_t round = 0; round < rounds; ++round) {
      const char* const bytes = text.data() + round * kLanes;
      for (std::size_t i = 0; i < kLanes; ++i) lanes[i] += bytes[i] == ',' ? 1 : 0;
    }
    for (const std::uint8_t count : lanes) commas += count;
    text.remove_prefix(rounds * kLanes);
  }
  return commas + static_cast<std::size_t>(std::ranges::count(text, ','));
}

void check_size(std::string_view text, const std::string& where) {
  if (text.size() > kMaxJsonBytes) {
    throw Error(where + ": has " + std::to_string(text.size()) + " bytes of JSON; at most " +
                std::to_string(kMaxJsonBytes) + " are read; is it the right file?");
  }
  const std::size_t commas = count_commas(text);
  if (commas > kMaxJsonEntries) {
    throw Error(where + ": has " + std::to_string(commas) + " entries; at most " +
                std::to_string(kMaxJsonEntries) + " are read; is it the right file?");
  }
}

/// simdjson's depth counts the document, and does not count an innermost container that is empty.
simdjson::error_code parse(simdjson::dom::parser& parser, std::string_view text, JsonValue& root) {
  const simdjson::error_code code = parser.allocate(text.size(), kMaxJsonDepth + 1);
  return code != simdjson::SUCCESS ? code : parser.parse(text.data(), text.size()).get(root);
}

}  // namespace

void JsonDocument::Delete::operator()(simdjson::dom::parser* parser) const { delete parser; }

JsonDocument parse_json(std::string_view text, const std::string& where) {
  check_size(text, where);
  text = without_byte_order_mark(text);
  JsonDocument document;
  document.parser_.reset(new simdjson::dom::parser());
  const simdjson::error_code code = parse(*document.parser_, text, document.root_);
  if (code == simdjson::MEMALLOC) throw std::bad_alloc();
  if (code != simdjson::SUCCESS) explain(text, where, code);
  RepeatedKeys(where).check(document.root_);
  return document;
}

JsonDocument read_json_file(const std::filesystem::path& path) {
  return parse_json(read_file(path, kMaxJsonBytes), path.string());
}

bool is_json(std::string_view text) {
  try {
    check_size(text, {});
    simdjson::dom::parser parser;
    JsonValue root;
    return parse(parser, without_byte_order_mark(text), root) == simdjson::SUCCESS;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace neuroshard
