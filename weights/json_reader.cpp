#include "weights/json_reader.h"

#include <cmath>
#include <utility>
#include <vector>

#include "neuroshard/error.h"
#include "weights/read_file.h"

namespace neuroshard {
namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 32;

/// A value as a person wrote it, short enough for a message.
std::string shown(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 40) text = text.substr(0, 37) + "...";
  return text;
}

std::string range_text(double low, double high) {
  const auto plain = [](double x) { return Json(x).dump(); };
  if (low == std::numeric_limits<double>::lowest() && high == std::numeric_limits<double>::max()) {
    return "a number";
  }
  if (high == std::numeric_limits<double>::max()) return "a number of at least " + plain(low);
  return "a number between " + plain(low) + " and " + plain(high);
}

/// Watches the parser for what nlohmann::json lets pass: duplicate keys and endless nesting.
class StructureCheck {
 public:
  explicit StructureCheck(const std::string& where) : where_(where) {}

  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kMaxDepth) {
      throw Error(where_ + ": nested more than " + std::to_string(kMaxDepth) + " levels deep");
    }
    if (event == Json::parse_event_t::object_start) {
      keys_.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      keys_.pop_back();
    } else if (event == Json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys_.back().insert(key).second) {
        throw Error(where_ + ": the field '" + key + "' occurs twice in one object; keep one");
      }
    }
    return true;
  }

 private:
  const std::string& where_;
  std::vector<std::set<std::string>> keys_;
};

}  // namespace

Json parse_json(std::string_view text, const std::string& where) {
  try {
    StructureCheck check(where);
    return Json::parse(text.begin(), text.end(), std::ref(check));
  } catch (const Json::exception& error) {
    // The library's own prefix, "[json.exception.parse_error.101] ", tells a user nothing.
    const std::string_view message = error.what();
    const std::size_t start = message.find("] ");
    throw Error(where + ": is not valid JSON: " +
                std::string(start == std::string_view::npos ? message : message.substr(start + 2)));
  }
}

Json read_json_file(const std::filesystem::path& path) {
  return parse_json(read_file(path), path.string());
}

JsonObject::JsonObject(const Json& value, std::string where)
    : value_(&value), where_(std::move(where)) {
  if (!value.is_object()) {
    throw Error(where_ + ": is " + shown(value) + "; expected an object, {...}");
  }
}

bool JsonObject::has(const std::string& name) const {
  known_.insert(name);
  return value_->contains(name);
}

const Json& JsonObject::value(const std::string& name) const {
  known_.insert(name);
  const auto found = value_->find(name);
  if (found == value_->end()) throw Error(where_ + ": the field '" + name + "' is missing; add it");
  return *found;
}

std::int64_t json_integer(const Json& value, const std::string& what, std::int64_t low,
                          std::int64_t high) {
  const auto fail = [&]() -> std::int64_t {
    throw Error(what + " is " + shown(value) + "; give an integer between " + std::to_string(low) +
                " and " + std::to_string(high));
  };
  std::int64_t number = 0;
  if (value.is_number_unsigned()) {
    const auto wide = value.get<std::uint64_t>();
    if (wide > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return fail();
    number = static_cast<std::int64_t>(wide);
  } else if (value.is_number_integer()) {
    number = value.get<std::int64_t>();
  } else if (value.is_number_float()) {
    const double real = value.get<double>();
    constexpr double kExact = 9007199254740992.0;  // 2^53
    if (!(std::fabs(real) <= kExact) || real != std::floor(real)) return fail();
    number = static_cast<std::int64_t>(real);
  } else {
    return fail();
  }
  return number < low || number > high ? fail() : number;
}

std::int64_t JsonObject::integer(const std::string& name, std::int64_t low,
                                 std::int64_t high) const {
  return json_integer(value(name), place(name), low, high);
}

int JsonObject::small_integer(const std::string& name, int low, int high) const {
  return static_cast<int>(integer(name, low, high));
}

double JsonObject::number(const std::string& name, double low, double high) const {
  const Json& field = value(name);
  const double number = field.is_number() ? field.get<double>() : std::nan("");
  if (!(number >= low && number <= high)) {
    throw Error(place(name) + " is " + shown(field) + "; give " + range_text(low, high));
  }
  return number;
}

std::string JsonObject::text(const std::string& name) const {
  const Json& field = value(name);
  if (!field.is_string()) {
    throw Error(place(name) + " is " + shown(field) + "; give a text in quotes");
  }
  return field.get<std::string>();
}

const Json& JsonObject::array(const std::string& name) const {
  const Json& field = value(name);
  if (!field.is_array()) {
    throw Error(place(name) + " is " + shown(field) + "; give an array, [...]");
  }
  return field;
}

JsonObject JsonObject::object(const std::string& name) const { return {value(name), place(name)}; }

void JsonObject::reject_unknown_fields() const {
  for (const auto& [name, unused] : value_->items()) {
    if (!known_.contains(name)) fail_unknown(name);
  }
}

void JsonObject::fail_unknown(const std::string& name) const {
  std::string known;
  for (const std::string& field : known_) known += (known.empty() ? "" : ", ") + field;
  throw Error(where_ + ": unknown field '" + name + "'; remove it, or use one of: " + known);
}

int check_format(const JsonObject& file, const std::string& format, int newest_version) {
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
