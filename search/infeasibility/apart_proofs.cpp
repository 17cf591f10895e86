#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/message_text.h"
#include "core/tables/table_groups.h"
#include "core/tables/table_rules.h"
#include "search/infeasibility/infeasibility.h"
#include "search/infeasibility/rule_proofs.h"

namespace neuroshard {
namespace {

// Above this number, only guests in the same group are looked at.
constexpr std::size_t kMostGuests = 256;

using Guests = std::vector<std::size_t>;

/// A table, or a bundle of them, that groups keep from others.
struct Guest {
  std::vector<std::uint32_t> tables;
  std::vector<std::uint32_t> groups;  ///< That keep one of its tables from others; ascending.
  std::vector<int> devices;           ///< Each of which may hold all of it.
  std::size_t others = 0;             ///< From which it is kept.
};

/// Guests that are too many for the devices that any of them may go to.
struct Crowd {
  Guests guests;
  std::size_t devices = 0;
};

// Not of all tables if the budget is spent.
std::vector<Guest> guests_of(const Task& task, const ApartTables& apart, StepBudget& budget) {
  std::vector<Guest> guests;
  for (const TableBundle& tables : tables_by_bundle(task)) {
    Guest guest{.tables = tables, .groups = {}, .devices = {}};
    for (const std::uint32_t table : tables) {
      const auto& groups = apart.groups_of(table);
      guest.groups.insert(guest.groups.end(), groups.begin(), groups.end());
    }
    if (guest.groups.empty()) continue;
    const std::size_t steps = tables.size() + guest.groups.size();
    if (!budget.take(steps + static_cast<std::size_t>(task.devices))) break;
    std::ranges::sort(guest.groups);
    guest.devices = allowed_set(task, tables).list();
    guests.push_back(std::move(guest));
  }
  return guests;
}

/// Leaves out guests that are kept from fewer others than they have devices, again and again: they
/// find one whatever the others do.
void keep_the_crowded(std::vector<Guest>& guests, std::size_t groups, StepBudget& budget) {
  std::size_t memberships = groups;
  for (const Guest& guest : guests) memberships += guest.groups.size();
  std::size_t before = 0;
  do {
    if (!budget.take(memberships)) return;
    before = guests.size();
    std::vector<std::size_t> members(groups, 0);
    for (const Guest& guest : guests) {
      for (const std::uint32_t group : guest.groups) ++members[group];
    }
    std::erase_if(guests, [&](Guest& guest) {
      guest.others = 0;
      for (const std::uint32_t group : guest.groups) guest.others += members[group] - 1;
      return guest.devices.size() > guest.others;
    });
  } while (guests.size() < before);
}

/// Gives guests devices, one to each, by augmenting paths (Kuhn 1955).
class GivenDevices {
 public:
  GivenDevices(const std::vector<Guest>& guests, int devices, StepBudget& budget)
      : guests_(guests), budget_(budget), guest_of_(static_cast<std::size_t>(devices), kNone) {}

  /// Finds a device for `guest`; others may change theirs. Returns the guests that crowd too few
  /// devices if there is none. By Hall's theorem there is then no placement.
  std::optional<Crowd> add(std::size_t guest) {
    if (!budget_.take(guest_of_.size())) return std::nullopt;
    seen_.assign(guest_of_.size(), false);
    if (find_device(guest) || budget_.spent()) return std::nullopt;
    Crowd crowd{.guests = {guest}};
    for (std::size_t d = 0; d < seen_.size(); ++d) {
      if (!seen_[d]) continue;
      crowd.guests.push_back(guest_of_[d]);
      ++crowd.devices;
    }
    std::ranges::sort(crowd.guests);
    return crowd;
  }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  bool find_device(std::size_t guest) {
    const std::vector<int>& devices = guests_[guest].devices;
    if (!budget_.take(2 * devices.size())) return false;
    for (const int device : devices) {
      if (guest_of_[static_cast<std::size_t>(device)] != kNone) continue;
      guest_of_[static_cast<std::size_t>(device)] = guest;
      return true;
    }
    for (const int device : devices) {
      const auto d = static_cast<std::size_t>(device);
      if (seen_[d]) continue;
      seen_[d] = true;
      if (!find_device(guest_of_[d])) continue;
      guest_of_[d] = guest;
      return true;
    }
    return false;
  }

  const std::vector<Guest>& guests_;
  StepBudget& budget_;
  std::vector<std::size_t> guest_of_;  ///< [devices]
  std::vector<bool> seen_;             ///< [devices]
};

std::optional<Crowd> crowd_among(const std::vector<Guest>& guests, const Guests& apart, int devices,
                                 StepBudget& budget) {
  if (!budget.take(static_cast<std::size_t>(devices))) return std::nullopt;
  GivenDevices given(guests, devices, budget);
  for (const std::size_t guest : apart) {
    if (std::optional<Crowd> crowd = given.add(guest)) return crowd;
  }
  return std::nullopt;
}

/// One group after the other.
std::optional<Crowd> crowd_in_a_group(const std::vector<Guest>& guests, std::size_t groups,
                                      int devices, StepBudget& budget) {
  std::vector<Guests> members(groups);
  for (std::size_t i = 0; i < guests.size(); ++i) {
    for (const std::uint32_t group : guests[i].groups) members[group].push_back(i);
  }
  for (const Guests& group : members) {
    if (group.empty()) continue;
    if (std::optional<Crowd> crowd = crowd_among(guests, group, devices, budget)) return crowd;
  }
  return std::nullopt;
}

/// Sets that grow from each guest, in two orders: those with fewest devices first, or those that
/// are kept from most others.
std::optional<Crowd> crowd_across_groups(const std::vector<Guest>& guests, int devices,
                                         StepBudget& budget) {
  const std::size_t n = guests.size();
  std::vector<std::vector<bool>> apart(n, std::vector<bool>(n, false));
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      if (!budget.take(guests[a].groups.size() + guests[b].groups.size())) return std::nullopt;
      apart[a][b] = apart[b][a] = share_a_group(guests[a].groups, guests[b].groups);
    }
  }
  for (const bool fewest_devices : {true, false}) {
    Guests order(n);
    for (std::size_t i = 0; i < n; ++i) order[i] = i;
    std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) {
      const auto free = SIZE_MAX - guests[i].devices.size();
      return fewest_devices ? std::pair(free, guests[i].others) : std::pair(guests[i].others, free);
    });
    for (const std::size_t first : order) {
      Guests clique{first};
      for (const std::size_t next : order) {
        if (!budget.take(clique.size())) return std::nullopt;
        if (std::ranges::all_of(clique, [&](std::size_t i) { return apart[i][next]; })) {
          clique.push_back(next);
        }
      }
      const bool too_few = std::ranges::all_of(
          clique, [&](std::size_t i) { return clique.size() <= guests[i].devices.size(); });
      if (too_few) continue;
      if (std::optional<Crowd> crowd = crowd_among(guests, clique, devices, budget)) return crowd;
    }
  }
  return std::nullopt;
}

/// The table of `guest` that groups keep from those of others.
int table_kept_apart(const ApartTables& apart, const Guest& guest) {
  return static_cast<int>(*std::ranges::find_if(
      guest.tables, [&](std::uint32_t t) { return !apart.groups_of(t).empty(); }));
}

/// The groups of the task that keep guests of the crowd from each other: one, if it keeps them all.
std::vector<std::size_t> keepers_of(const Task& task, const ApartTables& apart,
                                    const std::vector<Guest>& guests, const Crowd& crowd) {
  std::vector<std::size_t> members(apart.groups(), 0);
  for (const std::size_t i : crowd.guests) {
    for (const std::uint32_t group : guests[i].groups) ++members[group];
  }
  std::vector<std::size_t> keepers;
  std::size_t index = 0;
  for (std::size_t g = 0; g < task.groups.size(); ++g) {
    if (task.groups[g].keep != Keep::kApart) continue;
    const std::size_t of_crowd = members[index++];
    if (of_crowd == crowd.guests.size()) return {g};
    if (of_crowd > 1) keepers.push_back(g);
  }
  return keepers;
}

}  // namespace

std::optional<Infeasibility> proof_by_apart_tables(const Task& task, StepBudget& budget) {
  const ApartTables apart(task);
  if (apart.empty()) return std::nullopt;
  std::vector<Guest> guests = guests_of(task, apart, budget);
  keep_the_crowded(guests, apart.groups(), budget);
  std::optional<Crowd> crowd = crowd_in_a_group(guests, apart.groups(), task.devices, budget);
  if (!crowd && guests.size() <= kMostGuests) {
    crowd = crowd_across_groups(guests, task.devices, budget);
  }
  if (!crowd) return std::nullopt;

  const std::vector<std::size_t> keepers = keepers_of(task, apart, guests, *crowd);
  const bool bundles = std::ranges::any_of(
      crowd->guests, [&](std::size_t i) { return guests[i].tables.size() > 1; });
  const std::string first = group_label(task, keepers.front());
  const std::string tables = counted(crowd->guests.size(), "table");
  Infeasibility why = infeasibility_of(task, Infeasibility::Kind::kRules);
  why.table = table_kept_apart(apart, guests[crowd->guests.front()]);
  why.largest_piece_bytes = task.tables[static_cast<std::size_t>(why.table)].size_bytes();
  why.message = keepers.size() == 1
                    ? first + " keeps " + tables + " apart"
                    : counted(keepers.size(), "group") + ", the first of which is " + first +
                          ", keep " + tables + " from each other";
  why.message +=
      std::string(", but there ") + (crowd->devices == 1 ? "is " : "are ") +
      counted(crowd->devices, "device") + " for them" +
      (bundles ? " and what is kept together with them" : "") + "; use more devices, " +
      (crowd->devices < static_cast<std::size_t>(task.devices) ? "allow them more, " : "") +
      "or take tables out of the " + (keepers.size() == 1 ? "group" : "groups");
  return why;
}

}  // namespace neuroshard
