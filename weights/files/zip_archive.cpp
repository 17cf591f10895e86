#include "weights/files/zip_archive.h"

#include <minizip/unzip.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "neuroshard/error.h"

namespace neuroshard {
namespace {

constexpr std::uint64_t kMaxEntries = 65536;
constexpr uLong kEncrypted = 1;  // A bit of `flag`.
// The record at the end of a zip file, which a comment follows.
constexpr std::string_view kEndRecord = "PK\x05\x06";
constexpr std::size_t kEndRecordBytes = 22;

/// Bytes in memory, as minizip reads files.
struct MemoryFile {
  std::string_view bytes;
  std::uint64_t position = 0;
};

MemoryFile& file_of(voidpf opaque) { return *static_cast<MemoryFile*>(opaque); }

voidpf open_file(voidpf opaque, const void* /*name*/, int /*mode*/) { return opaque; }

uLong read_file(voidpf opaque, voidpf /*stream*/, void* buffer, uLong size) {
  MemoryFile& file = file_of(opaque);
  const std::uint64_t left = file.bytes.size() - file.position;
  const std::uint64_t count = std::min<std::uint64_t>(size, left);
  std::memcpy(buffer, file.bytes.data() + file.position, count);
  file.position += count;
  return static_cast<uLong>(count);
}

uLong write_nothing(voidpf /*opaque*/, voidpf /*stream*/, const void* /*buffer*/, uLong /*size*/) {
  return 0;
}

ZPOS64_T tell(voidpf opaque, voidpf /*stream*/) { return file_of(opaque).position; }

long seek(voidpf opaque, voidpf /*stream*/, ZPOS64_T offset, int origin) {
  MemoryFile& file = file_of(opaque);
  std::uint64_t base = 0;
  if (origin == ZLIB_FILEFUNC_SEEK_CUR) base = file.position;
  if (origin == ZLIB_FILEFUNC_SEEK_END) base = file.bytes.size();
  if (offset > file.bytes.size() - base) return -1;
  file.position = base + offset;
  return 0;
}

int close_file(voidpf /*opaque*/, voidpf /*stream*/) { return 0; }
int no_error(voidpf /*opaque*/, voidpf /*stream*/) { return 0; }

std::string reason(int code) {
  if (code == UNZ_BADZIPFILE) return "its headers contradict each other";
  if (code == UNZ_CRCERROR) return "its checksum is another one";
  if (code == Z_DATA_ERROR) return "its packed data make no sense";
  if (code == Z_MEM_ERROR) return "no memory to unpack it";
  return "minizip's code " + std::to_string(code);
}

}  // namespace

/// minizip's view of the file.
class ZipArchive::Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : file_{bytes} {
    zlib_filefunc64_def calls{open_file, read_file,  write_nothing, tell,
                              seek,      close_file, no_error,      &file_};
    handle_ = unzOpen2_64(nullptr, &calls);
  }
  ~Unpacker() {
    if (handle_ != nullptr) unzClose(handle_);
  }
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  [[nodiscard]] unzFile handle() const { return handle_; }

  /// Goes to the entry at `position` of the directory.
  [[nodiscard]] int go_to(std::uint64_t position) {
    const unz64_file_pos place{position, 0};
    return unzGoToFilePos64(handle_, &place);
  }

 private:
  MemoryFile file_;
  unzFile handle_ = nullptr;
};

namespace {

/// Ends the reading of an entry, unless it was ended to learn whether the checksum is right.
class OpenEntry {
 public:
  explicit OpenEntry(unzFile archive) : archive_(archive) {}
  ~OpenEntry() {
    if (archive_ != nullptr) unzCloseCurrentFile(archive_);
  }
  OpenEntry(const OpenEntry&) = delete;
  OpenEntry& operator=(const OpenEntry&) = delete;

  int close() { return unzCloseCurrentFile(std::exchange(archive_, nullptr)); }

 private:
  unzFile archive_;
};

}  // namespace

ZipArchive::ZipArchive(std::string_view bytes, std::string where)
    : where_(std::move(where)), unpacker_(std::make_unique<Unpacker>(bytes)) {
  const auto fail = [this](const std::string& why) {
    return Error(where_ + ": is not a sound zip file, as torch.save writes them since PyTorch 1.6" +
                 why);
  };
  const unzFile archive = unpacker_->handle();
  if (archive == nullptr) throw fail(": it has no zip directory");
  unz_global_info64 all;
  unzGetGlobalInfo64(archive, &all);
  // minizip takes what is missing of the last record for zeros.
  const std::size_t last_bytes = kEndRecordBytes + all.size_comment;
  if (bytes.size() < last_bytes ||
      !bytes.substr(bytes.size() - last_bytes).starts_with(kEndRecord)) {
    throw fail(": it does not end as its directory says");
  }
  if (all.number_entry > kMaxEntries) {
    throw Error(where_ + ": has " + std::to_string(all.number_entry) +
                " entries; more than any model");
  }
  int code = all.number_entry == 0 ? UNZ_END_OF_LIST_OF_FILE : unzGoToFirstFile(archive);
  for (; code == UNZ_OK; code = unzGoToNextFile(archive)) {
    unz_file_info64 entry;
    unz64_file_pos place;
    code = unzGetCurrentFileInfo64(archive, &entry, nullptr, 0, nullptr, 0, nullptr, 0);
    if (code != UNZ_OK) break;
    std::string name(entry.size_filename, '\0');
    code = unzGetCurrentFileInfo64(archive, &entry, name.data(), entry.size_filename, nullptr, 0,
                                   nullptr, 0);
    if (code != UNZ_OK) break;
    unzGetFilePos64(archive, &place);
    if (!indices_.emplace(name, place.pos_in_zip_directory).second) {
      throw Error(where_ + ": has two zip entries '" + name + "'");
    }
    if (indices_.size() > kMaxEntries) throw fail("");
  }
  if (code != UNZ_END_OF_LIST_OF_FILE) throw fail(": " + reason(code));
  if (indices_.size() != all.number_entry) throw fail(": it lists another number of entries");
}

ZipArchive::~ZipArchive() = default;

std::vector<std::string> ZipArchive::names() const {
  std::vector<std::string> names;
  for (const auto& [name, index] : indices_) names.push_back(name);
  return names;
}

std::string ZipArchive::read(const std::string& name, std::size_t max_bytes) const {
  const std::string place = where_ + ": zip entry '" + name + "'";
  const auto found = indices_.find(name);
  if (found == indices_.end()) throw Error(place + " is missing");
  const auto require = [&](int code) {
    if (code < UNZ_OK) throw Error(place + " is damaged: " + reason(code));
    return code;
  };
  const unzFile archive = unpacker_->handle();
  require(unpacker_->go_to(found->second));
  unz_file_info64 entry;
  require(unzGetCurrentFileInfo64(archive, &entry, nullptr, 0, nullptr, 0, nullptr, 0));
  if (entry.compression_method != 0 && entry.compression_method != Z_DEFLATED) {
    throw Error(place + " is packed by a method other than stored or deflated; save it again");
  }
  if ((entry.flag & kEncrypted) != 0) {
    throw Error(place + " is encrypted; save it without a password");
  }
  require(unzOpenCurrentFile(archive));
  OpenEntry open(archive);
  // In pieces: the size that the archive states is only a claim.
  constexpr unsigned kPiece = 1U << 16U;
  std::string bytes;
  while (true) {
    const std::size_t used = bytes.size();
    bytes.resize(used + kPiece);
    const int got = require(unzReadCurrentFile(archive, bytes.data() + used, kPiece));
    bytes.resize(used + static_cast<std::size_t>(got));
    if (bytes.size() > max_bytes) {
      throw Error(place + " has more than the " + std::to_string(max_bytes) + " bytes expected");
    }
    if (got == 0) break;
  }
  // minizip compares the checksum only where all bytes that the entry states are there.
  if (bytes.size() != entry.uncompressed_size) throw Error(place + " is damaged: it ends early");
  require(open.close());
  return bytes;
}

}  // namespace neuroshard
