#include "weights/files/json_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "core/base/message_text.h"
#include "core/base/nearest_name.h"
#include "neuroshard/error.h"

namespace neuroshard {
namespace {

using Json = nlohmann::json;

/// Fields of ours, and what TorchRec calls them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kNamesInTorchRec = {
    {{"row", "num_embeddings"}, {"dim", "embedding_dim"}}};

/// Number, text, true, false or null.
Json scalar(JsonValue value) {
  if (std::uint64_t number = 0; value.get(number) == simdjson::SUCCESS) return number;
  if (std::int64_t number = 0; value.get(number) == simdjson::SUCCESS) return number;
  if (double number = 0.0; value.get(number) == simdjson::SUCCESS) return number;
  if (bool flag = false; value.get(flag) == simdjson::SUCCESS) return flag;
  if (std::string_view text; value.get(text) == simdjson::SUCCESS) return text;
  return nullptr;
}

std::string shortened(std::string text) {
  if (text.size() > 40) text = text.substr(0, 37) + "...";
  return text;
}

/// A value as a person wrote it, short enough for a message.
std::string shown(JsonValue value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  return shortened(scalar(value).dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string range_text(double low, double high) {
  const auto plain = [](double x) { return Json(x).dump(); };
  if (low == std::numeric_limits<double>::lowest() && high == std::numeric_limits<double>::max()) {
    return "a number";
  }
  if (high == std::numeric_limits<double>::max()) return "a number of at least " + plain(low);
  return "a number between " + plain(low) + " and " + plain(high);
}

}  // namespace

JsonObject::JsonObject(JsonValue value, std::string where)
    : where_([where = std::move(where)] { return where; }) {
  reset(value);
}

void JsonObject::reset(JsonValue value) {
  simdjson::dom::object object;
  if (value.get(object) != simdjson::SUCCESS) {
    throw Error(where() + ": is " + shown(value) + "; expected an object, {...}");
  }
  fields_.clear();
  absent_.clear();
  fields_.reserve(object.size());
  for (const auto field : object) fields_.push_back({field.key, field.value});
  unknown_ = fields_.size();
  next_ = 0;
}

std::string JsonObject::place(std::string_view name) const {
  return where().append(": ").append(name);
}

std::string JsonObject::stated(std::string_view name) const {
  return place(name) + " is " + shown(value(name));
}

std::vector<std::string_view> JsonObject::names() const {
  std::vector<std::string_view> names;
  for (const Field& field : fields_) names.push_back(field.name);
  return names;
}

const JsonValue* JsonObject::find(std::string_view name) const {
  for (std::size_t tried = 0; tried < fields_.size(); ++tried, ++next_) {
    if (next_ >= fields_.size()) next_ = 0;
    Field& field = fields_[next_];
    if (field.name != name) continue;
    if (!field.known) --unknown_;
    field.known = true;
    return &field.value;
  }
  absent_.push_back(name);
  return nullptr;
}

bool JsonObject::has(std::string_view name) const { return find(name) != nullptr; }

JsonValue JsonObject::value(std::string_view name) const {
  const JsonValue* found = find(name);
  if (found == nullptr) fail_missing(name);
  return *found;
}

namespace {

/// An integer in [low, high]. `what()` names the value in the error if it is none.
template <typename What>
std::int64_t checked_integer(JsonValue value, const What& what, std::int64_t low,
                             std::int64_t high) {
  std::int64_t number = 0;
  bool is_integer = value.get(number) == simdjson::SUCCESS;
  if (!is_integer) {
    constexpr double kExact = 9007199254740992.0;  // 2^53
    double real = 0.0;
    is_integer = value.get(real) == simdjson::SUCCESS && std::fabs(real) <= kExact &&
                 real == std::floor(real);
    if (is_integer) number = static_cast<std::int64_t>(real);
  }
  if (is_integer && number >= low && number <= high) return number;
  throw Error(what() + " is " + shown(value) + "; give an integer between " + std::to_string(low) +
              " and " + std::to_string(high));
}

/// A number in [low, high]; `what()` as above.
template <typename What>
double checked_number(JsonValue value, const What& what, double low, double high) {
  double number = 0.0;
  if (value.get(number) == simdjson::SUCCESS && number >= low && number <= high) return number;
  throw Error(what() + " is " + shown(value) + "; give " + range_text(low, high));
}

}  // namespace

std::int64_t json_integer(JsonValue value, const std::string& what, std::int64_t low,
                          std::int64_t high) {
  return checked_integer(
      value, [&] { return what; }, low, high);
}

double json_number(JsonValue value, const std::string& what, double low, double high) {
  return checked_number(
      value, [&] { return what; }, low, high);
}

std::int64_t JsonObject::integer(std::string_view name, std::int64_t low, std::int64_t high) const {
  return checked_integer(
      value(name), [&] { return place(name); }, low, high);
}

int JsonObject::small_integer(std::string_view name, int low, int high) const {
  return static_cast<int>(integer(name, low, high));
}

double JsonObject::number(std::string_view name, double low, double high) const {
  return number_of(value(name), name, low, high);
}

std::optional<double> JsonObject::number_if_any(std::string_view name, double low,
                                                double high) const {
  const JsonValue* found = find(name);
  if (found == nullptr) return std::nullopt;
  return number_of(*found, name, low, high);
}

bool JsonObject::flag_if_any(std::string_view name) const {
  const JsonValue* found = find(name);
  if (found == nullptr) return false;
  bool flag = false;
  if (found->get(flag) != simdjson::SUCCESS) throw Error(place(name) + ": give true or false");
  return flag;
}

double JsonObject::number_of(JsonValue field, std::string_view name, double low,
                             double high) const {
  return checked_number(
      field, [&] { return place(name); }, low, high);
}

std::string JsonObject::text(std::string_view name) const {
  const JsonValue field = value(name);
  std::string_view text;
  if (field.get(text) != simdjson::SUCCESS) {
    throw Error(place(name) + " is " + shown(field) + "; give a text in quotes");
  }
  return std::string(text);
}

JsonArray JsonObject::array(std::string_view name) const {
  const JsonValue field = value(name);
  JsonArray array;
  if (field.get(array) != simdjson::SUCCESS) {
    throw Error(place(name) + " is " + shown(field) + "; give an array, [...]");
  }
  return array;
}

JsonObject JsonObject::object(std::string_view name) const { return {value(name), place(name)}; }

void JsonObject::reject_unknown_fields() const {
  if (all_known()) return;
  for (const Field& field : fields_) {
    if (!field.known) fail_unknown(field.name);
  }
}

void JsonObject::fail_missing(std::string_view name) const {
  // Fields of the object that may yet be asked for are rarely so near to it.
  std::vector<std::string> others;
  for (const Field& field : fields_) {
    if (!field.known) others.emplace_back(field.name);
  }
  std::string_view nearest = nearest_name(name, others);
  for (const auto& [ours, of_torchrec] : kNamesInTorchRec) {
    if (name == ours && std::ranges::find(others, of_torchrec) != others.end()) {
      nearest = of_torchrec;
    }
  }
  const std::string missing = where() + ": the field '" + std::string(name) + "' is missing; ";
  throw Error(missing + (nearest.empty()
                             ? "add it"
                             : "did you mean it by '" + shortened(std::string(nearest)) +
                                   "'? rename that, or add it"));
}

void JsonObject::fail_unknown(std::string_view name) const {
  std::set<std::string_view> known(absent_.begin(), absent_.end());
  for (const Field& field : fields_) {
    if (field.known) known.insert(field.name);
  }
  const std::vector<std::string> names(known.begin(), known.end());
  const std::string_view nearest = nearest_name(name, names);
  throw Error(where() + ": unknown field '" + shortened(std::string(name)) + "'; " +
              (nearest.empty() ? "" : "did you mean '" + std::string(nearest) + "'? ") +
              "remove it, or use one of: " + joined(known));
}

int check_format(const JsonObject& file, const std::string& format, int newest_version) {
  if (!file.has("format")) {
    throw Error(file.where() + ": the field 'format' is missing; add \"format\": \"" + format +
                "\" and \"version\": " + std::to_string(newest_version));
  }
  const std::string found = file.text("format");
  if (found != format) {
    throw Error(file.place("format") + " is '" + found + "'; expected '" + format + "'");
  }
  const auto version = file.integer("version", 1, std::numeric_limits<int>::max());
  if (version > newest_version) {
    throw Error(file.place("version") + " is " + std::to_string(version) +
                "; this program reads up to version " + std::to_string(newest_version) +
                "; use a newer one");
  }
  return static_cast<int>(version);
}

}  // namespace neuroshard
