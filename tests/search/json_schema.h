#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace neuroshard::testing {

/// A JSON schema with the few keywords that docs/*.schema.json use. Another keyword is an error, so
/// that none is overlooked.
class JsonSchema {
 public:
  using Json = nlohmann::json;

  /// A part of the schema that holds for a part of a valid document.
  struct Match {
    Json::json_pointer place;  ///< In the document.
    const Json* schema;        ///< Within this JsonSchema.
    bool read;                 ///< False below "$comment": "not read".
  };

  explicit JsonSchema(Json schema) : root_(std::move(schema)) {}

  /// Nothing if `document` is valid.
  [[nodiscard]] std::optional<std::string> problem_of(const Json& document) const;
  /// Empty if `document` is not valid.
  [[nodiscard]] std::vector<Match> matches(const Json& document) const;
  /// The schemas of all fields, by their places in this schema.
  [[nodiscard]] std::vector<std::pair<std::string, const Json*>> fields() const;

 private:
  Json root_;
};

}  // namespace neuroshard::testing
