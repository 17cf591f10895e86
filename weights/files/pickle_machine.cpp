#include "weights/files/pickle_machine.h"

#include <array>
#include <bit>
#include <cstdio>
#include <utility>

#include "neuroshard/error.h"
#include "weights/files/little_endian.h"

namespace neuroshard::pickle {

// One line per opcode: all that exist here. Names are those of Python's pickletools.
const std::array<Machine::Step, 256>& Machine::steps() {
  static const std::array<Step, 256> table = [] {
    std::array<Step, 256> step{};
    step['N'] = [](Machine& m) { m.push(None{}); };                              // NONE
    step[0x88] = [](Machine& m) { m.push(true); };                               // NEWTRUE
    step[0x89] = [](Machine& m) { m.push(false); };                              // NEWFALSE
    step['J'] = [](Machine& m) { m.push(m.take_signed(4)); };                    // BININT
    step['K'] = [](Machine& m) { m.push(m.take_count(1)); };                     // BININT1
    step['M'] = [](Machine& m) { m.push(m.take_count(2)); };                     // BININT2
    step[0x8a] = [](Machine& m) { m.push(m.take_signed(m.take_unsigned(1))); };  // LONG1
    step['G'] = [](Machine& m) { m.push(m.take_double()); };                     // BINFLOAT
    step[0x8c] = [](Machine& m) { m.push_text(1); };                             // SHORT_BINUNICODE
    step['X'] = [](Machine& m) { m.push_text(4); };                              // BINUNICODE
    step[0x8d] = [](Machine& m) { m.push_text(8); };                             // BINUNICODE8
    step['('] = [](Machine& m) { m.marks_.push_back(m.stack_.size()); };         // MARK
    step['0'] = [](Machine& m) { m.pop(); };                                     // POP
    step[')'] = [](Machine& m) { m.push_tuple(0); };                             // EMPTY_TUPLE
    step[0x85] = [](Machine& m) { m.push_tuple(1); };                            // TUPLE1
    step[0x86] = [](Machine& m) { m.push_tuple(2); };                            // TUPLE2
    step[0x87] = [](Machine& m) { m.push_tuple(3); };                            // TUPLE3
    step['t'] = [](Machine& m) { m.push(Tuple{m.pop_to_mark()}); };              // TUPLE
    step[']'] = [](Machine& m) { m.push(List{}); };                              // EMPTY_LIST
    step['a'] = [](Machine& m) { m.append_to_list(m.pop_many(1)); };             // APPEND
    step['e'] = [](Machine& m) { m.append_to_list(m.pop_to_mark()); };           // APPENDS
    step['}'] = [](Machine& m) { m.push(Dict{}); };                              // EMPTY_DICT
    step['s'] = [](Machine& m) { m.set_items(m.pop_many(2)); };                  // SETITEM
    step['u'] = [](Machine& m) { m.set_items(m.pop_to_mark()); };                // SETITEMS
    step['q'] = [](Machine& m) { m.remember(m.take_unsigned(1)); };              // BINPUT
    step['r'] = [](Machine& m) { m.remember(m.take_unsigned(4)); };              // LONG_BINPUT
    step[0x94] = [](Machine& m) { m.remember(m.memo_.size()); };                 // MEMOIZE
    step['h'] = [](Machine& m) { m.recall(m.take_unsigned(1)); };                // BINGET
    step['j'] = [](Machine& m) { m.recall(m.take_unsigned(4)); };                // LONG_BINGET
    step['c'] = [](Machine& m) { m.push_global_of_lines(); };                    // GLOBAL
    step[0x93] = [](Machine& m) { m.push_global_of_stack(); };                   // STACK_GLOBAL
    step['Q'] = [](Machine& m) { m.push_storage(); };                            // BINPERSID
    step['R'] = [](Machine& m) { m.reduce(); };                                  // REDUCE
    step['b'] = [](Machine& m) { m.build(); };                                   // BUILD
    step[0x80] = [](Machine& m) { m.check_protocol(); };                         // PROTO
    step[0x95] = [](Machine& m) { m.take_unsigned(8); };                         // FRAME, a hint
    return step;
  }();
  return table;
}

Pickle Machine::run() {
  constexpr unsigned char kStop = '.';
  if (bytes_.size() > kMaxPickleBytes) fail("the pickle has more than 1 MiB");
  while (true) {
    opcode_position_ = position_;
    const auto opcode = static_cast<unsigned char>(take(1)[0]);
    if (opcode == kStop) break;
    const Step step = steps()[opcode];
    if (step == nullptr) {
      std::array<char, 8> hex{};
      std::snprintf(hex.data(), hex.size(), "0x%02x", static_cast<unsigned>(opcode));
      fail(std::string("opcode ") + hex.data() + " has no place in a file of tensors");
    }
    step(*this);
  }
  const Id root = pop();
  if (!stack_.empty() || !marks_.empty()) fail("values are left over at the end");
  return {std::move(nodes_), root};
}

void Machine::fail(const std::string& what) const {
  throw Error(where_ + ": pickle, byte " + std::to_string(opcode_position_) + ": " + what);
}

std::string_view Machine::take(std::uint64_t count) {
  if (count > bytes_.size() - position_) fail("the pickle is cut short");
  const std::string_view taken = bytes_.substr(position_, count);
  position_ += count;
  return taken;
}

std::string_view Machine::take_line() {
  const std::size_t end = bytes_.find('\n', position_);
  if (end == std::string_view::npos) fail("the pickle is cut short");
  const std::string_view line = take(end - position_);
  take(1);
  return line;
}

std::uint64_t Machine::take_unsigned(std::size_t bytes) {
  return little_endian<std::uint64_t>(take(bytes));
}

std::int64_t Machine::take_count(std::size_t bytes) {
  return static_cast<std::int64_t>(take_unsigned(bytes));
}

std::int64_t Machine::take_signed(std::uint64_t bytes) {
  if (bytes > 8) fail("an integer needs more than 64 bits");
  if (bytes == 0) return 0;
  const auto unused_bits = static_cast<unsigned>(64 - 8 * bytes);
  // Two's complement of `bytes` bytes: move the sign bit up, then shift it back down.
  return static_cast<std::int64_t>(take_unsigned(bytes) << unused_bits) >> unused_bits;
}

double Machine::take_double() {
  std::uint64_t bits = 0;  // Big-endian, unlike all else.
  for (const char byte : take(8)) bits = bits << 8U | static_cast<unsigned char>(byte);
  return std::bit_cast<double>(bits);
}

void Machine::check_protocol() {
  constexpr unsigned kNewest = 5;
  if (take_unsigned(1) > kNewest) fail("is of a pickle protocol newer than 5");
}

void Machine::push(Node node) {
  nodes_.push_back(std::move(node));
  stack_.push_back(static_cast<Id>(nodes_.size() - 1));
}

Id Machine::pop() {
  const Id id = top();
  stack_.pop_back();
  return id;
}

Id Machine::top() const {
  if (stack_.size() <= (marks_.empty() ? 0 : marks_.back()))
    fail("a value is missing from the stack");
  return stack_.back();
}

std::vector<Id> Machine::pop_to_mark() {
  if (marks_.empty()) fail("a mark is missing from the stack");
  const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  std::vector<Id> items(first, stack_.end());
  stack_.erase(first, stack_.end());
  marks_.pop_back();
  return items;
}

std::vector<Id> Machine::pop_many(std::size_t count) {
  std::vector<Id> items(count);
  for (std::size_t i = count; i-- > 0;) items[i] = pop();
  return items;
}

void Machine::push_text(std::size_t length_bytes) {
  push(std::string(take(take_unsigned(length_bytes))));
}

void Machine::push_tuple(std::size_t count) { push(Tuple{pop_many(count)}); }

void Machine::append_to_list(const std::vector<Id>& items) {
  auto* list = std::get_if<List>(&nodes_[top()]);
  if (list == nullptr) fail("appends to something that is not a list");
  list->items.insert(list->items.end(), items.begin(), items.end());
}

void Machine::set_items(const std::vector<Id>& keys_and_values) {
  auto* dict = std::get_if<Dict>(&nodes_[top()]);
  if (dict == nullptr) fail("sets items of something that is not a dict");
  if (keys_and_values.size() % 2 != 0) fail("a key has no value");
  for (std::size_t i = 0; i < keys_and_values.size(); i += 2) {
    dict->items.emplace_back(keys_and_values[i], keys_and_values[i + 1]);
  }
}

void Machine::remember(std::uint64_t slot) { memo_[slot] = top(); }

void Machine::recall(std::uint64_t slot) {
  const auto found = memo_.find(slot);
  if (found == memo_.end()) fail("refers to memo " + std::to_string(slot) + ", which is not set");
  stack_.push_back(found->second);
}

}  // namespace neuroshard::pickle
