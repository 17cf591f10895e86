#include "search/json_schema.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

namespace neuroshard::testing {
namespace {

using Json = JsonSchema::Json;

const std::set<std::string> kSchemaKeywords = {"$schema",
                                               "$defs",
                                               "$ref",
                                               "$comment",
                                               "title",
                                               "description",
                                               "default",
                                               "type",
                                               "enum",
                                               "const",
                                               "minimum",
                                               "maximum",
                                               "multipleOf",
                                               "exclusiveMinimum",
                                               "exclusiveMaximum",
                                               "properties",
                                               "required",
                                               "additionalProperties",
                                               "items",
                                               "prefixItems",
                                               "minItems",
                                               "maxItems",
                                               "anyOf",
                                               "not",
                                               "if",
                                               "then",
                                               "else"};

bool is_of_schema_type(const Json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "number") return value.is_number();
  if (type != "integer") throw std::invalid_argument("schema: unknown type " + type);
  return value.is_number_integer() ||
         (value.is_number() && value.get<double>() == std::floor(value.get<double>()));
}

bool is_of_schema_types(const Json& value, const Json& types) {
  if (types.is_string()) return is_of_schema_type(value, types);
  return std::ranges::any_of(types,
                             [&](const Json& type) { return is_of_schema_type(value, type); });
}

bool is_in_schema_range(const Json& schema, double number) {
  return (!schema.contains("minimum") || number >= schema["minimum"]) &&
         (!schema.contains("maximum") || number <= schema["maximum"]) &&
         (!schema.contains("exclusiveMinimum") || number > schema["exclusiveMinimum"]) &&
         (!schema.contains("exclusiveMaximum") || number < schema["exclusiveMaximum"]) &&
         (!schema.contains("multipleOf") || std::fmod(number, schema["multipleOf"]) == 0.0);
}

/// One document.
class SchemaCheck {
 public:
  explicit SchemaCheck(const Json& root) : root_(root) {}

  bool accept(const Json& schema, const Json& value, const Json::json_pointer& place, bool read);

  std::vector<JsonSchema::Match> matches;
  std::string problem;

 private:
  bool accept_object(const Json& schema, const Json& value, const Json::json_pointer& place,
                     bool read);
  bool accept_array(const Json& schema, const Json& value, const Json::json_pointer& place,
                    bool read);
  bool refuse(const Json::json_pointer& place, const std::string& why);

  const Json& root_;
};

bool SchemaCheck::refuse(const Json::json_pointer& place, const std::string& why) {
  problem = place.to_string() + ": " + why;
  return false;
}

bool SchemaCheck::accept(const Json& schema, const Json& value, const Json::json_pointer& place,
                         bool read) {
  for (const auto& [keyword, unused] : schema.items()) {
    if (!kSchemaKeywords.contains(keyword))
      throw std::invalid_argument("schema: keyword " + keyword);
  }
  read = read && !schema.contains("$comment");
  const auto holds = [&](const Json& part) {
    const std::size_t before = matches.size();
    const bool accepted = accept(part, value, place, read);
    if (!accepted)
      matches.erase(matches.begin() + static_cast<std::ptrdiff_t>(before), matches.end());
    return accepted;
  };
  if (schema.contains("$ref")) {
    const std::string target = schema["$ref"];
    if (!holds(root_.at(Json::json_pointer(target.substr(1))))) return false;
  }
  if (schema.contains("type") && !is_of_schema_types(value, schema["type"])) {
    return refuse(place, "is no " + schema["type"].dump());
  }
  if (schema.contains("const") && value != schema["const"]) return refuse(place, "another value");
  if (schema.contains("enum") && std::ranges::find(schema["enum"], value) == schema["enum"].end()) {
    return refuse(place, "none of " + schema["enum"].dump());
  }
  if (value.is_number() && !is_in_schema_range(schema, value)) return refuse(place, "out of range");
  if (schema.contains("anyOf") && !std::ranges::any_of(schema["anyOf"], holds)) return false;
  if (schema.contains("not") && holds(schema["not"])) return refuse(place, "what it may not be");
  if (schema.contains("if")) {
    const char* branch = holds(schema["if"]) ? "then" : "else";
    if (schema.contains(branch) && !holds(schema[branch])) return false;
  }
  if (value.is_object() && !accept_object(schema, value, place, read)) return false;
  if (value.is_array() && !accept_array(schema, value, place, read)) return false;
  matches.push_back({place, &schema, read});
  return true;
}

bool SchemaCheck::accept_object(const Json& schema, const Json& value,
                                const Json::json_pointer& place, bool read) {
  for (const std::string name : schema.value("required", Json::array())) {
    if (!value.contains(name)) return refuse(place, name + " is missing");
  }
  const Json properties = Json::object();
  const Json& known = schema.contains("properties") ? schema["properties"] : properties;
  for (const auto& [name, field] : value.items()) {
    const Json* other =
        schema.contains("additionalProperties") ? &schema["additionalProperties"] : nullptr;
    if (known.contains(name)) {
      if (!accept(known[name], field, place / name, read)) return false;
    } else if (other != nullptr && other->is_object()) {
      if (!accept(*other, field, place / name, read)) return false;
    } else if (other != nullptr && !other->get<bool>()) {
      return refuse(place, "unknown field " + name);
    }
  }
  return true;
}

bool SchemaCheck::accept_array(const Json& schema, const Json& value,
                               const Json::json_pointer& place, bool read) {
  if (value.size() < schema.value("minItems", std::size_t{0}) ||
      value.size() > schema.value("maxItems", value.size())) {
    return refuse(place, "too few or too many");
  }
  const std::size_t first = schema.contains("prefixItems") ? schema["prefixItems"].size() : 0;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (i < first) {
      if (!accept(schema["prefixItems"][i], value[i], place / i, read)) return false;
    } else if (schema.contains("items")) {
      if (!accept(schema["items"], value[i], place / i, read)) return false;
    }
  }
  return true;
}

void add_schema_fields(const Json& schema, const std::string& place,
                       std::vector<std::pair<std::string, const Json*>>& fields) {
  if (!schema.is_structured()) return;
  for (const auto& [name, part] : schema.items()) {
    if (schema.is_object() && name == "if") continue;
    if (schema.is_object() && name == "properties") {
      for (const auto& [field, of_field] : part.items()) {
        fields.emplace_back(place + "/" + field, &of_field);
      }
    }
    add_schema_fields(part, place + "/" + name, fields);
  }
}

}  // namespace

std::optional<std::string> JsonSchema::problem_of(const Json& document) const {
  SchemaCheck check(root_);
  if (check.accept(root_, document, Json::json_pointer(), true)) return std::nullopt;
  return check.problem;
}

std::vector<JsonSchema::Match> JsonSchema::matches(const Json& document) const {
  SchemaCheck check(root_);
  if (!check.accept(root_, document, Json::json_pointer(), true)) return {};
  return check.matches;
}

std::vector<std::pair<std::string, const Json*>> JsonSchema::fields() const {
  std::vector<std::pair<std::string, const Json*>> fields;
  add_schema_fields(root_, "", fields);
  return fields;
}

}  // namespace neuroshard::testing
