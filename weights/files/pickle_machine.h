#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weights/files/pickle.h"

namespace neuroshard::pickle {

/// The stack machine that a pickle is a program for, cut down to what builds data.
class Machine {
 public:
  Machine(std::string_view bytes, const std::string& where) : bytes_(bytes), where_(where) {}

  [[nodiscard]] Pickle run();

 private:
  [[noreturn]] void fail(const std::string& what) const;

  using Step = void (*)(Machine&);
  /// Step of each opcode; null if it is not allowed.
  static const std::array<Step, 256>& steps();

  // The program's bytes.
  std::string_view take(std::uint64_t count);
  std::string_view take_line();
  std::uint64_t take_unsigned(std::size_t bytes);
  std::int64_t take_count(std::size_t bytes);
  std::int64_t take_signed(std::uint64_t bytes);
  double take_double();
  void check_protocol();

  // The stack. Nothing below the topmost mark can be popped.
  void push(Node node);
  Id pop();
  [[nodiscard]] Id top() const;
  std::vector<Id> pop_many(std::size_t count);
  std::vector<Id> pop_to_mark();

  // Plain values and containers.
  void push_text(std::size_t length_bytes);
  void push_tuple(std::size_t count);
  void append_to_list(const std::vector<Id>& items);
  void set_items(const std::vector<Id>& keys_and_values);
  void remember(std::uint64_t slot);
  void recall(std::uint64_t slot);

  // Globals and what is made with them (pickle_globals.cpp).
  void push_global_of_lines();
  void push_global_of_stack();
  void push_global(std::string_view module, std::string_view name);
  void push_storage();
  void reduce();
  void build();
  [[nodiscard]] TensorView rebuild_tensor(const std::vector<Id>& arguments) const;
  [[nodiscard]] std::int64_t integer(Id id, const char* what) const;
  [[nodiscard]] std::vector<std::int64_t> integers(Id id, const char* what) const;

  std::string_view bytes_;
  const std::string& where_;
  std::size_t position_ = 0;
  std::size_t opcode_position_ = 0;
  std::vector<Node> nodes_;
  std::vector<Id> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, Id> memo_;
};

}  // namespace neuroshard::pickle
