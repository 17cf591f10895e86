#include "weights/pickle_machine.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <utility>

#include "neuroshard/error.h"

namespace neuroshard::pickle {
namespace {

enum Opcode : unsigned char {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinPersistentId = 'Q',
  kReduce = 'R',
  kBinUnicode = 'X',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kBinFloat = 'G',
  kEmptyTuple = ')',
  kEmptyList = ']',
  kEmptyDict = '}',
  kProtocol = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kTrue = 0x88,
  kFalse = 0x89,
  kLong1 = 0x8a,
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
};

constexpr unsigned kNewestProtocol = 5;

struct KnownGlobal {
  std::string_view module;
  std::string_view name;
  Global global;
};
constexpr std::array<KnownGlobal, 5> kKnownGlobals = {{
    {"collections", "OrderedDict", Global::kOrderedDict},
    {"torch._utils", "_rebuild_tensor_v2", Global::kRebuildTensor},
    {"torch", "FloatStorage", Global::kFloatStorage},
    {"torch", "DoubleStorage", Global::kDoubleStorage},
    {"torch", "LongStorage", Global::kLongStorage},
}};

std::string printable(std::string_view text) {
  std::string result;
  for (const char c : text.substr(0, 60)) result += c >= ' ' && c <= '~' ? c : '?';
  return result;
}

}  // namespace

Pickle Machine::run() {
  if (bytes_.size() > kMaxPickleBytes) fail("the pickle has more than 1 MiB");
  while (true) {
    opcode_position_ = position_;
    const auto opcode = static_cast<unsigned char>(take(1)[0]);
    if (opcode == kStop) break;
    if (opcode == kMark) {
      marks_.push_back(stack_.size());
    } else if (opcode == kProtocol) {
      if (take_unsigned(1) > kNewestProtocol) fail("is of a pickle protocol newer than 5");
    } else if (opcode == kFrame) {
      take_unsigned(8);  // Only a hint for buffered readers.
    } else if (opcode == kPop) {
      pop();
    } else if (!push_number(opcode) && !push_text(opcode) && !build_tuple(opcode) &&
               !build_container(opcode) && !use_memo(opcode) && !use_global(opcode)) {
      std::array<char, 8> hex{};
      std::snprintf(hex.data(), hex.size(), "0x%02x", static_cast<unsigned>(opcode));
      fail(std::string("opcode ") + hex.data() + " has no place in a file of tensors");
    }
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
  std::uint64_t value = 0;
  const std::string_view taken = take(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(taken[i])} << (8 * i);
  }
  return value;
}

std::int64_t Machine::take_long(std::uint64_t bytes) {
  if (bytes > 8) fail("an integer needs more than 64 bits");
  if (bytes == 0) return 0;
  const auto unused_bits = static_cast<unsigned>(64 - 8 * bytes);
  // Two's complement of `bytes` bytes: move the sign bit up, then shift it back down.
  return static_cast<std::int64_t>(take_unsigned(bytes) << unused_bits) >> unused_bits;
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
  if (stack_.size() <= floor()) fail("a value is missing from the stack");
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

bool Machine::push_number(unsigned char opcode) {
  switch (opcode) {
    case kNone:
      push(None{});
      return true;
    case kTrue:
      push(true);
      return true;
    case kFalse:
      push(false);
      return true;
    case kBinInt:
      push(take_long(4));
      return true;
    case kBinInt1:
      push(static_cast<std::int64_t>(take_unsigned(1)));
      return true;
    case kBinInt2:
      push(static_cast<std::int64_t>(take_unsigned(2)));
      return true;
    case kLong1:
      push(take_long(take_unsigned(1)));
      return true;
    case kBinFloat: {
      std::uint64_t bits = 0;  // Big-endian, unlike all else.
      for (const char byte : take(8)) bits = bits << 8U | static_cast<unsigned char>(byte);
      push(std::bit_cast<double>(bits));
      return true;
    }
    default:
      return false;
  }
}

bool Machine::push_text(unsigned char opcode) {
  std::size_t length_bytes = 0;
  switch (opcode) {
    case kShortBinUnicode:
      length_bytes = 1;
      break;
    case kBinUnicode:
      length_bytes = 4;
      break;
    case kBinUnicode8:
      length_bytes = 8;
      break;
    default:
      return false;
  }
  push(std::string(take(take_unsigned(length_bytes))));
  return true;
}

bool Machine::build_tuple(unsigned char opcode) {
  switch (opcode) {
    case kEmptyTuple:
      push_tuple(0);
      return true;
    case kTuple1:
      push_tuple(1);
      return true;
    case kTuple2:
      push_tuple(2);
      return true;
    case kTuple3:
      push_tuple(3);
      return true;
    case kTuple:
      push(Tuple{pop_to_mark()});
      return true;
    default:
      return false;
  }
}

void Machine::push_tuple(std::size_t count) {
  Tuple tuple;
  for (std::size_t i = 0; i < count; ++i) tuple.items.push_back(pop());
  std::reverse(tuple.items.begin(), tuple.items.end());
  push(std::move(tuple));
}

bool Machine::build_container(unsigned char opcode) {
  switch (opcode) {
    case kEmptyList:
      push(List{});
      return true;
    case kEmptyDict:
      push(Dict{});
      return true;
    case kAppend:
      append_to_list({pop()});
      return true;
    case kAppends:
      append_to_list(pop_to_mark());
      return true;
    case kSetItem: {
      const Id value = pop();
      const Id key = pop();
      set_items({key, value});
      return true;
    }
    case kSetItems:
      set_items(pop_to_mark());
      return true;
    default:
      return false;
  }
}

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

bool Machine::use_memo(unsigned char opcode) {
  switch (opcode) {
    case kBinPut:
      remember(take_unsigned(1));
      return true;
    case kLongBinPut:
      remember(take_unsigned(4));
      return true;
    case kMemoize:
      remember(memo_.size());
      return true;
    case kBinGet:
      recall(take_unsigned(1));
      return true;
    case kLongBinGet:
      recall(take_unsigned(4));
      return true;
    default:
      return false;
  }
}

void Machine::remember(std::uint64_t slot) { memo_[slot] = top(); }

void Machine::recall(std::uint64_t slot) {
  const auto found = memo_.find(slot);
  if (found == memo_.end()) fail("refers to memo " + std::to_string(slot) + ", which is not set");
  stack_.push_back(found->second);
}

bool Machine::use_global(unsigned char opcode) {
  switch (opcode) {
    case kGlobal: {
      const std::string_view module = take_line();
      push_global(module, take_line());
      return true;
    }
    case kStackGlobal: {
      const auto* name = std::get_if<std::string>(&nodes_[pop()]);
      const auto* module = std::get_if<std::string>(&nodes_[pop()]);
      if (name == nullptr || module == nullptr) fail("a global's name is not a text");
      // Copies: pushing may move the nodes.
      push_global(std::string(*module), std::string(*name));
      return true;
    }
    case kBinPersistentId:
      push_storage();
      return true;
    case kReduce:
      reduce();
      return true;
    case kBuild:
      build();
      return true;
    default:
      return false;
  }
}

void Machine::push_global(std::string_view module, std::string_view name) {
  for (const KnownGlobal& known : kKnownGlobals) {
    if (known.module == module && known.name == name) {
      push(known.global);
      return;
    }
  }
  fail("asks for '" + printable(module) + "." + printable(name) +
       "'; only tensors of float32, float64 or int64 in dicts are read, and nothing is executed");
}

void Machine::push_storage() {
  const auto* id = std::get_if<Tuple>(&nodes_[pop()]);
  if (id == nullptr || id->items.size() != 5) fail("a storage is not described by five values");
  const auto* kind = std::get_if<std::string>(&nodes_[id->items[0]]);
  const auto* type = std::get_if<Global>(&nodes_[id->items[1]]);
  const auto* key = std::get_if<std::string>(&nodes_[id->items[2]]);
  if (kind == nullptr || *kind != "storage" || type == nullptr || key == nullptr) {
    fail("a storage's description is of the wrong types");
  }
  constexpr std::size_t kMaxKey = 64;  // Else many storages with one long key would take memory.
  if (key->size() > kMaxKey) fail("a storage's key is longer than 64 characters");
  Storage storage;
  switch (*type) {
    case Global::kFloatStorage:
      storage.type = ElementType::kFloat32;
      break;
    case Global::kDoubleStorage:
      storage.type = ElementType::kFloat64;
      break;
    case Global::kLongStorage:
      storage.type = ElementType::kInt64;
      break;
    default:
      fail("a storage's type is not one");
  }
  storage.key = *key;
  storage.elements = integer(id->items[4], "the size of a storage");
  push(std::move(storage));
}

void Machine::reduce() {
  const Id arguments_id = pop();
  const Id callee_id = pop();
  const auto* arguments = std::get_if<Tuple>(&nodes_[arguments_id]);
  const auto* callee = std::get_if<Global>(&nodes_[callee_id]);
  if (arguments == nullptr || callee == nullptr) fail("calls something that is not known");
  if (*callee == Global::kOrderedDict && arguments->items.empty()) {
    push(Dict{});
  } else if (*callee == Global::kRebuildTensor) {
    push(rebuild_tensor(arguments->items));
  } else {
    fail("calls something that is not a constructor of tensors or dicts");
  }
}

void Machine::build() {
  // The attributes of an OrderedDict, e.g. a state_dict's version numbers. Not needed.
  const Id state = pop();
  if (!std::holds_alternative<Dict>(nodes_[state]) ||
      !std::holds_alternative<Dict>(nodes_[top()])) {
    fail("sets the state of something that is not a dict");
  }
}

TensorView Machine::rebuild_tensor(const std::vector<Id>& arguments) const {
  // storage, offset, shape, strides, requires_grad, backward_hooks[, metadata]
  if (arguments.size() < 6 || arguments.size() > 7) fail("a tensor is not described by six values");
  if (!std::holds_alternative<Storage>(nodes_[arguments[0]])) fail("a tensor has no storage");
  return {arguments[0], integer(arguments[1], "the offset of a tensor"),
          integers(arguments[2], "the shape of a tensor"),
          integers(arguments[3], "the strides of a tensor")};
}

std::int64_t Machine::integer(Id id, const char* what) const {
  const auto* value = std::get_if<std::int64_t>(&nodes_[id]);
  if (value == nullptr || *value < 0) fail(std::string(what) + " is not a count");
  return *value;
}

std::vector<std::int64_t> Machine::integers(Id id, const char* what) const {
  constexpr std::size_t kMaxRank = 8;
  const auto* tuple = std::get_if<Tuple>(&nodes_[id]);
  if (tuple == nullptr || tuple->items.size() > kMaxRank) {
    fail(std::string(what) + " is not a tuple of at most 8 counts");
  }
  std::vector<std::int64_t> values;
  for (const Id item : tuple->items) values.push_back(integer(item, what));
  return values;
}

}  // namespace neuroshard::pickle
