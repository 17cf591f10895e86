#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "neuroshard/placement_policy.h"
#include "neuroshard/policy_file.h"
#include "neuroshard/task.h"
#include "random_policies.h"

namespace neuroshard::testing {

/// A file of recorded answers.
inline nlohmann::json published_answers(const std::string& name) {
  return nlohmann::json::parse(std::ifstream(policy_path(name)));
}

/// Tables of tests/data/policies.
inline std::vector<Table> published_tables(const nlohmann::json& rows) {
  std::vector<Table> tables;
  for (const nlohmann::json& row : rows) {
    Table table{.rows = row[0], .dim = row[1], .pooling_factor = row[2]};
    for (std::size_t b = 0; b < table.access_histogram.size(); ++b) {
      table.access_histogram[b] = row[3 + b];
    }
    tables.push_back(table);
  }
  return tables;
}

/// Calls check(networks, tables, recorded) for each placement that the published program of `name`
/// has recorded, with the policy of `file`.
template <typename Policy, typename Packed, typename Check>
void for_each_recorded(const std::string& name, const std::string& file, const Check& check) {
  const nlohmann::json answers = published_answers(name);
  const PlacementPolicy policy = load_policy(policy_path(file));
  const Packed networks(std::get<Policy>(policy.networks));
  for (const nlohmann::json& recorded : answers["cases"]) {
    SCOPED_TRACE(recorded["task"].dump() + " on " + recorded["devices"].dump());
    check(networks, published_tables(answers["tasks"][recorded["task"].dump()]), recorded);
  }
}

/// `value` is `expected`, within 1e-5 of it or of 1.
inline void expect_near(double value, double expected) {
  EXPECT_NEAR(value, expected, 1e-5 * std::max(1.0, std::abs(expected)));
}

/// Whether the choice that is recorded is the largest logit among `legal`, but for a tie.
inline bool is_best(const nlohmann::json& logits, const std::vector<std::size_t>& legal,
                    std::size_t chosen, std::span<const float> ours) {
  std::size_t best = legal.front();
  for (const std::size_t device : legal) {
    if (ours[device] > ours[best]) best = device;
  }
  const auto place = [&](std::size_t device) {
    return static_cast<std::size_t>(std::ranges::find(legal, device) - legal.begin());
  };
  return best == chosen ||
         std::abs(logits[place(best)].get<double>() - logits[place(chosen)].get<double>()) < 1e-5;
}

}  // namespace neuroshard::testing
