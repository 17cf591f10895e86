#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weights/pickle.h"

namespace neuroshard::pickle {

/// The stack machine that a pickle is a program for, cut down to what builds data.
class Machine {
 public:
  Machine(std::string_view bytes, const std::string& where) : bytes_(bytes), where_(where) {}

  [[nodiscard]] Pickle run();

 private:
  [[noreturn]] void fail(const std::string& what) const;

  // The program.
  std::string_view take(std::uint64_t count);
  std::string_view take_line();
  std::uint64_t take_unsigned(std::size_t bytes);
  std::int64_t take_long(std::uint64_t bytes);

  // The stack. Nothing below the topmost mark can be popped.
  void push(Node node);
  Id pop();
  [[nodiscard]] Id top() const;
  std::vector<Id> pop_to_mark();
  [[nodiscard]] std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }

  /// True if `opcode` belonged to the group.
  bool push_number(unsigned char opcode);
  bool push_text(unsigned char opcode);
  bool build_tuple(unsigned char opcode);
  bool build_container(unsigned char opcode);
  bool use_memo(unsigned char opcode);
  bool use_global(unsigned char opcode);

  void push_tuple(std::size_t count);
  void append_to_list(const std::vector<Id>& items);
  void set_items(const std::vector<Id>& keys_and_values);
  void remember(std::uint64_t slot);
  void recall(std::uint64_t slot);
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
